#pragma once

// `vs` and `sv` of text: strings and symbols cut at separators, and joined by them.

#include <string_view>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// The parts of a text between separators, one more than there are separators. `length` for an empty
// separator.
absl::StatusOr<Value> SplitText(std::string_view separator, std::string_view text, Budget& budget);

// Lines of a text, which end with \n or \r\n; the last end may be missing.
absl::StatusOr<Value> SplitLines(std::string_view text, Budget& budget);

// `a.b.c as `a`b`c; a file's symbol, `:a/b/c, as its folder and its name, `:a/b`c.
absl::StatusOr<Value> SplitName(std::string_view name, Budget& budget);

// Strings or chars with the separator between them. `type` for what is no list of these.
absl::StatusOr<Value> JoinTexts(std::string_view separator, const Value& texts, Budget& budget);

// Each with a \n behind it.
absl::StatusOr<Value> JoinLines(const Value& texts, Budget& budget);

// Names with dots between them; with slashes if the first is a file's symbol.
absl::StatusOr<Value> JoinNames(const Value& names, Budget& budget);

}  // namespace tickstack::query
