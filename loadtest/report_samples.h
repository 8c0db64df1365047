#pragma once

// samples.csv, a row at a time: what a monitor measured in one sample. The columns are `test,
// stack, rdb, time_s`, a metric's name with `_ms`, and `tier.NAME.used` in bytes, in any order;
// others are passed over, an empty cell was not measured.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "loadtest/report_run.h"

namespace tickstack::loadtest::report {

struct SampleRow {
  size_t test = 0, stack = 0;  // Numbers in the run's lists.
  std::string_view rdb;        // Until the next row.
  double time_s = 0;           // Since the test began; up to 10^7.
  std::array<std::optional<double>, kMetrics> metrics_ms;
  std::vector<std::optional<double>> tiers_used;  // As SampleColumns::tiers has them.
};

struct SampleColumns {
  std::vector<std::string> tiers;
};

// Calls `begin` once with the columns, then `use` with each row; an error of `use` ends it and gets
// the line's place. Memory: a line and a buffer, whatever the file's size; a line has 64 KiB at
// most. Errors: kNotFound, kDataLoss as `samples.csv: line 7: time_s: found "x", expected ...`. A
// test or stack that the run does not have is one.
absl::Status ReadSamples(const RunFiles& run,
                         const std::function<void(const SampleColumns&)>& begin,
                         const std::function<absl::Status(const SampleRow&)>& use);

}  // namespace tickstack::loadtest::report
