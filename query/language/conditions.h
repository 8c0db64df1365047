#pragma once

// Recognises conditions of `where` that a kernel can evaluate (filter.h).

#include <cstddef>
#include <optional>

#include "query/columns/table_view.h"
#include "query/kernels/filter.h"
#include "query/language/ast.h"
#include "table/types.h"

namespace tickstack::query {

// Returns the condition for a function such as `<` or `in`, applied to a column and a constant;
// nullopt if the function has no kernel.
std::optional<Condition> ConditionOf(const Node& function);

// True if the expression names no column, so that it is the same for all rows in scope.
bool NamesNoColumn(const Node& node, const TableView& view);

// `time.minute op right`: a condition on the time of day of a column. `right` is an expression that
// names no column.
struct TimeOfDayCondition {
  size_t column;
  Type part;  // The type of the time of day, such as kMinute.
  Condition condition;
  const Node* right;
};
// Returns nullopt if the node is not such a condition.
std::optional<TimeOfDayCondition> TimeOfDayConditionOf(const Node& node, const TableView& view);

}  // namespace tickstack::query
