#pragma once

// Converts values to JSON and back: `.j.j` and `.j.k`.

#include <string_view>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// `.j.j x`: in the form of HTTP answers (table/format_value.h).
absl::StatusOr<Value> JsonOf(const Value& x, Budget& budget);

// `.j.k x`: numbers are floats, null is 0n, `true` a boolean, a text a string, an array a list, an
// object a dictionary from symbols; an array of objects with the same names is a table.
//
// Errors: `parse` with the position of invalid JSON, `stack` for more than kMaxListDepth levels,
// `limit`.
absl::StatusOr<Value> ValueOfJson(std::string_view text, Budget& budget);

}  // namespace tickstack::query
