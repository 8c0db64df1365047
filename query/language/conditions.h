#pragma once

// What a condition of a query is, by its form: which of them a kernel may know.

#include <cstddef>
#include <optional>

#include "query/columns/table_view.h"
#include "query/kernels/filter.h"
#include "query/language/ast.h"
#include "table/types.h"

namespace tickstack::query {

// The condition that a function makes between a column and a constant; nullopt: none.
std::optional<Condition> ConditionOf(const Node& function);

// Names no column, so that it is the same whichever rows are in scope.
bool IsOfNoRows(const Node& node, const TableView& view);

// `time.minute op right`: a condition on the time of day of a column. `right` is of no rows.
struct TimeOfDayCondition {
  size_t column;
  Type part;  // Such as kMinute.
  Condition condition;
  const Node* right;
};
std::optional<TimeOfDayCondition> TimeOfDayConditionOf(const Node& node, const TableView& view);

}  // namespace tickstack::query
