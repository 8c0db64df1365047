#pragma once

// `s#x and its like: attributes that are set and taken off (code.kx.com/q/ref: set attribute).

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// The attribute of a letter, none for no letter; nullopt for any other text.
std::optional<Attribute> AttributeOfLetter(std::string_view letter);

// The value with that attribute, or without any.
//
//   sorted   a vector or list whose items ascend; a dictionary whose keys do, which is then a step
//            dictionary: an item stands for all keys from its own up to the next one; a table whose
//            first column ascends, which then is parted
//   unique   a vector or list without repetition
//   parted   a vector whose equal items are adjacent
//   grouped  a vector
//
// Cost:   a comparison or a hash an item; the value is not copied.
// Errors: `s-fail` for what does not ascend; `u-fail` for repetitions, or parts that are not
//         adjacent; `type` for a value that cannot have the attribute; `nyi` for a sorted keyed
//         table, which would be a step function.
absl::StatusOr<Value> WithAttribute(Attribute attribute, Value x, Budget& budget);

}  // namespace tickstack::query
