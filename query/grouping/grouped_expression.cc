#include "query/grouping/grouped_expression.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace tickstack::query {
namespace {

constexpr std::pair<std::string_view, AggregateKind> kAggregates[] = {
    {"count", AggregateKind::kCount},
    {"first", AggregateKind::kFirst},
    {"last", AggregateKind::kLast},
    {"sum", AggregateKind::kSum},
    {"avg", AggregateKind::kAvg},
    {"min", AggregateKind::kMin},
    {"max", AggregateKind::kMax},
    {"wavg", AggregateKind::kWeightedAvg},
    {"wsum", AggregateKind::kWeightedSum},
    {"var", AggregateKind::kVariance},
    {"dev", AggregateKind::kDeviation},
    {"svar", AggregateKind::kSampleVariance},
    {"sdev", AggregateKind::kSampleDeviation},
    {"cov", AggregateKind::kCovariance},
    {"scov", AggregateKind::kSampleCovariance},
    {"cor", AggregateKind::kCorrelation},
};

const Builtin* FunctionOf(const Node& node) {
  const auto is_missing = [](const NodePtr& child) { return child == nullptr; };
  if (node.kind != Node::Kind::kApply || std::ranges::any_of(node.children, is_missing)) {
    return nullptr;
  }
  const Node& function = *node.children[0];
  return function.kind == Node::Kind::kFunction ? function.function : nullptr;
}

bool IsAtom(const Node& node) { return node.kind == Node::Kind::kConstant && node.value.is_atom(); }

// Returns whether the node is a part of a column's items, such as `time.minute`.
bool IsPartOfColumn(const Node& node, const TableView& view) {
  const size_t dot = node.name.find('.');
  return node.kind == Node::Kind::kName && dot != std::string::npos && view.Find(node.name) < 0 &&
         view.Find(std::string_view(node.name).substr(0, dot)) >= 0;
}

// Returns whether the expression has an item for each row, made of that row's items.
bool GoesByItem(const Node& node, const TableView& view) {
  if (IsPlainColumn(node, view)) {
    const auto column = static_cast<size_t>(view.Find(node.name));
    return view.columns[column].type() != Type::kList;
  }
  if (IsPartOfColumn(node, view)) return true;
  const Builtin* const function = FunctionOf(node);
  if (function == nullptr) return false;
  const std::span<const NodePtr> args = std::span(node.children).subspan(1);
  const auto by_item = [&](const NodePtr& arg) { return GoesByItem(*arg, view); };
  switch (function->depends_on) {
    case Builtin::Items::kAnyItem:
      return false;
    case Builtin::Items::kSameItem:
      return std::ranges::any_of(args, by_item) &&
             std::ranges::all_of(args,
                                 [&](const NodePtr& arg) { return IsAtom(*arg) || by_item(arg); });
    case Builtin::Items::kSameItemOfTheFirst:
      return args.size() == 2 && by_item(args[0]) && args[1]->kind == Node::Kind::kConstant;
  }
  return false;
}

std::optional<AggregateCall> CallOf(const Node& node, const TableView& view) {
  const Builtin* const function = FunctionOf(node);
  if (function == nullptr) return std::nullopt;
  const auto found = std::ranges::find(kAggregates, function->name,
                                       [](const auto& aggregate) { return aggregate.first; });
  if (found == std::end(kAggregates)) return std::nullopt;
  const AggregateKind kind = found->second;
  const bool two = IsOfTwoColumns(kind);
  if (node.children.size() != (two ? 3 : 2)) return std::nullopt;
  const Node& values = *node.children.back();
  switch (kind) {
    case AggregateKind::kCount:
      // Counting rows needs no items.
      if (!GoesByItem(values, view) && !IsPlainColumn(values, view) &&
          !(values.kind == Node::Kind::kName && values.name == "i")) {
        return std::nullopt;
      }
      break;
    case AggregateKind::kFirst:
    case AggregateKind::kLast:
      if (!IsPlainColumn(values, view)) return std::nullopt;
      break;
    case AggregateKind::kSum:
    case AggregateKind::kAvg:
    case AggregateKind::kMin:
    case AggregateKind::kMax:
    case AggregateKind::kWeightedAvg:
    case AggregateKind::kWeightedSum:
    case AggregateKind::kVariance:
    case AggregateKind::kDeviation:
    case AggregateKind::kSampleVariance:
    case AggregateKind::kSampleDeviation:
    case AggregateKind::kCovariance:
    case AggregateKind::kSampleCovariance:
    case AggregateKind::kCorrelation:
      if (!GoesByItem(values, view)) return std::nullopt;
      if (two && !GoesByItem(*node.children[1], view)) return std::nullopt;
  }
  return AggregateCall{kind, two ? node.children[1].get() : nullptr, &values};
}

std::optional<GroupedExpression> Compile(const Node& node, const TableView& view,
                                         std::vector<AggregateCall>& calls) {
  GroupedExpression expression;
  if (IsAtom(node)) {
    expression.constant = &node.value;
    return expression;
  }
  if (const std::optional<AggregateCall> call = CallOf(node, view)) {
    expression.kind = GroupedExpression::Kind::kAggregate;
    expression.call = calls.size();
    calls.push_back(*call);
    return expression;
  }
  const Builtin* const function = FunctionOf(node);
  if (function == nullptr || function->depends_on != Builtin::Items::kSameItem) {
    return std::nullopt;
  }
  expression.kind = GroupedExpression::Kind::kApply;
  expression.function = function;
  for (const NodePtr& arg : std::span(node.children).subspan(1)) {
    std::optional<GroupedExpression> compiled = Compile(*arg, view, calls);
    if (!compiled.has_value()) return std::nullopt;
    expression.args.push_back(*std::move(compiled));
  }
  const bool constant = std::ranges::all_of(expression.args, [](const GroupedExpression& arg) {
    return arg.kind == GroupedExpression::Kind::kConstant;
  });
  if (constant) return std::nullopt;
  return expression;
}

}  // namespace

bool IsPlainColumn(const Node& node, const TableView& view) {
  return node.kind == Node::Kind::kName && view.Find(node.name) >= 0;
}

std::optional<GroupedExpression> CompileOverGroups(const Node& node, const TableView& view,
                                                   std::vector<AggregateCall>& calls) {
  const size_t before = calls.size();
  std::optional<GroupedExpression> expression = Compile(node, view, calls);
  // A constant has no item for each group.
  if (expression.has_value() && expression->kind == GroupedExpression::Kind::kConstant) {
    expression.reset();
  }
  if (!expression.has_value()) calls.resize(before);
  return expression;
}

}  // namespace tickstack::query
