#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Returns the rank of each item: its position after a stable ascending sort. The smallest item has
// rank 0. Cost and errors: those of Grade() (sort.h).
absl::StatusOr<Value> Ranks(const Slice& slice, Budget& budget);

// Returns for each item the number of its bucket. The items, in order of rank, are divided into
// `buckets` buckets whose sizes differ by at most one. Bucket 0 has the smallest items.
absl::StatusOr<Value> Buckets(int64_t buckets, const Slice& slice, Budget& budget);

}  // namespace tickstack::query
