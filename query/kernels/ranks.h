#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/column.h"
#include "table/value.h"

namespace tickstack::query {

// Where each item of a list stands among them when they are sorted, stably: 0 the smallest one, the
// null.
// Cost and errors: as Grade() (sort.h).
absl::StatusOr<Value> Ranks(const Slice& slice, Budget& budget);

// The same in `buckets` of counts that differ by one at most: bucket 0 has the smallest items.
absl::StatusOr<Value> Buckets(int64_t buckets, const Slice& slice, Budget& budget);

}  // namespace tickstack::query
