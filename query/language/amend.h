#pragma once

// Changes some items of values: x[i]:y, @[x;i;f], .[x;i;f;y]. It changes only values of the
// request; captured data is out of reach.

#include <optional>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "query/language/term.h"

namespace tickstack::query {

// The change of an item: the item becomes f[item;y], or f[item] without a y, or y without an f.
struct Change {
  const Term* f = nullptr;
  std::optional<Value> y;
};

// Changes the items of x that the indices name. Each index descends one level. If an index names
// several items, they change one after the other; y is one value for all of them, or has an item
// for each. The generic null selects all items. Without indices, x as a whole changes. A dictionary
// gets keys that it did not have, and a table columns.
//
// Cost:   that of the changed items; for a vector of symbols, that of copying the vector.
// Errors: `type` for an item that a vector cannot hold, or an invalid index; `length` for an index
//         outside of x, or if y does not have an item for each index; those of f. After an error, a
//         vector or list is unchanged.
absl::Status AmendDeep(Context& context, Value& x, std::span<const Value> indices,
                       const Change& change);

// Changes items of a variable in the same way. Errors: also `assign: NAME` if the name is one of
// the process's.
absl::Status AmendVariable(Context& context, std::string_view name, std::span<const Value> indices,
                           const Change& change);

}  // namespace tickstack::query
