#pragma once

// Changes some items of a value: x[i]:y, @[x;i;f], .[x;i;f;y]. Only values of the request can be
// changed, not captured or stored data.

#include <optional>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "query/language/term.h"

namespace tickstack::query {

// The change of an item: it becomes f[item;y]; without y, f[item]; without f, y.
struct Change {
  const Term* f = nullptr;
  std::optional<Value> y;
};

// Changes the items of x that the indices select. The first index selects items of x, the second
// index items of those, and so on. If an index is a list, its items are changed one after the
// other, and y is an atom for all of them or has an item for each. The generic null selects all
// items. Without indices, x as a whole is changed. A key that a dictionary lacks is added, and so
// is a column that a table lacks: x[k] f:y for an operator f is x f (1#k)!1#y then, and any other
// function gets a null.
//
// Cost:   that of the changed items; for a vector of symbols, a copy of the vector.
// Errors: `type` for an item that a vector cannot hold, or an invalid index; `length` for an index
//         outside of x, or if y does not have an item for each index; those of f. After an error, a
//         vector or list is unchanged.
absl::Status AmendDeep(Context& context, Value& x, std::span<const Value> indices,
                       const Change& change);

// Changes items of a variable as AmendDeep does. Errors: those of AmendDeep, and `assign: NAME` if
// the name belongs to the process.
absl::Status AmendVariable(Context& context, std::string_view name, std::span<const Value> indices,
                           const Change& change);

}  // namespace tickstack::query
