#pragma once

// A test of the benchmark: what it is called, what it does, and what one process measured.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "base/worker_pool.h"
#include "measure/storage_bench/sizes.h"

namespace tickstack::measure::storage_bench {

// What identifies a test in nano's output. Where nano has the same test, all texts are nano's.
struct TestName {
  std::string type;         // `testtype`: "read disk"
  std::string id;           // `testid`: ".read.readHuge"
  std::string name;         // `test`: "sequential read int huge"
  std::string expression;   // `qexpression`: what nano evaluates, "get,-23!"
  bool is_latency = false;  // True: the result is ms per repeat. False: MB/sec.
};

// Where a test's bytes are expected to come from or to go to.
enum class Io : uint8_t {
  kNone,        // The test measures processors or metadata.
  kColdRead,    // A read after the page cache was dropped.
  kWarmRead,    // A read of what was just read.
  kDirect,      // Reads that bypass the page cache.
  kCacheWrite,  // A write that is not synced: it ends in the page cache.
  kSyncWrite,   // A write with a sync, or the sync alone.
};

// Pages of the files that a test reads, immediately before it.
struct Pages {
  uint64_t resident = 0;  // Pages in the page cache.
  uint64_t total = 0;
};

// What a test did.
struct Work {
  uint64_t repeats = 1;
  int64_t length = 0;  // Items of one repeat, or bytes where nano counts bytes.
  uint64_t bytes = 0;  // Bytes of all repeats, for the throughput.
};

struct Test {
  TestName name;
  Io io = Io::kNone;
  // The measured part. kUnimplemented if the file system cannot do it: the test is then left out.
  std::function<absl::StatusOr<Work>()> run;
  // What precedes it and is not measured; may be empty. Returns the pages that `run` will read.
  std::function<absl::StatusOr<Pages>()> prepare = nullptr;
  // What follows it and is not measured; may be empty.
  std::function<absl::Status()> finish = nullptr;
  // True if later tests need the files that `run` writes, so that it cannot be excluded.
  bool is_needed = false;
};

// What the tests of one process share. It must outlive them.
struct Workspace {
  std::string directory;
  Sizes sizes;
  double seconds = 1;             // Limit of a repeated test.
  WorkerPool* threads = nullptr;  // Helping threads; nullptr: none.

  std::string PathOf(std::string_view name) const { return directory + "/" + std::string(name); }
};

// Items of a scan that are worth waking a thread.
inline constexpr size_t kItemsPerThread = size_t{1} << 17;

// Calls f(begin, end) for parts of [0, n), one for each thread, but none smaller than `least`.
inline void InParallel(const Workspace& workspace, size_t n, size_t least,
                       absl::FunctionRef<void(size_t, size_t)> f) {
  if (workspace.threads == nullptr || n < 2 * least) return f(0, n);
  const size_t parts = std::min(workspace.threads->threads() + 1, n / least);
  const absl::Status done = workspace.threads->ParallelFor(parts, [&](size_t part) {
    f(n * part / parts, n * (part + 1) / parts);
    return absl::OkStatus();
  });
  done.IgnoreError();  // The parts cannot fail.
}

// Calls f until it was called `repeats_max` times or the workspace's time limit has passed. Returns
// the number of calls, at least 1, or the first error. The clock is read about every 20 us only, so
// that it does not slow down short calls.
inline absl::StatusOr<uint64_t> Repeat(const Workspace& workspace, uint64_t repeats_max,
                                       absl::FunctionRef<absl::Status()> f) {
  constexpr int64_t kClockNs = 20'000;
  const int64_t begin_ns = MonotonicNs();
  const auto limit_ns = static_cast<int64_t>(workspace.seconds * 1e9);
  uint64_t done = 0, stride = 1;
  while (done < repeats_max) {
    const uint64_t batch = std::min(stride, repeats_max - done);
    for (uint64_t i = 0; i < batch; ++i) {
      if (absl::Status status = f(); !status.ok()) [[unlikely]]
        return status;
    }
    done += batch;
    const int64_t elapsed_ns = MonotonicNs() - begin_ns;
    if (elapsed_ns >= limit_ns) break;
    const int64_t call_ns = std::max<int64_t>(1, elapsed_ns / static_cast<int64_t>(done));
    stride = static_cast<uint64_t>(std::max<int64_t>(1, kClockNs / call_ns));
  }
  return done;
}

// A group of tests that run one after the other. Destroying them frees their memory and mappings.
struct Suite {
  std::string title;
  bool drops_cache = false;  // True: the page cache is dropped before the first test.
  bool uses_files = true;    // False for the tests of processors.
  std::function<std::vector<Test>(const Workspace&)> make;
};

}  // namespace tickstack::measure::storage_bench
