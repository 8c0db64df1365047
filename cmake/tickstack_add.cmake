# tickstack_add(library|test|benchmark|fuzzer|program NAME [OPTIMISED] [SRCS ...] [DEPS ...])
#
# The one function that declares what is built, so that a folder's CMakeLists.txt is a list.
#   library    tickstack_NAME, used as tickstack::NAME
#   test       a GoogleTest program; joins ctest and the target `unit_tests`. SRCS defaults to NAME.cc.
#              NAME may begin with the folder of its source, as in kernels/sort_test
#              CONCURRENT: threads share state in it; `make test-tsan` runs it under ThreadSanitizer
#              OPTIMISED: optimises the test's own code in debug builds, too, because it runs for long
#   benchmark  a google-benchmark program, built by the target `benchmarks` and not by default
#   fuzzer     libFuzzer's entry point. NAME is a program that replays fuzz/corpus/NAME; it joins ctest
#              and `unit_tests`. With the preset `asan`, NAMEer is a fuzzer, built by the target
#              `fuzzers`. SRCS defaults to NAME.cc
#   program    an executable

set(TICKSTACK_WARNINGS -Wall -Wextra -Wconversion -Wshadow -Wnon-virtual-dtor -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12's false alarms about std::string and std::vector at -O2.
  list(APPEND TICKSTACK_WARNINGS -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()

if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # libstdc++ 12's std::stable_sort calls functions that C++17 deprecates.
  # Kernels combine conditions by | and & on purpose: code without branches is vectorised.
  list(APPEND TICKSTACK_WARNINGS -Wno-deprecated-declarations -Wno-bitwise-instead-of-logical)
endif()

# Compiles several sources of a library together: a third faster from nothing, slightly slower after a change.
# Names in unnamed namespaces must then be unique in a library, not only in their file.
option(TICKSTACK_UNITY "Compile the libraries in units of several files" OFF)
if(TICKSTACK_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # The compiler takes a source that a unit includes for a header, whose unnamed names several units would share.
  list(APPEND TICKSTACK_WARNINGS -Wno-subobject-linkage)
endif()
# GNU ld takes three times as long.
find_program(TICKSTACK_LLD ld.lld-19)
if(TICKSTACK_LLD AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_link_options(--ld-path=${TICKSTACK_LLD})
endif()
option(TICKSTACK_FUZZ "Build the fuzzers with libFuzzer" OFF)
set(TICKSTACK_SANITIZE "" CACHE STRING "Sanitizers for everything that is built, such as address,undefined")

if(TICKSTACK_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False alarms about variants: a sanitizer's checks hide from GCC what was initialised.
  list(APPEND TICKSTACK_WARNINGS -Wno-maybe-uninitialized)
  if(TICKSTACK_SANITIZE MATCHES "thread")
    # Asio fences around handlers, which ThreadSanitizer does not model; mutexes protect Asio's shared data as
    # well.
    list(APPEND TICKSTACK_WARNINGS -Wno-tsan)
  endif()
endif()

add_library(tickstack_options INTERFACE)
target_compile_options(tickstack_options INTERFACE ${TICKSTACK_WARNINGS})
target_include_directories(tickstack_options INTERFACE ${CMAKE_SOURCE_DIR})
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  target_compile_options(tickstack_options INTERFACE -march=x86-64-v2)
endif()
# Makes exploits of memory errors harder: checked buffers of known size, stack canaries, probed stacks, random
# addresses, relocations that are read-only, and marked targets of indirect jumps.
option(TICKSTACK_HARDEN "Build releases with the compiler's protections" ON)
if(TICKSTACK_HARDEN AND CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT TICKSTACK_SANITIZE)
  target_compile_options(tickstack_options INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -fstack-protector-strong
                         -fstack-clash-protection -fPIE)
  target_link_options(tickstack_options INTERFACE -pie -Wl,-z,relro,-z,now)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    target_compile_options(tickstack_options INTERFACE -fcf-protection)
  endif()
endif()
if(TICKSTACK_SANITIZE)
  target_compile_options(tickstack_options INTERFACE -fsanitize=${TICKSTACK_SANITIZE}
                         -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(tickstack_options INTERFACE -fsanitize=${TICKSTACK_SANITIZE})
endif()
if(TICKSTACK_FUZZ)
  target_compile_options(tickstack_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

add_custom_target(libraries)
add_custom_target(concurrent_tests)
add_custom_target(benchmarks)
add_custom_target(unit_tests)
add_custom_target(fuzzers)

# Precompiles headers, once for all libraries and programs, and once for all tests that are compiled
# without optimisation: a source of a library then takes half the time to compile without
# optimisation, a test two thirds. Used with clang; ccache would not cache such sources.
function(tickstack_precompile_headers name prelude)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang" OR TICKSTACK_CCACHE)
    return()
  endif()
  if(NOT TARGET tickstack_${prelude})
    if(prelude STREQUAL "test_prelude")
      add_library(tickstack_test_prelude OBJECT ${CMAKE_SOURCE_DIR}/tests/support/prelude.cc)
      target_link_libraries(tickstack_test_prelude PRIVATE tickstack_options tickstack::base GTest::gmock)
      target_compile_options(tickstack_test_prelude PRIVATE -O0)
      target_precompile_headers(tickstack_test_prelude PRIVATE ${CMAKE_SOURCE_DIR}/tests/support/prelude.h)
    else()
      # Without tickstack::base, which uses it.
      add_library(tickstack_prelude OBJECT ${CMAKE_SOURCE_DIR}/base/prelude.cc)
      target_link_libraries(tickstack_prelude PRIVATE tickstack_options absl::statusor absl::flat_hash_set
                            absl::function_ref fmt::fmt)
      target_precompile_headers(tickstack_prelude PRIVATE ${CMAKE_SOURCE_DIR}/base/prelude.h)
    endif()
  endif()
  target_precompile_headers(${name} REUSE_FROM tickstack_${prelude})
endfunction()

function(tickstack_add kind name)
  cmake_parse_arguments(ARG "CONCURRENT;OPTIMISED" "" "SRCS;DEPS" ${ARGN})
  if(NOT ARG_SRCS)
    set(ARG_SRCS ${name}.cc)
  endif()
  get_filename_component(name ${name} NAME)

  if(kind STREQUAL "library")
    add_library(tickstack_${name} STATIC ${ARG_SRCS})
    add_library(tickstack::${name} ALIAS tickstack_${name})
    target_link_libraries(tickstack_${name} PUBLIC tickstack_options ${ARG_DEPS})
    set_target_properties(tickstack_${name} PROPERTIES UNITY_BUILD ${TICKSTACK_UNITY} UNITY_BUILD_BATCH_SIZE 8)
    add_dependencies(libraries tickstack_${name})
    tickstack_precompile_headers(tickstack_${name} prelude)
    return()
  endif()

  add_executable(${name} ${ARG_SRCS})
  target_link_libraries(${name} PRIVATE tickstack_options ${ARG_DEPS})
  if(kind STREQUAL "test")
    target_link_libraries(${name} PRIVATE GTest::gmock GTest::gtest_main)
    if(CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT ARG_OPTIMISED)
      # Compiling a test takes longer than running it. The libraries that it tests keep their flags.
      target_compile_options(${name} PRIVATE -O0)
      tickstack_precompile_headers(${name} test_prelude)
    endif()
    add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 300)
    add_dependencies(unit_tests ${name})
    if(ARG_CONCURRENT)
      set_tests_properties(${name} PROPERTIES LABELS "unit;concurrent")
      add_dependencies(concurrent_tests ${name})
    endif()
  elseif(kind STREQUAL "benchmark")
    target_link_libraries(${name} PRIVATE benchmark::benchmark)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    add_dependencies(benchmarks ${name})
  elseif(kind STREQUAL "fuzzer")
    target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/fuzz/replay_main.cc)
    add_dependencies(unit_tests ${name})
    add_test(NAME ${name} COMMAND ${name} ${CMAKE_SOURCE_DIR}/fuzz/corpus/${name})
    set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 300)
    if(TICKSTACK_FUZZ)
      add_executable(${name}er EXCLUDE_FROM_ALL ${ARG_SRCS})
      target_link_libraries(${name}er PRIVATE tickstack_options ${ARG_DEPS})
      target_link_options(${name}er PRIVATE -fsanitize=fuzzer)
      add_dependencies(fuzzers ${name}er)
    endif()
  elseif(kind STREQUAL "program")
    tickstack_precompile_headers(${name} prelude)
  else()
    message(FATAL_ERROR "tickstack_add: unknown kind '${kind}' for ${name}")
  endif()
endfunction()
