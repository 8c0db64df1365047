#pragma once

// Keys of time that are equal for many successive rows: `time.minute`, `0D00:05 xbar time`. Because
// times nearly ascend, there is one key per run of rows instead of one per row. Runs are found by
// comparing times with the ends of the run's bucket, and the expression is evaluated once per run.

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"
#include "query/language/ast.h"

namespace tickstack::query {

// An expression that is constant for all times in [k * bucket_ns, (k + 1) * bucket_ns), for times
// from 0 on.
struct TimeBucket {
  size_t column;  // A column of timestamps or timespans.
  int64_t bucket_ns;
};

// Returns nullopt if the expression is not known to be one.
std::optional<TimeBucket> TimeBucketOf(const Node& node, const TableView& view);

struct TimeRuns {
  ScratchVector<uint32_t> ends;        // By run: the position after its last row.
  ScratchVector<uint32_t> first_rows;  // By run: the number of its first row.
};

// Returns the runs of rows whose times are in one bucket. nullopt if there is more than one run for
// eight rows, or if a time is null or negative, where buckets may begin elsewhere.
// Cost: one read of the times, bound by memory.
absl::StatusOr<std::optional<TimeRuns>> FindTimeRuns(const Slice& times, int64_t bucket_ns,
                                                     Budget& budget);

}  // namespace tickstack::query
