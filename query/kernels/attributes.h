#pragma once

// Sets and removes attributes, as `s#x does (code.kx.com/q/ref: set attribute).

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Returns the attribute of a letter: kNone for an empty text; nullopt for any other text.
std::optional<Attribute> AttributeOfLetter(std::string_view letter);

// Returns the value with that attribute; kNone removes its attribute. An attribute can be set on:
//
//   sorted   a vector or list whose items ascend; a dictionary whose keys ascend, which becomes a
//            step dictionary: an item is valid for all keys from its own to the next; a table whose
//            first column ascends, which gets the attribute `p` (parted)
//   unique   a vector or list without repetition
//   parted   a vector whose equal items are adjacent
//   grouped  a vector
//
// Cost:   a comparison or a hash per item; the value is not copied.
// Errors: `s-fail` for items that do not ascend; `u-fail` for repetitions, or equal items that are
//         not adjacent; `type` for a value that cannot have the attribute; `nyi` for a sorted keyed
//         table, which would be a step function.
absl::StatusOr<Value> WithAttribute(Attribute attribute, Value x, Budget& budget);

}  // namespace tickstack::query
