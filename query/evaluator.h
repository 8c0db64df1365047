#pragma once

#include "absl/status/statusor.h"
#include "query/ast.h"
#include "query/term.h"

namespace tickstack::query {

// Evaluates an expression: arguments from the right, then the function. Recursion is bounded by the
// expression's depth, which the parser bounds.
absl::StatusOr<Term> EvaluateNode(Context& context, const Node& node);

// The same, copied out.
absl::StatusOr<Value> EvaluateToValue(Context& context, const Node& node);

}  // namespace tickstack::query
