#pragma once

#include "absl/status/statusor.h"
#include "query/language/term.h"

namespace tickstack::query {

// (f;x) fby y: groups the items of x by the items of y, which is a vector or a table, and applies f
// to each group. Returns for each item of x the result for its group. A result that is not an atom
// must have an item for each item of the group, and each item of x gets its own.
//
// Cost:   a hash per item and column of y, a call of f per group.
// Errors: `length` for different counts, those of f.
absl::StatusOr<Value> FilterBy(Context& context, const Value& pair, Term by);

}  // namespace tickstack::query
