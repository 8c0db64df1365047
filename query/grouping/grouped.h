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

// Evaluates each of `columns` for every group. The result has one item per group: an atom, or an
// item of a vector. `scope` has the rows of the groups; for groups of symbols (GroupsOfSymbols)
// only its columns are used.
//
// By definition, an expression is evaluated once per group, with the group's rows in scope.
// Expressions that combine aggregates of itemwise expressions by itemwise functions are evaluated
// together instead:
//
//   (max price-bid)-min price     max, min: of itemwise expressions; one pass over the rows,
//                                 accumulated by group (group_aggregates.h)
//                                 (...)-...: item by item over the groups
//   first x, last x, count x      from the groups' ends, if an index has them: no row is read
//
// The aggregates of all columns run concurrently on the workers. Everything else, and columns whose
// types have no accumulator, is evaluated by the definition.
//
// Differences from the definition: sums, averages and weighted averages of floats are added in
// another order, so they agree within rounding; and if several groups have an error, another one
// may be reported.
absl::StatusOr<std::vector<Value>> EvaluateOverGroups(Context& context, const Scope& scope,
                                                      Groups& groups,
                                                      std::span<const Node* const> columns);

// Evaluates `columns` over the rows of the scope, which are a range, that pass a filter: one atom
// per column. The rows are never listed. nullopt if an expression does not consist of aggregates
// that see each row once, or if no row passes.
// Cost: bound by memory: reads the filter's column, and the selected rows of the others.
absl::StatusOr<std::optional<std::vector<Value>>> EvaluateOverFiltered(
    Context& context, const Scope& scope, const RangeFilter& filter,
    std::span<const Node* const> columns);

// Returns the number of each group's last row.
absl::StatusOr<ScratchVector<uint32_t>> LastRowsOf(const RowSet& rows, Groups& groups,
                                                   Budget& budget);

}  // namespace tickstack::query
