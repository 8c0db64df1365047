#include "query/remote/shard_order.h"

#include <algorithm>
#include <string_view>

#include "query/remote/order_free.h"
#include "query/remote/remote_columns.h"
#include "query/remote/sendable.h"

namespace tickstack::query {
namespace {

// True if all rows of a group of one day have the same symbol. The other groups must go by row,
// too: one such as `differ sym` is about all rows.
bool AreOfOneShard(const RemoteTable& table, std::span<const NamedNode> groups,
                   std::span<const std::string> names) {
  const auto by_row = [names](const NamedNode& group) {
    const Node& node = *group.node;
    const bool column = node.kind == Node::Kind::kName &&
                        std::ranges::find(names, BeforeDot(node.name)) != names.end();
    return column || GoesByItem(node, names);
  };
  const auto of_shard = [&table](const NamedNode& group) {
    return IsShardColumn(table, *group.node);
  };
  return std::ranges::any_of(groups, of_shard) && std::ranges::all_of(groups, by_row);
}

bool AllNeedNoOrder(std::span<const NodePtr> conditions, std::span<const std::string> names) {
  return std::ranges::all_of(
      conditions, [names](const NodePtr& condition) { return NeedsNoOrder(*condition, names); });
}

// True for aggregates, by groups or not, of which none depends on the order of the rows.
bool AggregatesInAnyOrder(const PreparedQuery& prepared) {
  const auto by_item = [&prepared](const NamedNode& group) {
    return GoesByItem(*group.node, prepared.names);
  };
  const auto order_free = [&prepared](const NamedNode& column) {
    return IsOrderFree(*column.node, prepared.names);
  };
  const Query& query = prepared.query;
  return !query.columns.empty() && !query.distinct && std::ranges::all_of(query.groups, by_item) &&
         std::ranges::all_of(query.columns, order_free);
}

// True for rows, or the distinct items of one column, of which each belongs to its own row.
bool SelectsRows(const PreparedQuery& prepared) {
  const auto row_or_distinct = [&prepared](const NamedNode& named) {
    const Builtin* const called = CalledBuiltin(*named.node);
    // The items of several such columns would be paired.
    const bool distinct =
        called != nullptr && called->name == "distinct" && prepared.query.columns.size() == 1;
    return NeedsNoOrder(distinct ? *named.node->children.back() : *named.node, prepared.names);
  };
  return !prepared.query.grouped && std::ranges::all_of(prepared.query.columns, row_or_distinct);
}

bool IsOneOfSymbols(const Value& symbols, std::string_view wanted) {
  for (size_t i = 0; i < symbols.count(); ++i) {
    if ((symbols.is_atom() ? symbols.symbol() : symbols.symbols()[i]) == wanted) return true;
  }
  return false;
}

// True if the result of a query has the column by which rows are spread, with the same items.
bool KeepsShardColumn(const Query& query, const RemoteTable& table) {
  const std::string_view of_shard = table.ShardColumn();
  const auto changes = [&](const NamedNode& named) {
    return named.name == of_shard && !IsShardColumn(table, *named.node);
  };
  // A second column of the name gets another one.
  const auto first = std::ranges::find(query.columns, of_shard, &NamedNode::name);
  const bool keeps = first != query.columns.end() && IsShardColumn(table, *first->node);
  switch (query.verb) {
    case Query::Verb::kSelect:
      return query.columns.empty() || keeps;
    case Query::Verb::kExec:
      return false;
    case Query::Verb::kUpdate:
      return std::ranges::none_of(query.columns, changes);
    case Query::Verb::kDelete:
      return true;
  }
  return false;
}

}  // namespace

ShardOrder OrderFor(const PreparedQuery& prepared, RowUse use) {
  const Query& query = prepared.query;
  const bool free_conditions = AllNeedNoOrder(query.conditions, prepared.names);
  const bool limited = query.limit != nullptr || query.order != nullptr;
  const bool plain = free_conditions && prepared.sendable && !limited;
  if (plain && AggregatesInAnyOrder(prepared)) return ShardOrder::kOfParts;
  if (free_conditions && !limited && AreOfOneShard(prepared.table, query.groups, prepared.names)) {
    return ShardOrder::kOfDays;
  }
  const bool any_order =
      plain && SelectsRows(prepared) && IsInAnyOrder(prepared.original, prepared.table, use);
  return any_order ? ShardOrder::kPreferably : ShardOrder::kOfRows;
}

bool IsInAnyOrder(const Query& query, const RemoteTable& table, RowUse use) {
  if (!use.any_order || use.sorted_by == nullptr) return use.any_order;
  const std::string_view of_shard = table.ShardColumn();
  if (of_shard.empty() || !IsOneOfSymbols(*use.sorted_by, of_shard)) return false;
  if (query.grouped && query.verb != Query::Verb::kUpdate) return false;
  return KeepsShardColumn(query, table);
}

bool ChangeNeedsOrder(const Query& query, const RemoteTable& table,
                      std::span<const std::string> names) {
  if (!AllNeedNoOrder(query.conditions, names)) return true;
  if (query.verb != Query::Verb::kUpdate || AreOfOneShard(table, query.groups, names)) return false;
  // The items of a constant vector are those of the rows, one each.
  const auto needs_order = [names](const NamedNode& named) {
    return !NeedsNoOrder(*named.node, names);
  };
  return std::ranges::any_of(query.columns, needs_order) ||
         std::ranges::any_of(query.groups, needs_order);
}

}  // namespace tickstack::query
