#pragma once

// Converts values to JSON and back: `.j.j` and `.j.k`.

#include <string_view>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// `.j.j x`: returns x as JSON text, in the form of HTTP answers (table/format_value.h).
absl::StatusOr<Value> JsonOf(const Value& x, Budget& budget);

// `.j.k x`: returns the value of a JSON text:
//
//   number          float
//   null            0n
//   true, false     boolean
//   string          string
//   array           list; a table if it has only objects with the same names
//   object          dictionary from symbols
//
// Errors: `parse` with the position of invalid JSON, `stack` for more than kMaxListDepth levels,
// `limit`.
absl::StatusOr<Value> ValueOfJson(std::string_view text, Budget& budget);

}  // namespace tickstack::query
