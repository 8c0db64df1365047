#pragma once

// Parse trees: expressions as values (code.kx.com/q/basics/parsetrees). A symbol is a name, a list
// is its first item applied to the others, a list of one item is that item itself, and everything
// else is a constant. A tree becomes the same nodes as a text, so both have the same meaning and
// bounds.

#include <span>

#include "absl/status/statusor.h"
#include "query/language/ast.h"
#include "query/language/term.h"

namespace tickstack::query {

// Errors: `stack` for a tree that is deeper than a text may be, `nyi` for a function outside of the
// subset.
absl::StatusOr<NodePtr> NodeOfTree(const Value& tree, Budget& budget);

// Returns ?[t;c;b;a], ?[t;c;b;a;n] and ?[t;c;b;a;n;o] as the corresponding query; `t` is a table or
// its name.
//
//   c  a list of conditions
//   b  0b: no groups; 1b: distinct; a dictionary of names and groups: `by`; (): exec; a name or a
//      tree: exec by
//   a  a dictionary of names and columns; (): all; for exec also a single column
//   n  as in select[n]
//   o  a list of iasc or idesc and an expression: as in select[<x]
absl::StatusOr<Term> FunctionalSelect(Context& context, std::span<Term> args);

// ![t;c;b;a]: update if `a` is a dictionary; otherwise deletes the columns that it names, or rows
// if it names none.
absl::StatusOr<Term> FunctionalUpdate(Context& context, std::span<Term> args);

}  // namespace tickstack::query
