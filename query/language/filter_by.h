#pragma once

#include "absl/status/statusor.h"
#include "query/language/term.h"

namespace tickstack::query {

// (f;x) fby y: f of the items of x in each group of equal items of y, which is a vector or a table;
// for each item of x what f made of its group, or its item of that.
//
// Cost:   a hash an item and column of y, a call of f a group.
// Errors: `length` for other counts, those of f.
absl::StatusOr<Value> FilterBy(Context& context, const Value& pair, Term by);

}  // namespace tickstack::query
