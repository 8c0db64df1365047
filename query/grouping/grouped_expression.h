#pragma once

// An expression over groups, as far as it can be evaluated for all groups together: aggregates of
// itemwise expressions, constants, and itemwise functions of these.

#include <optional>
#include <vector>

#include "query/columns/table_view.h"
#include "query/grouping/group_aggregates.h"
#include "query/language/ast.h"

namespace tickstack::query {

// An aggregate that some expression needs.
struct AggregateCall {
  AggregateKind kind;
  const Node* weights = nullptr;  // The left column of an aggregate of two columns.
  const Node* values = nullptr;
};

struct GroupedExpression {
  enum class Kind { kConstant, kAggregate, kApply };
  Kind kind = Kind::kConstant;
  const Value* constant = nullptr;
  size_t call = 0;  // Index of the call.
  const Builtin* function = nullptr;
  std::vector<GroupedExpression> args;
};

// Adds the aggregates that `node` needs to `calls`. nullopt if it has another form; `calls` is
// unchanged then. `view` has the columns that names mean.
std::optional<GroupedExpression> CompileOverGroups(const Node& node, const TableView& view,
                                                   std::vector<AggregateCall>& calls);

// True if the node is just the name of a column.
bool IsPlainColumn(const Node& node, const TableView& view);

}  // namespace tickstack::query
