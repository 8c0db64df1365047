#include "bridge/rows_of_shard.h"

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "bridge/payload.h"
#include "table/schema.h"

namespace tickstack::bridge {
namespace {

// PartitionedRows divides a record in two.
constexpr int32_t kOwn = 0, kOthers = 1, kSides = 2;

Schema SchemaOf(std::string_view table, const wire::RowsView& rows) {
  Schema schema;
  schema.table = table;
  for (size_t i = 0; i < rows.names.size(); ++i) {
    schema.columns.push_back({std::string(rows.names[i]), rows.batch.columns[i].type});
  }
  return schema;
}

}  // namespace

RowsOfShard::RowsOfShard(const BridgeShard& shard) : cache_(shard.map), shard_(shard.index) {}

absl::StatusOr<RowsOfShard::Chosen> RowsOfShard::Choose(std::string_view table,
                                                        const wire::RowsView& rows,
                                                        std::span<const std::byte> encoded) {
  if (rows.form != wire::UpdForm::kTable) return InvalidArgument("the payload is no table");
  Schema schema = SchemaOf(table, rows);
  if (ShardColumnOf(schema) < 0) {
    const bool is_first = shard_ == 0;
    return Chosen{is_first ? static_cast<int64_t>(rows.batch.rows) : 0, encoded};
  }
  std::unique_ptr<PartitionedRows>& parts = tables_[table];
  if (parts == nullptr || parts->schema() != schema) {
    const auto part_of = [this](std::string_view symbol) {
      return cache_.ShardOf(symbol) == shard_ ? kOwn : kOthers;
    };
    parts = std::make_unique<PartitionedRows>(std::move(schema), kSides, part_of, SIZE_MAX);
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
