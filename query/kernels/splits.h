#pragma once

// `vs` and `sv` for text: split strings and symbols at separators, and join them.

#include <string_view>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Returns the parts of a text before, between and after its separators. `length` for an empty
// separator.
absl::StatusOr<Value> SplitText(std::string_view separator, std::string_view text, Budget& budget);

// Returns the lines of a text. Lines end with \n or \r\n; the last line may have no end.
absl::StatusOr<Value> SplitLines(std::string_view text, Budget& budget);

// Splits `a.b.c into `a`b`c, and the symbol of a file, `:a/b/c, into its folder and its name:
// `:a/b`c. Errors: `nyi` for a file without a folder.
absl::StatusOr<Value> SplitName(std::string_view name, Budget& budget);

// Joins strings or chars, with the separator between them. `type` for anything but a list of these.
absl::StatusOr<Value> JoinTexts(std::string_view separator, const Value& texts, Budget& budget);

// Joins strings into one text in which each is followed by \n.
absl::StatusOr<Value> JoinLines(const Value& texts, Budget& budget);

// Joins names with dots; with slashes if the first one is the symbol of a file.
absl::StatusOr<Value> JoinNames(const Value& names, Budget& budget);

}  // namespace tickstack::query
