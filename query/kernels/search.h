#pragma once

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// `x in y`: for each item of x, is it an item of y; for a list y, is x itself one of its items.
absl::StatusOr<Value> In(const Value& x, const Value& y, Budget& budget);

// True if a search looks for `y` as a whole, not for each of its items: an atom, and in a list what
// is at most as deep as the first item.
bool IsItemOf(const Value& items, const Value& y);

// `x?y`: the position in x of each item of y, at whatever depth, or of y itself if IsItemOf(x, y);
// count x for items that x lacks. For a dictionary, the key of the value.
absl::StatusOr<Value> Find(const Value& x, const Value& y, Budget& budget);

// `x within y`: for each item of x, is it between y's two items, both included.
absl::StatusOr<Value> Within(const Value& x, const Value& y, Budget& budget);

// `x like y`: symbols or strings against a pattern (text_patterns.h).
absl::StatusOr<Value> Like(const Value& x, const Value& y, Budget& budget);

// The items of a vector or list without repetition, in order of first appearance.
absl::StatusOr<Value> Distinct(const Value& x, Budget& budget);

}  // namespace tickstack::query
