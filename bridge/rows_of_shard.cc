#include "bridge/rows_of_shard.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "base/status.h"
#include "bridge/payload.h"

namespace tickstack::bridge {
namespace {

// PartitionedRows divides a record in two.
constexpr int32_t kOwn = 0, kOthers = 1, kSides = 2;

bool HasColumns(const Schema& schema, const wire::RowsView& rows) {
  return std::ranges::equal(
             schema.columns, rows.names,
             [](const ColumnSpec& column, std::string_view name) { return column.name == name; }) &&
         std::ranges::equal(schema.columns, rows.batch.columns,
                            [](const ColumnSpec& column, const ColumnView& view) {
                              return column.type == view.type;
                            });
}

}  // namespace

RowsOfShard::RowsOfShard(BridgeShard shard) : shard_(std::move(shard)), cache_(shard_.map) {}

// Returns what divides the rows of a table with these columns.
absl::StatusOr<PartitionedRows*> RowsOfShard::PartsOf(std::string_view table,
                                                      const wire::RowsView& rows) {
  std::unique_ptr<PartitionedRows>& parts = tables_[table];
  if (parts != nullptr && HasColumns(parts->schema(), rows)) return parts.get();
  const auto own = std::ranges::find(shard_.schemas, table, &Schema::table);
  if (own == shard_.schemas.end()) return InvalidArgument("table {}: not in [tables]", table);
  Schema schema;
  schema.table = table;
  for (size_t i = 0; i < rows.names.size(); ++i) {
    schema.columns.push_back({std::string(rows.names[i]), rows.batch.columns[i].type});
  }
  int column = ShardColumnOf(*own);
  if (column >= 0) {
    const std::string& name = own->columns[static_cast<size_t>(column)].name;
    column = schema.Find(name);
    if (column < 0 || schema.columns[static_cast<size_t>(column)].type != Type::kSymbol) {
      return InvalidArgument("{}.{}: expected symbols, which say the shard of a row", table, name);
    }
  }
  const auto side_of = [this](std::string_view symbol) {
    return cache_.ShardOf(symbol) == shard_.index ? kOwn : kOthers;
  };
  parts = std::make_unique<PartitionedRows>(std::move(schema), column, kSides, side_of, SIZE_MAX);
  return parts.get();
}

absl::StatusOr<RowsOfShard::Chosen> RowsOfShard::Choose(std::string_view table,
                                                        const wire::RowsView& rows,
                                                        std::span<const std::byte> encoded) {
  if (rows.form != wire::UpdForm::kTable) return InvalidArgument("the payload is no table");
  TS_ASSIGN_OR_RETURN(PartitionedRows* const parts, PartsOf(table, rows));
  if (!parts->has_symbols()) {
    return Chosen{shard_.index == 0 ? static_cast<int64_t>(rows.batch.rows) : 0, encoded};
  }
  TS_RETURN_IF_ERROR(parts->Add(rows.batch));
  for (PartitionRecord& record : parts->Take()) {
    if (record.partition != kOwn) continue;
    chosen_ = std::move(record.payload);
    TS_ASSIGN_OR_RETURN(const std::span<const std::byte> body, BodyOf(chosen_.span()));
    return Chosen{static_cast<int64_t>(record.rows), body};
  }
  return Chosen();
}

}  // namespace tickstack::bridge
