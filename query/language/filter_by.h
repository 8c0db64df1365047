#pragma once

#include "absl/status/statusor.h"
#include "query/language/term.h"

namespace tickstack::query {

// (f;x) fby y: applies f to the items of x in each group of equal items of y, a vector or a table.
// Returns for each item of x the result for its group, or the group's corresponding item.
//
// Cost:   a hash per item and column of y, a call of f per group.
// Errors: `length` for different counts, those of f.
absl::StatusOr<Value> FilterBy(Context& context, const Value& pair, Term by);

}  // namespace tickstack::query
