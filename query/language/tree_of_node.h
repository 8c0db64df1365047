#pragma once

// Expressions as parse trees (code.kx.com/q/ref/parse): what parse_tree.h reads. To evaluate the
// tree of an expression is to evaluate the expression.
//
//   a+1             (+;`a;1)               a name is a symbol, a symbol an enlisted one
//   (a;1)           (enlist;`a;1)
//   +/x             ((/;+);`x)
//   a:1; a[0]+:1    (";";(:;`a;1);(+:;(`a;0);1))
//   $[a;b;c]        ($;`a;`b;`c)           if[a;b]: (`if;`a;`b)
//   ([]a:x)         (flip;(!;,,`a;(enlist;`x)))
//   select a from t where b, c             (?;`t;,(`b;`c);0b;(,`a)!,`a)
//
// Differences from kdb+: a function that is not a primitive here is its name where kdb+ shows its
// source, and a keyed table literal is (!;n;(flip;...)) with its number n of key columns.

#include <span>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/language/ast.h"
#include "table/value.h"

namespace tickstack::query {

// The tree of a text's statements. Errors: `nyi` for what has no tree, a signal or an assignment
// through a comparison such as `a<>:1`; those of copying out a function.
absl::StatusOr<Value> TreeOfStatements(std::span<const NodePtr> statements, Budget& budget);

}  // namespace tickstack::query
