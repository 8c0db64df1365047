#include "query/remote/remote_columns.h"

#include <algorithm>
#include <array>
#include <span>

namespace tickstack::query {
namespace {

using Side = RemoteTable::Side;

}  // namespace

std::vector<std::string> ColumnsOf(const RemoteTable& table) {
  return table.Columns(table.IsOn(Side::kLast) ? Side::kLast : Side::kPast);
}

std::vector<std::string> NamesOf(const RemoteTable& table) {
  std::vector<std::string> names = ColumnsOf(table);
  names.emplace_back(kDateColumn);
  return names;
}

bool IsKeyColumn(const RemoteTable& table, std::string_view column) {
  const std::vector<std::string> columns = table.LastColumns();
  const auto keys = std::span(columns).first(std::min(table.KeyColumns(), columns.size()));
  return std::ranges::find(keys, column) != keys.end();
}

bool AllHaveColumn(const RemoteTable& table, const std::string& column) {
  return std::ranges::all_of(table.Shards(), [&column](const RemoteTable* shard) {
    return std::ranges::all_of(std::array{Side::kPast, Side::kLast}, [&](Side side) {
      const std::vector<std::string> columns = shard->Columns(side);
      return !shard->IsOn(side) || std::ranges::find(columns, column) != columns.end();
    });
  });
}

bool IsShardColumn(const RemoteTable& table, const Node& node) {
  return node.kind == Node::Kind::kName && node.name == table.ShardColumn();
}

}  // namespace tickstack::query
