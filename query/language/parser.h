#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/language/ast.h"

namespace tickstack::query {

// Parses the expressions of a text, separated by `;`. A null pointer is an empty expression.
//
// The grammar is q's: there is no precedence, everything to the right of a function is its
// argument, and of two adjacent terms the left one is applied to the right one. What q has and the
// subset lacks is nyi with its token; what q lacks as well is q's parse error (the token, or the
// open bracket). `stack` beyond max_depth levels of brackets, or of successive operators. Lambdas
// in the text belong to the namespace `space`. Nodes and errors have positions in the text.
absl::StatusOr<std::vector<NodePtr>> Parse(std::string_view text, int max_depth,
                                           std::string_view space = ".");

// The same for a text that an evaluation read or made: within its limits, charged, and without
// positions.
absl::StatusOr<std::vector<NodePtr>> ParseInside(std::string_view text, Budget& budget,
                                                 std::string_view space = ".");

// Returns the column name that an expression without a name gets.
std::string NameOfColumn(const Node& node);

}  // namespace tickstack::query
