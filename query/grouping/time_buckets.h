#pragma once

// Keys that are computed from times and are equal for many successive rows, such as `time.minute`
// or `0D00:05 xbar time`. All times of a bucket, such as a minute, have the same key. Because times
// nearly ascend, the rows form runs whose times are in one bucket. Runs are found by comparing
// times with the ends of the current bucket, and the expression is evaluated once per run.

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"
#include "query/language/ast.h"

namespace tickstack::query {

// Describes an expression of a column of times: its value is the same for all times in
// [k * bucket_ns, (k + 1) * bucket_ns), for every k >= 0.
struct TimeBucket {
  size_t column;  // A column of timestamps or timespans.
  int64_t bucket_ns;
};

// Returns nullopt if the expression is not known to have this property.
std::optional<TimeBucket> TimeBucketOf(const Node& node, const TableView& view);

struct TimeRuns {
  ScratchVector<uint32_t> ends;        // By run: the position after its last row.
  ScratchVector<uint32_t> first_rows;  // By run: the number of its first row.
};

// Returns the runs of successive rows whose times are in one bucket. nullopt if runs have fewer
// than eight rows on average, or if a time is null or negative, since the buckets of negative times
// may begin elsewhere.
// Cost: one read of the times, bound by memory.
absl::StatusOr<std::optional<TimeRuns>> FindTimeRuns(const Slice& times, int64_t bucket_ns,
                                                     Budget& budget);

}  // namespace tickstack::query
