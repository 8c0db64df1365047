#pragma once

// Parse trees: expressions as values (code.kx.com/q/basics/parsetrees). A symbol means the variable
// of that name. A list means its first item applied to the other items, and a list of one item
// means that item as a constant. Any other value is a constant. A tree is converted to the same
// nodes as a text, so both have the same meaning and the same bounds.

#include <span>

#include "absl/status/statusor.h"
#include "query/language/ast.h"
#include "query/language/term.h"

namespace tickstack::query {

// Converts a tree. Errors: `stack` for a tree that is deeper than a text may be, `nyi` for a
// function outside of the subset.
absl::StatusOr<NodePtr> NodeOfTree(const Value& tree, Budget& budget);

// Evaluates ?[t;c;b;a], ?[t;c;b;a;n] or ?[t;c;b;a;n;o], the functional form of select and exec.
//
//   t  a table or its name
//   c  a list of conditions
//   b  0b: select without groups; 1b: select distinct; a dictionary from names to groups: select
//      by; (): exec; a name or a tree: exec by
//   a  a dictionary from names to columns; (): all columns; for exec also a single column
//   n  the limit, as in select[n]
//   o  a list of iasc or idesc and an expression: the order, as in select[<x]
absl::StatusOr<Term> FunctionalSelect(Context& context, std::span<Term> args);

// Evaluates ![t;c;b;a]. It is an update if `a` is a dictionary. Otherwise it deletes the columns
// that `a` names or, if it names none, the rows that meet the conditions.
absl::StatusOr<Term> FunctionalUpdate(Context& context, std::span<Term> args);

}  // namespace tickstack::query
