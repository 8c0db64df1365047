#pragma once

// An expression that can be evaluated for all groups together. It consists of aggregates of
// itemwise expressions, constants, and itemwise functions of these.

#include <optional>
#include <vector>

#include "query/columns/table_view.h"
#include "query/grouping/group_aggregates.h"
#include "query/language/ast.h"

namespace tickstack::query {

// An aggregate that at least one expression needs.
struct AggregateCall {
  AggregateKind kind;
  const Node* weights = nullptr;  // The left column of an aggregate of two columns.
  const Node* values = nullptr;
};

struct GroupedExpression {
  enum class Kind { kConstant, kAggregate, kApply };
  Kind kind = Kind::kConstant;
  const Value* constant = nullptr;    // For kConstant.
  size_t call = 0;                    // For kAggregate: its index among the calls.
  const Builtin* function = nullptr;  // For kApply, with `args`.
  std::vector<GroupedExpression> args;
};

// Converts `node`, and adds the aggregates that it needs to `calls`. Returns nullopt, and does not
// change `calls`, if `node` does not have this form. `view` has the columns that names can mean.
std::optional<GroupedExpression> CompileOverGroups(const Node& node, const TableView& view,
                                                   std::vector<AggregateCall>& calls);

// True if the node is just the name of a column.
bool IsPlainColumn(const Node& node, const TableView& view);

}  // namespace tickstack::query
