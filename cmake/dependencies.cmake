# The only list of tickstack's dependencies: package, oldest version, purpose. All of them are required, since an
# optional one would be a second build that nobody tests. `make deps` installs the Debian packages.

find_package(Threads REQUIRED)
find_package(Boost 1.81 CONFIG REQUIRED COMPONENTS headers)  # Asio: sockets and timers; Math: Student's t
find_package(absl REQUIRED CONFIG)                           # Status, StatusOr, flat_hash_map
find_package(fmt 9 REQUIRED CONFIG)                          # text formatting
find_package(spdlog 1.10 REQUIRED CONFIG)                    # logs
find_package(CLI11 2.1 REQUIRED CONFIG)                      # the command line
find_package(tomlplusplus 3.3 REQUIRED CONFIG)               # stack.toml
find_package(nlohmann_json 3.11 REQUIRED CONFIG)             # --json output and the ready file
find_package(OpenSSL 3.0 REQUIRED)                           # TLS
find_package(GTest 1.12 REQUIRED CONFIG)                     # tests
find_package(benchmark 1.7 REQUIRED CONFIG)                  # benchmarks

# libzip's own CMake files on Debian 12 require programs of packages that are not needed here; this defines the
# same target, libzip::zip.
find_package(PkgConfig REQUIRED)
pkg_check_modules(libzip REQUIRED IMPORTED_TARGET GLOBAL libzip>=1.7)  # the LEAN tick archives
add_library(libzip::zip ALIAS PkgConfig::libzip)

pkg_check_modules(libpcap REQUIRED IMPORTED_TARGET GLOBAL libpcap>=1.10)  # captures of exchanges' feeds
add_library(pcap::pcap ALIAS PkgConfig::libpcap)

pkg_check_modules(libsimdjson REQUIRED IMPORTED_TARGET GLOBAL simdjson>=3.0)  # messages of feeds in JSON
add_library(simdjson::simdjson ALIAS PkgConfig::libsimdjson)

pkg_check_modules(libedit REQUIRED IMPORTED_TARGET GLOBAL libedit>=3.1)  # the line that a shell reads
add_library(libedit::libedit ALIAS PkgConfig::libedit)

pkg_check_modules(libisal REQUIRED IMPORTED_TARGET GLOBAL libisal>=2.30)  # CRC32C
add_library(libisal::libisal ALIAS PkgConfig::libisal)

pkg_check_modules(libhwy REQUIRED IMPORTED_TARGET GLOBAL libhwy>=1.0.3)  # vector instructions
add_library(hwy::hwy ALIAS PkgConfig::libhwy)

# The memory libraries have only pkg-config files.
pkg_check_modules(libmemkind REQUIRED IMPORTED_TARGET GLOBAL memkind>=1.14)  # memory of a file system
add_library(memkind::memkind ALIAS PkgConfig::libmemkind)
pkg_check_modules(libpmem REQUIRED IMPORTED_TARGET GLOBAL libpmem>=1.12)  # persistent memory
add_library(libpmem::libpmem ALIAS PkgConfig::libpmem)
pkg_check_modules(numa REQUIRED IMPORTED_TARGET GLOBAL numa>=2.0)  # memory of a NUMA node
add_library(numa::numa ALIAS PkgConfig::numa)

pkg_check_modules(libsodium REQUIRED IMPORTED_TARGET GLOBAL libsodium>=1.0.18)  # passwords
add_library(sodium::sodium ALIAS PkgConfig::libsodium)

# Only its headers are used. Its CMake package would add the compiler of schemas.
find_path(FLATBUFFERS_INCLUDE_DIR flatbuffers/flatbuffers.h REQUIRED)  # messages of Arrow's format
add_library(flatbuffers_headers INTERFACE IMPORTED GLOBAL)
target_include_directories(flatbuffers_headers INTERFACE ${FLATBUFFERS_INCLUDE_DIR})
add_library(flatbuffers::headers ALIAS flatbuffers_headers)

pkg_check_modules(libcurl REQUIRED IMPORTED_TARGET GLOBAL libcurl>=7.88)  # requests to object stores
add_library(curl::curl ALIAS PkgConfig::libcurl)

pkg_check_modules(rdkafka REQUIRED IMPORTED_TARGET GLOBAL rdkafka>=2.0)  # bridges to and from Kafka
add_library(rdkafka::rdkafka ALIAS PkgConfig::rdkafka)

# Compression of a database's files.
pkg_check_modules(zlib REQUIRED IMPORTED_TARGET GLOBAL zlib>=1.2.11)
add_library(zlib::zlib ALIAS PkgConfig::zlib)
pkg_check_modules(libzstd REQUIRED IMPORTED_TARGET GLOBAL libzstd>=1.4)
add_library(zstd::zstd ALIAS PkgConfig::libzstd)
pkg_check_modules(liblz4 REQUIRED IMPORTED_TARGET GLOBAL liblz4>=1.9)
add_library(lz4::lz4 ALIAS PkgConfig::liblz4)
find_package(Snappy 1.1 REQUIRED CONFIG)
