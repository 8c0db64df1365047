#pragma once

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// `2 3#y`: the items of a vector or list as a matrix or, with more sizes, as lists of matrices; if
// there are too few, they repeat (code.kx.com/q/ref: take). One of two sizes may be null: `n 0N#`
// gives n rows whose counts differ by at most one, `0N n#` rows of n, the last one with the
// remaining items. A null size is kNullLong. The items of a table are its rows: each innermost list
// is a table.
//
// Cost:   a copy of the result.
// Errors: `domain` for a negative size, a null one among more than two, or a size of 0 before
//         another one; `limit`.
absl::StatusOr<Value> Reshape(std::span<const int64_t> sizes, const Value& y, Budget& budget);

}  // namespace tickstack::query
