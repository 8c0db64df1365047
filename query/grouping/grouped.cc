#include "query/grouping/grouped.h"

#include <algorithm>
#include <numeric>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/gather.h"
#include "query/grouping/aggregate_runner.h"
#include "query/grouping/group_aggregates.h"
#include "query/grouping/grouped_expression.h"
#include "query/language/evaluator.h"

namespace tickstack::query {
namespace {

using SharedRows = std::shared_ptr<const RowSet>;

// All rows as one group, for aggregates that need only that.
class AllInOne final : public Groups {
 public:
  explicit AllInOne(SharedRows rows) : Groups({}, 1), rows_(std::move(rows)) {}
  std::shared_ptr<const RowSet> RowsOf(size_t) const override { return rows_; }
  absl::StatusOr<const GroupNumbers*> Numbers(Budget&) override { return nullptr; }

 private:
  const SharedRows rows_;
};

// Computes an expression from its aggregates' results; nullopt if one of them has none.
absl::StatusOr<std::optional<Value>> Assemble(Context& context, const GroupedExpression& expression,
                                              std::span<const std::optional<Value>> results) {
  switch (expression.kind) {
    case GroupedExpression::Kind::kConstant:
      return *expression.constant;
    case GroupedExpression::Kind::kAggregate:
      return results[expression.call];
    case GroupedExpression::Kind::kApply:
      break;
  }
  std::vector<Term> args(expression.args.size());
  for (size_t i = args.size(); i > 0; --i) {
    TS_ASSIGN_OR_RETURN(std::optional<Value> arg,
                        Assemble(context, expression.args[i - 1], results));
    if (!arg.has_value()) return std::nullopt;
    args[i - 1] = *std::move(arg);
  }
  TS_ASSIGN_OR_RETURN(Term term, Apply(context, *expression.function, args));
  TS_ASSIGN_OR_RETURN(Value value, ToValue(std::move(term), context.budget));
  return value;
}

// Gathers the columns that an expression names. It runs first, so that they are kept for all groups
// and not freed with one group's temporaries.
absl::Status GatherNamed(const Node& node, const TableView& view, Budget& budget) {
  if (node.kind == Node::Kind::kName) {  // Names the column before the dot.
    const int column = view.Find(node.name.substr(0, node.name.find('.')));
    if (column >= 0) {
      TS_RETURN_IF_ERROR(view.columns[static_cast<size_t>(column)].Get(budget).status());
    }
  }
  for (const NodePtr& child : node.children) {
    if (child != nullptr) TS_RETURN_IF_ERROR(GatherNamed(*child, view, budget));
  }
  return absl::OkStatus();
}

// Evaluates the expression for each group, as its definition says. Atoms become a vector, vectors a
// list.
absl::StatusOr<Value> EvaluateEachGroup(Context& context, const Scope& scope, Groups& groups,
                                        const Node& node) {
  Budget& budget = context.budget;
  const auto evaluate = [&](SharedRows rows) -> absl::StatusOr<Value> {
    const Scope of_group{scope.view, std::move(rows)};
    Context inner = context.Inside(of_group);
    return EvaluateToValue(inner, node);
  };
  TS_RETURN_IF_ERROR(groups.PrepareRows(budget));
  ScratchVector<Value> items;
  TS_RETURN_IF_ERROR(budget.Charge(groups.count(), sizeof(Value)));
  items.reserve(groups.count());
  for (size_t group = 0; group < groups.count(); ++group) {
    {
      const Budget::Temporaries temporaries(budget);
      TS_ASSIGN_OR_RETURN(Value value, evaluate(groups.RowsOf(group)));
      items.push_back(std::move(value));
    }
    if (items.back().is_atom()) continue;
    TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(items.back())));
  }
  if (!items.empty()) return Collapse(std::move(items));
  // Without groups the type is that of the expression over no rows.
  TS_ASSIGN_OR_RETURN(const Value value, evaluate(std::make_shared<const RowSet>()));
  return value.is_atom() ? EmptyVector(value.type()) : Value::List({});
}

}  // namespace

absl::StatusOr<std::vector<Value>> EvaluateOverGroups(Context& context, const Scope& scope,
                                                      Groups& groups,
                                                      std::span<const Node* const> columns) {
  std::vector<AggregateCall> calls;
  std::vector<std::optional<GroupedExpression>> expressions;
  for (const Node* column : columns) {
    TS_RETURN_IF_ERROR(GatherNamed(*column, *scope.view, context.budget));
    expressions.push_back(groups.count() == 0 ? std::nullopt
                                              : CompileOverGroups(*column, *scope.view, calls));
  }
  AggregateRunner runner(context, scope, groups, calls);
  TS_RETURN_IF_ERROR(runner.Run());
  const std::vector<std::optional<Value>> results = std::move(runner).Finish();
  std::vector<Value> values;
  for (size_t i = 0; i < columns.size(); ++i) {
    std::optional<Value> value;
    if (expressions[i].has_value()) {
      TS_ASSIGN_OR_RETURN(value, Assemble(context, *expressions[i], results));
    }
    if (!value.has_value()) {
      TS_ASSIGN_OR_RETURN(value, EvaluateEachGroup(context, scope, groups, *columns[i]));
    }
    values.push_back(*std::move(value));
  }
  return values;
}

absl::StatusOr<std::optional<std::vector<Value>>> EvaluateOverFiltered(
    Context& context, const Scope& scope, const RangeFilter& filter,
    std::span<const Node* const> columns) {
  std::vector<AggregateCall> calls;
  std::vector<std::optional<GroupedExpression>> expressions;
  for (const Node* column : columns) {
    TS_RETURN_IF_ERROR(GatherNamed(*column, *scope.view, context.budget));
    expressions.push_back(CompileOverGroups(*column, *scope.view, calls));
    if (!expressions.back().has_value()) return std::nullopt;
  }
  AllInOne all(scope.rows);
  AggregateRunner runner(context, scope, all, calls);
  TS_ASSIGN_OR_RETURN(const bool done, runner.RunFiltered(filter));
  if (!done) return std::nullopt;
  const std::vector<std::optional<Value>> results = std::move(runner).Finish();
  std::vector<Value> atoms;
  for (const std::optional<GroupedExpression>& expression : expressions) {
    TS_ASSIGN_OR_RETURN(const std::optional<Value> value, Assemble(context, *expression, results));
    if (!value.has_value() || value->count() != 1) return std::nullopt;
    atoms.push_back(ItemAt(*value, 0));
  }
  return atoms;
}

absl::StatusOr<ScratchVector<uint32_t>> LastRowsOf(const RowSet& rows, Groups& groups,
                                                   Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(groups.count(), sizeof(uint32_t) + sizeof(int64_t)));
  if (groups.ends() != nullptr) return groups.ends()->last_rows;
  TS_ASSIGN_OR_RETURN(const GroupNumbers* numbers, groups.Numbers(budget));
  TS_RETURN_IF_ERROR(budget.Charge(numbers->slots, kAccumulatorBytes));
  const auto last = MakeAccumulator(AggregateKind::kLast, Type::kList, Type::kList, numbers->slots);
  TS_RETURN_IF_ERROR(last->AddRows(0, numbers->of_row, {}, budget));
  return RowsAtPositions(rows, last->Finish(numbers->order));
}

}  // namespace tickstack::query
