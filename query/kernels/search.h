#pragma once

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// `x in y`: returns for each item of x whether it is an item of y. For a list y that is no vector,
// returns whether x itself is an item of y.
absl::StatusOr<Value> In(const Value& x, const Value& y, Budget& budget);

// True if a search in `items` looks for `y` as a whole, not for each of its items. That is so for
// an atom and, if `items` is a list that is no vector, for a value that is nested at most as deep
// as the first item of the list.
bool IsItemOf(const Value& items, const Value& y);

// `x?y`: returns the position of y in x if IsItemOf(x, y), otherwise the position of each item of
// y, at any depth. It is count x for an item that x lacks. If x is a dictionary, returns keys
// instead of positions.
absl::StatusOr<Value> Find(const Value& x, const Value& y, Budget& budget);

// `x within y`: returns for each item of x whether it is between the two items of y, inclusive.
absl::StatusOr<Value> Within(const Value& x, const Value& y, Budget& budget);

// `x like y`: returns for each symbol or string of x whether it matches the pattern y
// (text_patterns.h).
absl::StatusOr<Value> Like(const Value& x, const Value& y, Budget& budget);

// Returns the distinct items of a vector or list, in order of first appearance.
absl::StatusOr<Value> Distinct(const Value& x, Budget& budget);

}  // namespace tickstack::query
