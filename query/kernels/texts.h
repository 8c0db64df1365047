#pragma once

// Converts values to strings, and changes strings.

#include <string>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/format_value.h"
#include "table/value.h"

namespace tickstack::query {

// `string x`: each atom as text without its type's suffix; a null is empty, a float has seven
// digits. Descends into lists, dictionaries' values and tables' columns; a string becomes a list of
// its chars, a function its q source.
absl::StatusOr<Value> StringsOf(const Value& x, Budget& budget);

// Changes the letters a to z of strings and symbols; other bytes stay. `type` for anything but
// text.
absl::StatusOr<Value> UpperCase(const Value& x, Budget& budget);
absl::StatusOr<Value> LowerCase(const Value& x, Budget& budget);

// Removes blanks around, before, or after strings. `type` for anything but a string or a list of
// strings.
absl::StatusOr<Value> Trim(const Value& x, Budget& budget);
absl::StatusOr<Value> TrimLeft(const Value& x, Budget& budget);
absl::StatusOr<Value> TrimRight(const Value& x, Budget& budget);

// `n$x`: cuts strings or pads them with blanks to n chars; at their start for a negative n.
// Descends into lists, dictionaries' values and tables' columns. Errors: `type` for anything but a
// string, `domain` for a null n.
absl::StatusOr<Value> Pad(int64_t width, const Value& x, Budget& budget);

// `.Q.s1 x`: a value on one line. `.Q.s x`: as a console of that size shows it.
absl::StatusOr<Value> LineOf(const Value& x, Budget& budget);
absl::StatusOr<Value> DisplayOf(const Value& x, const TextLimits& console, Budget& budget);

}  // namespace tickstack::query
