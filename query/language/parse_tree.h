#pragma once

// Parse trees: expressions as values (code.kx.com/q/basics/parsetrees). A symbol is a name, a list
// is its first item applied to the others, a list of one item is that item itself, and all else
// stands for itself. A tree becomes the same nodes that a text does, so that both mean the same and
// have the same bounds.

#include <span>

#include "absl/status/statusor.h"
#include "query/language/ast.h"
#include "query/language/term.h"

namespace tickstack::query {

// Errors: `stack` for a tree that is deeper than a text may be, `nyi` for a function that the
//         subset has not.
absl::StatusOr<NodePtr> NodeOfTree(const Value& tree, Budget& budget);

// ?[t;c;b;a], ?[t;c;b;a;n] and ?[t;c;b;a;n;o] as the query that they are; `t` is a table, or the
// name of one.
//
//   c  a list of conditions
//   b  0b: no groups; 1b: distinct; a dictionary of names and groups: `by`; (): exec; a name or a
//      tree: exec by
//   a  a dictionary of names and columns; (): all; of exec also one column alone
//   n  as in select[n]
//   o  a list of iasc or idesc and an expression: as in select[<x]
absl::StatusOr<Term> FunctionalSelect(Context& context, std::span<Term> args);

// ![t;c;b;a]: update if `a` is a dictionary, delete of the columns that it names, or of rows if it
// names none.
absl::StatusOr<Term> FunctionalUpdate(Context& context, std::span<Term> args);

}  // namespace tickstack::query
