#pragma once

// An expression over groups, as far as it can be evaluated for all of them at once: aggregates of
// expressions that go item by item, constants, and functions of those that go item by item.

#include <optional>
#include <vector>

#include "query/columns/table_view.h"
#include "query/grouping/group_aggregates.h"
#include "query/language/ast.h"

namespace tickstack::query {

// One aggregate that some expression needs.
struct AggregateCall {
  AggregateKind kind;
  const Node* weights = nullptr;  // The left column of an aggregate of two.
  const Node* values = nullptr;
};

struct GroupedExpression {
  enum class Kind { kConstant, kAggregate, kApply };
  Kind kind = Kind::kConstant;
  const Value* constant = nullptr;
  size_t call = 0;  // Which of the calls.
  const Builtin* function = nullptr;
  std::vector<GroupedExpression> args;
};

// Adds the aggregates that `node` needs to `calls`. nullopt: it is of another form, and `calls` is
// as before. `view` has the columns that names stand for.
std::optional<GroupedExpression> CompileOverGroups(const Node& node, const TableView& view,
                                                   std::vector<AggregateCall>& calls);

// The node is nothing but the name of a column.
bool IsPlainColumn(const Node& node, const TableView& view);

}  // namespace tickstack::query
