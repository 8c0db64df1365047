#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "query/language/ast.h"
#include "query/language/term.h"

namespace tickstack::query {

// Evaluates an expression: its arguments from the right, then the function.
//
// Recursion is bounded, so that no request can overflow the thread's stack: the parser bounds the
// depth of an expression, and Budget::Level that of calls. Errors: `stack` for too many levels of
// calls, and those of the functions.
absl::StatusOr<Term> EvaluateNode(Context& context, const Node& node);

// Evaluates an expression and copies the result to a value.
absl::StatusOr<Value> EvaluateToValue(Context& context, const Node& node);

// Evaluates statements in order. Returns the value of the last one, or of `:x` in one of them,
// which ends the evaluation. The charges of a statement are given back when the next one begins.
absl::StatusOr<Term> EvaluateStatements(Context& context, std::span<const NodePtr> statements);

}  // namespace tickstack::query
