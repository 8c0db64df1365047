#pragma once

// `vs` and `sv` for text: split strings and symbols at separators, and join them.

#include <string_view>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Returns the parts of a text between separators, one more than there are separators. `length` for
// an empty separator.
absl::StatusOr<Value> SplitText(std::string_view separator, std::string_view text, Budget& budget);

// Returns the lines of a text, which end with \n or \r\n; the last line end may be missing.
absl::StatusOr<Value> SplitLines(std::string_view text, Budget& budget);

// Splits `a.b.c into `a`b`c, and a file's symbol `:a/b/c into its folder and its name, `:a/b`c.
absl::StatusOr<Value> SplitName(std::string_view name, Budget& budget);

// Joins strings or chars with the separator. `type` for anything but a list of these.
absl::StatusOr<Value> JoinTexts(std::string_view separator, const Value& texts, Budget& budget);

// Joins strings, each followed by \n.
absl::StatusOr<Value> JoinLines(const Value& texts, Budget& budget);

// Joins names with dots; with slashes if the first one is a file's symbol.
absl::StatusOr<Value> JoinNames(const Value& names, Budget& budget);

}  // namespace tickstack::query
