#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "query/language/ast.h"
#include "query/language/term.h"

namespace tickstack::query {

// Evaluates an expression: arguments from the right, then the function.
//
// Recursion is bounded twice: an expression's depth by the parser, and expressions within calls by
// Budget::Level, so that no text ends the thread's stack. Errors: `stack` for the latter.
absl::StatusOr<Term> EvaluateNode(Context& context, const Node& node);

// The same, copied to a value.
absl::StatusOr<Value> EvaluateToValue(Context& context, const Node& node);

// Evaluates the statements in order and returns the last value, or what one of them returned with
// `:x`. What a statement charged is given back when the next one begins.
absl::StatusOr<Term> EvaluateStatements(Context& context, std::span<const NodePtr> statements);

}  // namespace tickstack::query
