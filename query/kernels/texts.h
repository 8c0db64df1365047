#pragma once

// Text: values as strings, and strings that are changed.

#include <string>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/format_value.h"
#include "table/value.h"

namespace tickstack::query {

// `string x`: each atom as text without the marks of its type; a null is empty, a float has seven
// digits. Down into lists, dictionaries' values and tables' columns; a string is a list of its
// chars, a function as q writes it.
absl::StatusOr<Value> StringsOf(const Value& x, Budget& budget);

// Letters a to z of strings and symbols; other bytes stay. `type` for what is no text.
absl::StatusOr<Value> UpperCase(const Value& x, Budget& budget);
absl::StatusOr<Value> LowerCase(const Value& x, Budget& budget);

// Strings without the blanks around them, before them, behind them. `type` for what is no string or
// list of strings.
absl::StatusOr<Value> Trim(const Value& x, Budget& budget);
absl::StatusOr<Value> TrimLeft(const Value& x, Budget& budget);
absl::StatusOr<Value> TrimRight(const Value& x, Budget& budget);

// `n$x`: strings cut or filled with blanks to n chars, from their end for a negative n. Down into
// lists, dictionaries' values and tables' columns. Errors: `type` for what is no string, `domain`
// for a null n.
absl::StatusOr<Value> Pad(int64_t width, const Value& x, Budget& budget);

// `.Q.s1 x`: a value on one line. `.Q.s x`: as a console of that size shows it.
absl::StatusOr<Value> LineOf(const Value& x, Budget& budget);
absl::StatusOr<Value> DisplayOf(const Value& x, const TextLimits& console, Budget& budget);

}  // namespace tickstack::query
