#pragma once

// `tickstack hdb bench DIR`: measures a directory's storage with the tests of nano, KX's benchmark
// (measure/storage_bench/storage_bench.h), and prints the results in nano's columns.

#include <cstddef>
#include <string>
#include <vector>

namespace tickstack::cli {

struct HdbBenchOptions {
  std::string directory;
  std::vector<size_t> processes = {1};  // Numbers of processes; a run for each.
  size_t threads = 1;                   // Threads of each process.
  std::string size = "tiny";
  double seconds = 1;
  std::string scope = "full";
  std::vector<std::string> excluded;
  std::string drop = "auto";
  std::string results;  // Directory for nano's files; "": none.
};

// Prints throughputs and, after an empty line, latencies to stdout, and progress, warnings and
// errors to stderr. Returns the exit code: 0 done; 1 failed, or ended by a signal; 2 wrong usage.
// Threads: the main one of a process that has no others.
int RunHdbBench(const HdbBenchOptions& options);

}  // namespace tickstack::cli
