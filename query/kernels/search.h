#pragma once

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// `x in y`: for each item of x, whether it is an item of y; for a list y, whether x itself is one
// of its items.
absl::StatusOr<Value> In(const Value& x, const Value& y, Budget& budget);

// True if a search looks for `y` as a whole, not for each of its items: for an atom and, in a list,
// for a value that is nested at most as deep as the first item.
bool IsItemOf(const Value& items, const Value& y);

// `x?y`: the position in x of each item of y, at whatever depth, or of y itself if IsItemOf(x, y);
// count x for items that x lacks. For a dictionary, the key of the value.
absl::StatusOr<Value> Find(const Value& x, const Value& y, Budget& budget);

// `x within y`: for each item of x, whether it is between y's two items, inclusive.
absl::StatusOr<Value> Within(const Value& x, const Value& y, Budget& budget);

// `x like y`: symbols or strings against a pattern (text_patterns.h).
absl::StatusOr<Value> Like(const Value& x, const Value& y, Budget& budget);

// Returns the distinct items of a vector or list, in order of first appearance.
absl::StatusOr<Value> Distinct(const Value& x, Budget& budget);

}  // namespace tickstack::query
