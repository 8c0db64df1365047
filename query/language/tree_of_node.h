#pragma once

// Converts expressions to parse trees (code.kx.com/q/ref/parse), which parse_tree.h reads.
// Evaluating the tree of an expression is the same as evaluating the expression.
//
//   a+1             (+;`a;1)               a name becomes a symbol, a symbol an enlisted symbol
//   (a;1)           (enlist;`a;1)
//   +/x             ((/;+);`x)
//   a:1; a[0]+:1    (";";(:;`a;1);(+:;(`a;0);1))
//   $[a;b;c]        ($;`a;`b;`c)           if[a;b]: (`if;`a;`b)
//   ([]a:x)         (flip;(!;,,`a;(enlist;`x)))
//   select a from t where b, c             (?;`t;,(`b;`c);0b;(,`a)!,`a)
//
// Differences from kdb+: a function that is not a primitive here appears by its name, where kdb+
// shows its source; and a keyed table literal is (!;n;(flip;...)) with its number n of key columns.

#include <span>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/language/ast.h"
#include "table/value.h"

namespace tickstack::query {

// Returns the tree of a text's statements. Errors: `nyi` for statements that have no tree, such as
// a signal, or an assignment through a comparison like `a<>:1`; errors of copying a function.
absl::StatusOr<Value> TreeOfStatements(std::span<const NodePtr> statements, Budget& budget);

}  // namespace tickstack::query
