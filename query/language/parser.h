#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/language/ast.h"

namespace tickstack::query {

// Parses the expressions of a text, separated by `;`. A null pointer stands for an empty one.
//
// The grammar is q's: no precedence, everything to the right of a function is its argument; two
// terms side by side apply the left one to the right one. What q has and the subset has not is
// nyi with its token; what q has not either is q's parse error (the token, or the open bracket).
// `stack` beyond max_depth levels, of brackets or of operators in a row.
// The lambdas in it are of the namespace `space`.
absl::StatusOr<std::vector<NodePtr>> Parse(std::string_view text, int max_depth,
                                           std::string_view space = ".");

// The same of a text that an evaluation came upon, or made: within its limits, and charged.
absl::StatusOr<std::vector<NodePtr>> ParseInside(std::string_view text, Budget& budget,
                                                 std::string_view space = ".");

// The name of a column that an expression without one gives it.
std::string NameOfColumn(const Node& node);

}  // namespace tickstack::query
