#include "query/remote/split_aggregates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "query/language/node_copy.h"
#include "query/language/variables.h"
#include "query/remote/remote_table.h"
#include "query/remote/sendable.h"

namespace tickstack::query {
namespace {

bool NamesDate(const Node& node) {
  if (node.kind == Node::Kind::kName)
    return node.name.substr(0, node.name.find('.')) == kDateColumn;
  return std::ranges::any_of(
      node.children, [](const NodePtr& child) { return child != nullptr && NamesDate(*child); });
}

bool IsDate(const Node& node) { return node.kind == Node::Kind::kName && node.name == kDateColumn; }

class Splitter {
 public:
  Splitter(const Query& query, std::span<const std::string> columns)
      : query_(query), columns_(columns) {}

  std::optional<SplitQuery> Run() {
    const bool reads = query_.verb == Query::Verb::kSelect || query_.is_exec();
    if (!reads || query_.columns.empty() || query_.limit != nullptr || query_.order != nullptr) {
      return std::nullopt;
    }
    split_.of_part = std::make_unique<Query>();
    split_.of_results = std::make_unique<Query>();
    split_.of_results->verb = query_.verb;
    if (query_.distinct) {
      if (query_.grouped || !SplitDistinct()) return std::nullopt;
      return std::move(split_);
    }
    if (!SplitGroups() || !SplitColumns()) return std::nullopt;
    split_.of_part->columns.push_back(
        {std::string(kPartRows), true, CallNode("count", NameNode("i"))});
    return std::move(split_);
  }

 private:
  bool GoesByItem(const Node& node) const {
    return query::GoesByItem(node, columns_) && !NamesDate(node);
  }

  bool SplitDistinct() {
    split_.of_part->distinct = true;
    split_.of_results->distinct = true;
    for (const NamedNode& column : query_.columns) {
      if (!GoesByItem(*column.node)) return false;
      split_.of_results->columns.push_back({column.name, true, Partial(CopyOf(*column.node))});
    }
    return true;
  }

  bool SplitGroups() {
    if (query_.GroupsByNothing()) return false;
    split_.of_results->grouped = query_.grouped;
    for (const NamedNode& group : query_.groups) {
      const bool date = IsDate(*group.node);
      if (date && split_.date_group) return false;
      if (!date && !GoesByItem(*group.node)) return false;
      if (date) split_.date_group = split_.of_part->groups.size();
      const std::string name = fmt::format("k{}", split_.of_part->groups.size());
      split_.of_part->groups.push_back({name, true, CopyOf(*group.node)});
      split_.of_results->groups.push_back({group.name, group.named, NameNode(name)});
    }
    split_.of_part->grouped = query_.grouped;
    return true;
  }

  bool SplitColumns() {
    for (const NamedNode& column : query_.columns) {
      NodePtr combined = Combined(*column.node);
      if (combined == nullptr) return false;
      split_.of_results->columns.push_back({column.name, column.named, std::move(combined)});
    }
    return true;
  }

  // Adds a column to what each part is asked for, and returns its name as an expression.
  NodePtr Partial(NodePtr node) {
    const std::string name = fmt::format("p{}", split_.of_part->columns.size());
    split_.of_part->columns.push_back({name, true, std::move(node)});
    return NameNode(name);
  }

  // Returns the expression over the results of the parts; nullptr if there is none.
  NodePtr Combined(const Node& node) {
    if (CalledBuiltin(node) == nullptr) return nullptr;
    if (NodePtr aggregate = CombinedAggregate(node)) return aggregate;
    const Builtin& function = *node.children[0]->function;
    if (function.depends_on != Builtin::Items::kSameItem) return nullptr;
    std::vector<NodePtr> args;
    bool aggregates = false;
    for (const NodePtr& arg : std::span(node.children).subspan(1)) {
      const bool atom = arg->kind == Node::Kind::kConstant && arg->value.is_atom();
      aggregates |= !atom;
      args.push_back(atom ? CopyOf(*arg) : Combined(*arg));
      if (args.back() == nullptr) return nullptr;
    }
    return aggregates ? ApplyNode(function.name, std::move(args)) : nullptr;
  }

  NodePtr CombinedAggregate(const Node& node) {
    const Builtin& aggregate = *node.children[0]->function;
    const std::string_view name = aggregate.name;
    const Node& last = *node.children.back();
    if (node.children.size() == 2) {
      const bool rows = last.kind == Node::Kind::kName && last.name == "i";
      if (name == "count" && (rows || GoesByItem(last))) {
        return CallNode("sum", Partial(CallNode("count", NameNode("i"))));
      }
      if (!GoesByItem(last)) return nullptr;
      if (aggregate.Is(Builtin::kCombines)) {
        split_.ordered |= name == "first" || name == "last";
        return CallNode(name, Partial(CopyOf(node)));
      }
      if (name != "avg") return nullptr;
      NodePtr sum = Partial(CallNode("sum", AsFloats(last)));
      NodePtr count = Partial(CallNode("sum", NotNull(last)));
      return CallNode("%", CallNode("sum", std::move(sum)), CallNode("sum", std::move(count)));
    }
    const Node& weights = *node.children[1];
    if (node.children.size() != 3 || !GoesByItem(weights) || !GoesByItem(last)) return nullptr;
    if (name == "wsum") return CallNode("sum", Partial(CopyOf(node)));
    if (name != "wavg") return nullptr;
    NodePtr sum = Partial(CallNode("wsum", CopyOf(weights), CopyOf(last)));
    // The weights of rows without a value do not count.
    NodePtr weight = Partial(CallNode("sum", CallNode("*", AsFloats(weights), NotNull(last))));
    return CallNode("%", CallNode("sum", std::move(sum)), CallNode("sum", std::move(weight)));
  }

  // As floats, a sum does not wrap.
  static NodePtr AsFloats(const Node& node) {
    return CallNode("$", ConstantNode(Value::Char('f')), CopyOf(node));
  }
  static NodePtr NotNull(const Node& node) {
    return CallNode("not", CallNode("null", CopyOf(node)));
  }

  const Query& query_;
  const std::span<const std::string> columns_;
  SplitQuery split_;
};

}  // namespace

absl::StatusOr<bool> CanBeCombined(Context& context, const NamedNode& column,
                                   const Value& results) {
  const Builtin* const aggregate = CalledBuiltin(*column.node);
  if (aggregate == nullptr || aggregate->name == "first" || aggregate->name == "last") return true;
  if (!results.is_vector()) return false;
  if (aggregate->name != "sum" && aggregate->name != "prd" && aggregate->name != "wsum")
    return true;
  Term term = results;
  TS_ASSIGN_OR_RETURN(term, Apply(context, *FindBuiltin("null"), std::span(&term, 1)));
  TS_ASSIGN_OR_RETURN(const Value nulls, ToValue(std::move(term), context.budget));
  return std::ranges::find(nulls.span<uint8_t>(), 1) == nulls.span<uint8_t>().end();
}

std::optional<SplitQuery> Split(const Query& query, std::span<const std::string> columns) {
  return Splitter(query, columns).Run();
}

}  // namespace tickstack::query
