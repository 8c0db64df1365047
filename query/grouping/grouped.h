#pragma once

// Evaluates the columns of a query with `by`.

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

// Evaluates each of `columns` for every group, and returns a vector or list for each column, with
// an item per group. `scope` has the rows of the groups; for groups of symbols (GroupsOfSymbols)
// only its columns are used.
//
// By definition, an expression is evaluated once per group, with the group's rows in scope.
// Expressions that combine aggregates of itemwise expressions by itemwise functions are evaluated
// together instead:
//
//   (max price-bid)-min price     max and min are aggregates of itemwise expressions: they are
//                                 computed for all groups in one pass over the rows
//                                 (group_aggregates.h). The difference of their results is then
//                                 computed item by item over the groups.
//   first x, last x, count x      if an index has the first and last row and the number of rows of
//                                 each group, no column is read to find them
//
// The aggregates of all columns run concurrently on all threads. Other expressions, and aggregates
// of types without an accumulator, are evaluated once per group.
//
// The results may differ from those of one evaluation per group in two ways. Floats are added in
// another order, so sums, averages, variances and the like agree within rounding. And if several
// groups have an error, the error of another group may be returned.
absl::StatusOr<std::vector<Value>> EvaluateOverGroups(Context& context, const Scope& scope,
                                                      Groups& groups,
                                                      std::span<const Node* const> columns);

// Evaluates `columns` over the rows of the scope that pass a filter, and returns one atom per
// column. The scope must be a range of rows. The passing rows are not collected first: each block
// is filtered and added up at once. nullopt if no row passes, or if a column needs an aggregate
// that AggregateRunner::RunFiltered does not support.
// Cost: bound by memory. Reads the filter's column, and the other columns where rows pass.
absl::StatusOr<std::optional<std::vector<Value>>> EvaluateOverFiltered(
    Context& context, const Scope& scope, const RangeFilter& filter,
    std::span<const Node* const> columns);

// Returns the row number of each group's last row.
absl::StatusOr<ScratchVector<uint32_t>> LastRowsOf(const RowSet& rows, Groups& groups,
                                                   Budget& budget);

}  // namespace tickstack::query
