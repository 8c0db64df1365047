#pragma once

// Recognises forms of conditions that have a kernel.

#include <cstddef>
#include <optional>

#include "query/columns/table_view.h"
#include "query/kernels/filter.h"
#include "query/language/ast.h"
#include "table/types.h"

namespace tickstack::query {

// Returns the condition that a function makes of a column and a constant; nullopt if none.
std::optional<Condition> ConditionOf(const Node& function);

// True if the expression names no column, so that it is the same for all rows in scope.
bool NamesNoColumn(const Node& node, const TableView& view);

// `time.minute op right`: a condition on the time of day of a column. `right` names no column.
struct TimeOfDayCondition {
  size_t column;
  Type part;  // Such as kMinute.
  Condition condition;
  const Node* right;
};
std::optional<TimeOfDayCondition> TimeOfDayConditionOf(const Node& node, const TableView& view);

}  // namespace tickstack::query
