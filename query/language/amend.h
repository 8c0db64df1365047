#pragma once

// Changes some items of values: x[i]:y, @[x;i;f], .[x;i;f;y]. It changes only values of the
// request; captured data is out of reach.

#include <optional>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "query/language/term.h"

namespace tickstack::query {

// The change of an item: it becomes f of it and y; f of it if there is no y; or y if there is no f.
struct Change {
  const Term* f = nullptr;
  std::optional<Value> y;
};

// Changes the items of x that the indices name. Each index descends one level; if an index names
// several items, they change one after the other, and y is used for all of them, or has an item for
// each. The generic null selects all items. Without an index, all of x changes. A dictionary gets
// new keys, and a table new columns.
//
// Cost:   that of the changed items in a vector that is no vector of names; else of a copy of it.
// Errors: `type` for an item that a vector cannot hold, or an invalid index; `length` for an index
// outside of x or different counts; those of f. A vector
//         or list is then unchanged.
absl::Status AmendDeep(Context& context, Value& x, std::span<const Value> indices,
                       const Change& change);

// The same for a variable. Errors: `assign: NAME` for names of the process.
absl::Status AmendVariable(Context& context, std::string_view name, std::span<const Value> indices,
                           const Change& change);

}  // namespace tickstack::query
