#pragma once

// The storage benchmark: runs the tests of nano, KX's benchmark for kdb+ storage, on a directory,
// and reports them in nano's columns. docs/operating/storage.md explains each figure.
//
// In this order to read: test.h, suites.h, workers.h, results.h.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "measure/storage_bench/page_cache.h"
#include "measure/storage_bench/results.h"

namespace tickstack::measure::storage_bench {

enum class Scope : uint8_t { kFull, kCpuOnly, kDiskOnly };

// Parses nano's names `full`, `cpuonly` or `diskonly`; kInvalidArgument for any other text.
absl::StatusOr<Scope> ParseScope(std::string_view text);

struct StorageBenchOptions {
  std::string
      directory;  // Files are written to a new directory in it, which is removed at the end.
  size_t processes = 1;
  size_t threads = 1;  // Threads of each process.
  double factor = 1;   // Multiplies the sizes (sizes.h).
  double seconds = 1;  // Limit of a repeated test.
  Scope scope = Scope::kFull;
  // Patterns, as a shell has them for file names, of test ids that are left out.
  std::vector<std::string> excluded;
  CacheDrop drop = CacheDrop::kAuto;
};

// What a run tells while it runs: events in their order, for people.
class Progress {
 public:
  virtual ~Progress() = default;
  virtual void Begins(std::string_view suite) = 0;
  virtual void Measured(const TestResult& result) = 0;
  virtual void LeftOut(const TestName& test, std::string_view reason) = 0;
  virtual void Notice(std::string_view text) = 0;
};

struct StorageBench {
  Sizes sizes;
  CacheDrop drop = CacheDrop::kNone;  // What was done before cold reads; never kAuto.
  bool on_memory = false;             // True: the directory is in memory (tmpfs).
  std::string device;                 // "vda"; "" if unknown.
  std::vector<TestResult> results;
};

// Runs the tests. Whatever it wrote is removed when it returns, also after an error or a signal.
//
// Errors:  kResourceExhausted, before anything is written, if disk or memory does not suffice; when
//          the disk is full; kCancelled after SIGINT, SIGTERM or SIGHUP. Each error names the path.
// Threads: the main one of a process that has no others, since it forks.
absl::StatusOr<StorageBench> RunStorageBench(const StorageBenchOptions& options,
                                             Progress& progress);

}  // namespace tickstack::measure::storage_bench
