#pragma once

// The columns of a query with `by`.

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "query/grouping/group.h"
#include "query/kernels/filter.h"
#include "query/language/ast.h"
#include "query/language/term.h"

namespace tickstack::query {

// Evaluates each of `columns` for every group: one item a group, which is an atom or a vector of
// it. `scope` has the rows that the groups are of; for groups of symbols (GroupsOfSymbols) only its
// columns are used.
//
// By definition an expression is evaluated once a group, with the group's rows in scope. What is
// made of aggregates over items, and of items over such aggregates, is not:
//
//   (max price-bid)-min price     max, min: of expressions that go item by item; one pass over the
//                                 rows, accumulated by group (group_aggregates.h)
//                                 (...)-...: item by item over the groups
//   first x, last x, count x      out of the groups' ends, where an index has them: no row is read
//
// The aggregates of all columns run side by side on the workers. Everything else, and columns whose
// types have no accumulator, takes the way of the definition.
//
// Differences to the definition: sums, averages and weighted averages of floats are added in
// another order, and so agree within rounding. Which error is reported first, if several groups
// have one.
absl::StatusOr<std::vector<Value>> EvaluateOverGroups(Context& context, const Scope& scope,
                                                      Groups& groups,
                                                      std::span<const Node* const> columns);

// Evaluates `columns` over the rows that a filter leaves of the scope's, which are a range: an atom
// each. The rows are never listed. nullopt: an expression is not made of aggregates that see each
// row once, or the filter leaves no row.
// Cost: bound by memory: reads the filter's column, and the selected rows of the others.
absl::StatusOr<std::optional<std::vector<Value>>> EvaluateOverFiltered(
    Context& context, const Scope& scope, const RangeFilter& filter,
    std::span<const Node* const> columns);

// The row number of each group's last row.
absl::StatusOr<ScratchVector<uint32_t>> LastRowsOf(const RowSet& rows, Groups& groups,
                                                   Budget& budget);

}  // namespace tickstack::query
