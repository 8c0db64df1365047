#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/language/ast.h"

namespace tickstack::query {

// Parses the expressions of a text, which `;` separates. An empty expression becomes nullptr.
// Lambdas in the text belong to the namespace `space`. Nodes and errors have positions in the text.
//
// The grammar is q's: there is no precedence, everything to the right of a function is its
// argument, and of two adjacent terms the left one is applied to the right one.
//
// Errors: `nyi` with the token for q outside of the subset; q's parse error (the token, or the open
//         bracket) for a text that is not valid q; `stack` for more than max_depth nested
//         brackets or successive operators.
absl::StatusOr<std::vector<NodePtr>> Parse(std::string_view text, int max_depth,
                                           std::string_view space = ".");

// Parses a text during an evaluation, such as the argument of `value`. The bounds are those of the
// budget, which is charged. Nodes and errors have no positions.
absl::StatusOr<std::vector<NodePtr>> ParseInside(std::string_view text, Budget& budget,
                                                 std::string_view space = ".");

// Returns the name of the column for an expression that is written without a name.
std::string NameOfColumn(const Node& node);

}  // namespace tickstack::query
