#pragma once

// Converts values to strings, and changes strings.

#include <cstddef>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/element_text.h"
#include "table/format_value.h"
#include "table/value.h"

namespace tickstack::query {

// Returns an element as `string` writes it; a null other than that of a guid is an empty text.
std::string TextOfElement(Type type, std::span<const std::byte> element, TimeStyle style);

// `string x`: returns each atom as text, without the suffix of its type. A null becomes an empty
// text, a float has seven digits, a string becomes a list of its chars, and a function its q
// source. Also converts the items of lists, of dictionaries' values and of tables' columns.
absl::StatusOr<Value> StringsOf(const Value& x, Budget& budget);

// Change the letters of strings and symbols to upper or lower case. Only ASCII letters are changed.
// `type` for anything but text.
absl::StatusOr<Value> UpperCase(const Value& x, Budget& budget);
absl::StatusOr<Value> LowerCase(const Value& x, Budget& budget);

// Remove the nulls around (Trim), before (TrimLeft) or after (TrimRight) the items of a vector: of
// a string the blanks. Lists, dictionaries and tables are trimmed item by item. An atom stays as it
// is. Errors: `type` for functions, and for a null among the atoms of a dictionary or column.
absl::StatusOr<Value> Trim(const Value& x, Budget& budget);
absl::StatusOr<Value> TrimLeft(const Value& x, Budget& budget);
absl::StatusOr<Value> TrimRight(const Value& x, Budget& budget);

// `n$x`: makes strings n chars long. Cuts them, or adds blanks, at their end; for a negative n, at
// their start. Also changes the strings in lists, in dictionaries' values and in tables' columns.
// Errors: `type` for anything but strings, `domain` for a null n.
absl::StatusOr<Value> Pad(int64_t width, const Value& x, Budget& budget);

// LineOf is `.Q.s1 x`: returns a value as text on one line. DisplayOf is `.Q.s x`: returns a value
// as a console of that size shows it.
absl::StatusOr<Value> LineOf(const Value& x, Budget& budget);
absl::StatusOr<Value> DisplayOf(const Value& x, const TextLimits& console, Budget& budget);

}  // namespace tickstack::query
