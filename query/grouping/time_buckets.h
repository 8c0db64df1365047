#pragma once

// Keys of time that stay the same for many rows in a row: `time.minute`, `0D00:05 xbar time`. Times
// nearly ascend, so instead of a key for each row there is one for each run of rows, found by
// comparing times with the ends of the run's bucket; the expression is evaluated once a run.

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/budget.h"
#include "query/columns/column.h"
#include "query/columns/table_view.h"
#include "query/language/ast.h"

namespace tickstack::query {

// An expression that is the same for all times in [k * bucket_ns, (k + 1) * bucket_ns), of times
// from 0 on.
struct TimeBucket {
  size_t column;  // Of timestamps or timespans.
  int64_t bucket_ns;
};

// nullopt: the expression is not known to be one.
std::optional<TimeBucket> TimeBucketOf(const Node& node, const TableView& view);

struct TimeRuns {
  ScratchVector<uint32_t> ends;        // By run: the position after its last row.
  ScratchVector<uint32_t> first_rows;  // By run: the row number of its first row.
};

// The runs of rows whose times are in one bucket. nullopt: there are more than one for eight rows,
// or a time is null or negative, where buckets may begin elsewhere.
// Cost: one read of the times, bound by memory.
absl::StatusOr<std::optional<TimeRuns>> FindTimeRuns(const Slice& times, int64_t bucket_ns,
                                                     Budget& budget);

}  // namespace tickstack::query
