#pragma once

// Values with some of their items changed: x[i]:y, @[x;i;f], .[x;i;f;y]. They change values of the
// request alone; what the process captured cannot be reached by them.

#include <optional>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "query/language/term.h"

namespace tickstack::query {

// How an item changes: it becomes f of it and y, f of it if there is no y, or y if there is no f.
struct Change {
  const Term* f = nullptr;
  std::optional<Value> y;
};

// Changes the items of x that the indices name, each going one level down, one after the other if
// an index names several; y goes with all of them, or has an item for each. The generic null stands
// for all items. No index changes all of x. A dictionary gets keys that it has not, a table
// columns.
//
// Cost:   that of the items changed in a vector that is no vector of names; else of a copy of it.
// Errors: `type` for an item that a vector cannot hold or an index that is none, `length` for an
//         index outside of x or other counts, and those of f. A vector or list is then as before.
absl::Status AmendDeep(Context& context, Value& x, std::span<const Value> indices,
                       const Change& change);

// The same of a variable. Errors: `assign: NAME` for what the process has.
absl::Status AmendVariable(Context& context, std::string_view name, std::span<const Value> indices,
                           const Change& change);

}  // namespace tickstack::query
