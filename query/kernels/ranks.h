#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Returns the rank of each item of a list in stable sorted order; the smallest item, such as a
// null, has rank 0. Cost and errors: as Grade() (sort.h).
absl::StatusOr<Value> Ranks(const Slice& slice, Budget& budget);

// Divides the ranks into `buckets` whose sizes differ by at most one: bucket 0 has the smallest
// items.
absl::StatusOr<Value> Buckets(int64_t buckets, const Slice& slice, Budget& budget);

}  // namespace tickstack::query
