#pragma once

// What a dictionary or keyed table has for a key that it lacks, and what a change makes of it:
// counts[`new]+:1.

#include <optional>

#include "absl/status/statusor.h"
#include "query/language/term.h"

namespace tickstack::query {

// Returns the null of a dictionary's items. `values` are those of `dict`, or its rows as a list. If
// they are dictionaries, it is the first one with nulls for its items.
Value MissingEntryOf(const Value& dict, const Value& values);

// Returns what f makes of `null`, an entry that is missing, and y, so that x[k] f:y is
// x f (1#k)!1#y. To a list, y is appended. nullopt: f is applied to the null.
absl::StatusOr<std::optional<Value>> FirstChange(Context& context, const Value& null,
                                                 const Value& y, const Term& f);

}  // namespace tickstack::query
