# tickstack_add(library|test|benchmark|fuzzer|program NAME [OPTIMISED|CONCURRENT|ALONE] [SRCS ...] [DEPS ...])
#
# The one function that declares what is built, so that a folder's CMakeLists.txt is a list.
#   library    tickstack_NAME, used as tickstack::NAME
#              OPTIMISED: optimised with sanitizers, too, because tests or fuzzers run it for long. Libraries and programs
#              that are optimised take twice as long to compile with sanitizers
#   test       GoogleTest sources, which are a test of ctest; SRCS defaults to NAME.cc. The tests of a folder are
#              one program, FOLDER_tests, since linking takes longer than compiling most of them. It joins the
#              target `unit_tests`
#              CONCURRENT: threads share state in it; `make test-tsan` runs it under ThreadSanitizer. These tests
#              of a folder are the program FOLDER_concurrent_tests
#              OPTIMISED: optimises the test's own code, because it runs for long
#              ALONE: not compiled in a unit with others, because a test of its folder has an unnamed name of it, too
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

# Compiles several sources of a library together: faster from nothing, slower after a change.
# Names in unnamed namespaces must then be unique in a library, not only in their file.
option(TICKSTACK_UNITY "Compile the libraries in units of several files" OFF)
if(TICKSTACK_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # The compiler takes a source that a unit includes for a header, whose unnamed names several units would share.
  list(APPEND TICKSTACK_WARNINGS -Wno-subobject-linkage)
endif()
option(TICKSTACK_DEBUG_INFO "Releases with the lines of functions for a debugger" OFF)
if(TICKSTACK_DEBUG_INFO)
  add_compile_options(-g1)
endif()
# GNU ld takes three times as long.
find_program(TICKSTACK_LLD ld.lld-19)
if(TICKSTACK_LLD AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_link_options(--ld-path=${TICKSTACK_LLD})
endif()
# For a build of few tests: the others of their folders are not compiled.
option(TICKSTACK_TESTS_APART "Build a program for each test instead of one for each folder" OFF)
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
  # Tests are compiled without optimisation, which checked buffers need.
  target_compile_options(tickstack_options INTERFACE -U_FORTIFY_SOURCE
                         $<$<NOT:$<BOOL:$<TARGET_PROPERTY:TICKSTACK_IS_TEST>>>:-D_FORTIFY_SOURCE=3>
                         -fstack-protector-strong -fstack-clash-protection -fPIE)
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

# Precompiles headers, once for all libraries and programs (with sanitizers: once for those that are optimised, once
# for the others), and once for all tests that are compiled without optimisation: a source of a library then takes half
# the time to compile without optimisation, a test two thirds. Not used with ccache, which would not cache such sources.
function(tickstack_precompile_headers name prelude)
  if(TICKSTACK_CCACHE)
    return()
  endif()
  if(NOT TARGET tickstack_${prelude})
    if(prelude STREQUAL "test_prelude")
      add_library(tickstack_test_prelude OBJECT ${CMAKE_SOURCE_DIR}/tests/support/prelude.cc)
      set_target_properties(tickstack_test_prelude PROPERTIES TICKSTACK_IS_TEST ON)
      target_link_libraries(tickstack_test_prelude PRIVATE tickstack_options tickstack::base GTest::gmock)
      target_compile_options(tickstack_test_prelude PRIVATE -O0)
      target_precompile_headers(tickstack_test_prelude PRIVATE ${CMAKE_SOURCE_DIR}/tests/support/prelude.h)
    else()
      # Without tickstack::base, which uses it.
      add_library(tickstack_${prelude} OBJECT ${CMAKE_SOURCE_DIR}/base/prelude.cc)
      target_link_libraries(tickstack_${prelude} PRIVATE tickstack_options absl::statusor absl::flat_hash_set
                            absl::function_ref fmt::fmt)
      target_precompile_headers(tickstack_${prelude} PRIVATE ${CMAKE_SOURCE_DIR}/base/prelude.h)
      if(prelude STREQUAL "plain_prelude")
        target_compile_options(tickstack_${prelude} PRIVATE -O0)
      endif()
    endif()
  endif()
  target_precompile_headers(${name} REUSE_FROM tickstack_${prelude})
endfunction()

# Optimises a library or program as the preset says; with sanitizers, only if `optimised`.
function(tickstack_optimise name optimised)
  if(TICKSTACK_SANITIZE AND NOT optimised)
    target_compile_options(${name} PRIVATE -O0)
    tickstack_precompile_headers(${name} plain_prelude)
  else()
    tickstack_precompile_headers(${name} prelude)
  endif()
endfunction()

# Adds a test to its program, which the first test of a folder makes. Reads the arguments of tickstack_add.
function(tickstack_add_test name)
  if(TICKSTACK_TESTS_APART)
    set(program ${name})
  else()
    file(RELATIVE_PATH program ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
    string(REPLACE "/" "_" program ${program})
    if(ARG_CONCURRENT)
      string(APPEND program _concurrent)
    endif()
    string(APPEND program _tests)
  endif()
  if(NOT TARGET ${program})
    add_executable(${program})
    target_link_libraries(${program} PRIVATE tickstack_options tickstack::test_main)
    # Compiling a test takes longer than running it. The libraries that it tests keep their flags.
    target_compile_options(${program} PRIVATE -O0)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # False alarms about `if (...) EXPECT_EQ(...)`: GoogleTest's macros have an else of their own.
      target_compile_options(${program} PRIVATE -Wno-dangling-else)
    endif()
    set_target_properties(${program} PROPERTIES TICKSTACK_IS_TEST ON UNITY_BUILD ${TICKSTACK_UNITY} UNITY_BUILD_BATCH_SIZE 8)
    tickstack_precompile_headers(${program} test_prelude)
    add_dependencies(unit_tests ${program})
    if(ARG_CONCURRENT)
      add_dependencies(concurrent_tests ${program})
    endif()
  endif()

  target_sources(${program} PRIVATE ${ARG_SRCS})
  target_link_libraries(${program} PRIVATE ${ARG_DEPS})
  if(ARG_OPTIMISED)
    set_source_files_properties(${ARG_SRCS} PROPERTIES COMPILE_OPTIONS -O1 SKIP_PRECOMPILE_HEADERS ON)
  endif()
  if(ARG_ALONE)
    set_source_files_properties(${ARG_SRCS} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  list(TRANSFORM ARG_SRCS PREPEND "--source=" OUTPUT_VARIABLE sources)
  add_test(NAME ${name} COMMAND ${program} ${sources} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set(labels unit)
  if(ARG_CONCURRENT)
    list(APPEND labels concurrent)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT 300)
endfunction()

function(tickstack_add kind name)
  cmake_parse_arguments(ARG "ALONE;CONCURRENT;OPTIMISED" "" "SRCS;DEPS" ${ARGN})
  if(NOT ARG_SRCS)
    set(ARG_SRCS ${name}.cc)
  endif()

  if(kind STREQUAL "test")
    tickstack_add_test(${name})
    return()
  endif()
  if(kind STREQUAL "library")
    add_library(tickstack_${name} STATIC ${ARG_SRCS})
    add_library(tickstack::${name} ALIAS tickstack_${name})
    target_link_libraries(tickstack_${name} PUBLIC tickstack_options ${ARG_DEPS})
    set_target_properties(tickstack_${name} PROPERTIES UNITY_BUILD ${TICKSTACK_UNITY} UNITY_BUILD_BATCH_SIZE 24)
    add_dependencies(libraries tickstack_${name})
    tickstack_optimise(tickstack_${name} "${ARG_OPTIMISED}")
    return()
  endif()

  add_executable(${name} ${ARG_SRCS})
  target_link_libraries(${name} PRIVATE tickstack_options ${ARG_DEPS})
  if(kind STREQUAL "benchmark")
    target_link_libraries(${name} PRIVATE benchmark::benchmark)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    add_dependencies(benchmarks ${name})
  elseif(kind STREQUAL "fuzzer")
    target_link_libraries(${name} PRIVATE tickstack::fuzz_replay)
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
    tickstack_optimise(${name} "${ARG_OPTIMISED}")
  else()
    message(FATAL_ERROR "tickstack_add: unknown kind '${kind}' for ${name}")
  endif()
endfunction()
