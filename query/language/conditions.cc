#include "query/language/conditions.h"

#include <algorithm>
#include <string_view>

#include "query/kernels/casts.h"
#include "query/kernels/type_rules.h"
#include "query/language/term.h"

namespace tickstack::query {

std::optional<Condition> ConditionOf(const Node& function) {
  if (function.kind != Node::Kind::kFunction) return std::nullopt;
  const std::string_view name = function.function->name;
  using Kind = Condition::Kind;
  if (name == "in") return Condition{Kind::kIn};
  if (name == "within") return Condition{Kind::kWithin};
  if (name == "like") return Condition{Kind::kLike};
  if (name == "=") return Condition{Kind::kCompare, Comparison::kEqual};
  if (name == "<>") return Condition{Kind::kCompare, Comparison::kNotEqual};
  if (name == "<") return Condition{Kind::kCompare, Comparison::kLess};
  if (name == ">") return Condition{Kind::kCompare, Comparison::kGreaterThan};
  if (name == "<=") return Condition{Kind::kCompare, Comparison::kLessOrEqual};
  if (name == ">=") return Condition{Kind::kCompare, Comparison::kGreaterOrEqual};
  return std::nullopt;
}

bool NamesNoColumn(const Node& node, const TableView& view) {
  switch (node.kind) {
    case Node::Kind::kConstant:
    case Node::Kind::kFunction:
    case Node::Kind::kClosure:  // A lambda does not see the columns around it.
      return true;
    case Node::Kind::kName:
      return node.name != "i" && view.Find(node.name) < 0 &&
             view.Find(std::string_view(node.name).substr(0, node.name.find('.'))) < 0;
    case Node::Kind::kApply:
    case Node::Kind::kList:
      return std::ranges::all_of(node.children, [&](const NodePtr& child) {
        return child == nullptr || NamesNoColumn(*child, view);
      });
    case Node::Kind::kDerived:
    case Node::Kind::kTable:
    case Node::Kind::kCond:
    case Node::Kind::kBlock:
    case Node::Kind::kIf:
    case Node::Kind::kDo:
    case Node::Kind::kWhile:
    case Node::Kind::kAssign:
    case Node::Kind::kView:
    case Node::Kind::kReturn:
    case Node::Kind::kSignal:
    case Node::Kind::kQuery:
      break;
  }
  return false;
}

std::optional<TimeOfDayCondition> TimeOfDayConditionOf(const Node& node, const TableView& view) {
  const auto is_missing = [](const NodePtr& child) { return child == nullptr; };
  if (node.kind != Node::Kind::kApply || node.children.size() != 3 ||
      std::ranges::any_of(node.children, is_missing)) {
    return std::nullopt;
  }
  const std::optional<Condition> condition = ConditionOf(*node.children[0]);
  const Node &left = *node.children[1], &right = *node.children[2];
  if (!condition.has_value() || left.kind != Node::Kind::kName || !NamesNoColumn(right, view)) {
    return std::nullopt;
  }
  const std::string_view name = left.name;
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos || view.Find(name) >= 0) return std::nullopt;
  const int column = view.Find(name.substr(0, dot));
  const std::optional<CastTarget> part = FindCastTarget(name.substr(dot + 1));
  if (column < 0 || !part.has_value() || part->part.has_value() || !IsTimeOfDay(part->type)) {
    return std::nullopt;
  }
  return TimeOfDayCondition{static_cast<size_t>(column), part->type, *condition, &right};
}

}  // namespace tickstack::query
