#pragma once

// What the processes measured, and its output in nano's columns.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/storage_bench/block_device.h"
#include "measure/storage_bench/test.h"

namespace tickstack::measure::storage_bench {

// What one process measured.
struct Measurement {
  int64_t begin_ns = 0;  // Time of day in UTC.
  int64_t elapsed_ns = 0;
  Work work;
  Pages pages;

  // Returns ms per repeat for a latency, MB/sec (10^6 bytes per s) otherwise.
  double Result(bool is_latency) const;
};

// A test as all processes measured it.
struct TestResult {
  TestName name;
  Io io = Io::kNone;
  bool on_memory = false;                 // True: the file system is memory.
  std::vector<Measurement> measurements;  // One for each process; never empty.
  // What the device did from before the first process began until after the last one ended, and
  // the time between these two readings.
  std::optional<DeviceBytes> device;
  int64_t device_ns = 0;

  // Returns nano's measure of how simultaneously the processes ran, in percent: 100 if all began at
  // the same time, 0 if they began as far apart as a test takes.
  double Accuracy() const;
  // Returns the sum of all processes' rates, for a test that is not a latency.
  double Throughput() const;
  // Returns the mean and the largest of all processes' latencies.
  double MeanLatency() const;
  double MaxLatency() const;
  // Returns the percentage of the pages to be read that were in the page cache when the test began;
  // nullopt if it does not read through the page cache.
  std::optional<double> CachedPercent() const;
  // Returns what served the bytes: "memory", "page cache", "storage", or "both"; "" if it moves
  // none. "both" if between 1 and 99 % of the pages were in the page cache.
  std::string ServedBy() const;
};

// Returns a sentence if a test was not served as it should have been; "" if all is well.
std::string WarningOf(const TestResult& result);

// Return the results as lines of `|`-separated columns, the first of which names them. These are
// nano's columns, then `cached_pct` and `served_by`. `threads` is the number of threads of each
// process.
std::string ThroughputPsv(const std::vector<TestResult>& results, size_t threads, bool header);
std::string LatencyPsv(const std::vector<TestResult>& results, size_t threads, bool header);
// What one process measured, test by test; it has no further columns.
std::string DetailedPsv(const std::vector<TestResult>& results, size_t process, size_t threads);

}  // namespace tickstack::measure::storage_bench
