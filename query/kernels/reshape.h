#pragma once

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// `2 3#y`: returns the items of a vector or list as a matrix or, with more sizes, as lists of
// matrices (code.kx.com/q/ref: take). If there are too few items, they repeat. One of two sizes may
// be null (kNullLong): `n 0N#` gives n rows whose counts differ by at most one; `0N n#` gives rows
// with n items each, except that the last row has the remaining items. If y is a table, its rows
// are its items, and each innermost list of the result is a table.
//
// Cost:   a copy of the result.
// Errors: `domain` for a negative size, for a null size if there are more than two sizes, and for a
//         size of 0 before another size; `limit`.
absl::StatusOr<Value> Reshape(std::span<const int64_t> sizes, const Value& y, Budget& budget);

}  // namespace tickstack::query
