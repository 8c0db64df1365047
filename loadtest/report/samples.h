#pragma once

// Reads samples.csv row by row. A row has what a monitor measured in one sample. The columns are
// `test`, `stack`, `rdb`, `time_s`, a metric's name with `_ms`, and `tier.NAME.used` in bytes, in
// any order. Other columns are ignored. An empty cell was not measured.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "loadtest/report/run.h"

namespace tickstack::loadtest::report {

struct RecordedSample {
  size_t test = 0, stack = 0;  // Indices into the run's lists.
  std::string_view rdb;        // Valid until the next row.
  double time_s = 0;           // Since the start of the test; at most 10^7.
  std::array<std::optional<double>, kMetrics> metrics_ms;
  std::vector<std::optional<double>> tiers_used;  // In the order of SampleColumns::tiers.
};

struct SampleColumns {
  std::vector<std::string> tiers;
};

// Calls `begin` once with the columns, then `use` with each row. An error of `use` stops the
// reading and gets the line's place. Memory: a line (at most 64 KiB) and a buffer, whatever the
// file's size. Errors: kNotFound; kDataLoss such as `samples.csv: line 7: time_s: found "x",
// expected ...`, also for a test or stack that the run does not have.
absl::Status ReadSamples(const RunFiles& run,
                         const std::function<void(const SampleColumns&)>& begin,
                         const std::function<absl::Status(const RecordedSample&)>& use);

}  // namespace tickstack::loadtest::report
