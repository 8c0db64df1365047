#pragma once

// Converts expressions to parse trees (code.kx.com/q/ref/parse), the reverse of parse_tree.h.
// Evaluating the tree of an expression gives the same result as evaluating the expression.
//
//   a+1             (+;`a;1)               a name becomes a symbol, a symbol an enlisted symbol
//   (a;1)           (enlist;`a;1)
//   +/x             ((/;+);`x)
//   a:1; a[0]+:1    (";";(:;`a;1);(+:;(`a;0);1))
//   $[a;b;c]        ($;`a;`b;`c)           if[a;b]: (`if;`a;`b)
//   ([]a:x)         (flip;(!;,,`a;(enlist;`x)))
//   select a from t where b, c             (?;`t;,(`b;`c);0b;(,`a)!,`a)
//
// Differences from kdb+: a function that is a built-in here, but not a primitive of q, appears by
// its name, where kdb+ has its source; and the literal of a keyed table with n key columns is
// (!;n;(flip;...)).

#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/language/ast.h"
#include "table/value.h"

namespace tickstack::query {

// Returns the tree of a text's statements. Errors: `nyi` for a statement that has no tree, such as
// a signal, or an assignment through a comparison like `a<>:1`; those of copying a function.
absl::StatusOr<Value> TreeOfStatements(std::span<const NodePtr> statements, Budget& budget);

// Returns the tree of one expression, in which constants may be any values.
absl::StatusOr<Value> TreeOfNode(const Node& node, Budget& budget);
// Returns the tree of a query: (?;source;conditions;groups;columns), and its limit and order if it
// has them.
absl::StatusOr<Value> TreeOfQuery(const Query& query, Budget& budget);
// Returns a tree that means a built-in, which must exist.
absl::StatusOr<Value> TreeOfBuiltin(std::string_view name, Budget& budget);
// Returns a tree that evaluates to the value itself.
Value QuotedTree(Value value);
// Returns the tree with these items. Symbols alone become a vector, as in q.
Value TreeOfItems(std::vector<Value> items);

}  // namespace tickstack::query
