#include "query/columns/stored_table.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/parallel.h"

namespace tickstack::query {
namespace {

Value PartitionItem(Type type, int64_t value) {
  if (WidthOf(type) == 8) return Value::Atom(type, value);
  return Value::Atom(type, static_cast<int32_t>(value));
}

Schema SchemaOf(const disk::SplayedTable& table, std::string_view name) {
  Schema schema{std::string(name), {}, 0};
  for (size_t i = 0; i < table.columns(); ++i) {
    const absl::StatusOr<std::shared_ptr<const disk::ColumnFile>> file = table.Column(i);
    schema.columns.push_back({table.column_names()[i], file.ok() ? (*file)->type() : Type::kList});
  }
  return schema;
}

}  // namespace

std::shared_ptr<const StoredTable> StoredTable::Find(std::shared_ptr<const disk::Database> database,
                                                     std::string_view name) {
  std::shared_ptr<StoredTable> table(new StoredTable());
  table->partitioned_ = database->FindPartitioned(name);
  table->splayed_ = table->is_partitioned() ? nullptr : database->FindSplayed(name);
  if (table->is_partitioned()) {
    table->schema_ = table->partitioned_->schema();
    table->schema_.columns.insert(
        table->schema_.columns.begin(),
        {std::string(database->partition_column()), TypeOf(database->partition_kind())});
  } else if (table->splayed_ != nullptr) {
    table->schema_ = SchemaOf(*table->splayed_, name);
  } else {
    return nullptr;
  }
  table->database_ = std::move(database);
  return table;
}

Value StoredTable::PartitionValues() const {
  const Type type = schema_.columns.front().type;
  ByteBuffer values;
  for (const disk::Partition& partition : database_->partitions()) {
    if (WidthOf(type) == 8) {
      values.AppendLittle(partition.value);
    } else {
      values.AppendLittle(static_cast<int32_t>(partition.value));
    }
  }
  return Value::Vector(type, std::move(values));
}

absl::StatusOr<const disk::SplayedTable*> StoredTable::In(size_t partition) const {
  if (!is_partitioned()) return splayed_;
  return partitioned_->In(partition);
}

absl::StatusOr<Attribute> StoredTable::AttributeOf(size_t column) const {
  for (size_t partition = partitions(); partition-- > 0;) {
    const absl::StatusOr<const disk::SplayedTable*> table = In(partition);
    if (!table.ok() || *table == nullptr) continue;
    const int at = (*table)->Find(schema_.columns[column].name);
    if (at < 0) return Attribute::kNone;
    TS_ASSIGN_OR_RETURN(const std::shared_ptr<const disk::ColumnFile> file,
                        OrLimit((*table)->Column(static_cast<size_t>(at))));
    return file->attribute();
  }
  return Attribute::kNone;
}

absl::StatusOr<std::shared_ptr<const StoredParts>> StoredParts::Open(
    std::shared_ptr<const StoredTable> table, std::span<const uint32_t> partitions,
    const Budget& budget) {
  std::shared_ptr<StoredParts> opened(new StoredParts(std::move(table)));
  std::vector<StoredPart> found(partitions.size());
  constexpr size_t kParts = 8;  // Each task takes this many parts.
  TS_RETURN_IF_ERROR(ParallelRanges(
      budget, partitions.size(), kParts, [&](size_t begin, size_t end) -> absl::Status {
        for (size_t i = begin; i < end; ++i) {
          TS_ASSIGN_OR_RETURN(const disk::SplayedTable* const in,
                              OrLimit(opened->table().In(partitions[i])));
          uint64_t rows = 0;
          if (in != nullptr) {
            TS_ASSIGN_OR_RETURN(rows, OrLimit(in->Rows()));
          }
          found[i] = {partitions[i], in, 0, static_cast<size_t>(rows)};
        }
        return absl::OkStatus();
      }));
  for (StoredPart& part : found) {
    if (part.rows == 0) continue;
    part.begin_row = opened->begins_.back();
    opened->parts_.push_back(part);
    opened->begins_.push_back(part.begin_row + part.rows);
  }
  return opened;
}

absl::StatusOr<Value> StoredParts::At(size_t column, size_t row) const {
  const StoredPart& part = PartOf(row);
  TS_ASSIGN_OR_RETURN(const StoredColumnPart opened, OpenPart(*table_, part, column));
  if (opened.file == nullptr) return opened.constant;
  return opened.file->ItemAt(row - part.begin_row);
}

absl::StatusOr<StoredColumnPart> OpenPart(const StoredTable& table, const StoredPart& part,
                                          size_t column) {
  const ColumnSpec& spec = table.schema().columns[column];
  StoredColumnPart opened;
  if (table.is_partitioned() && column == 0) {
    opened.constant = PartitionItem(spec.type, table.PartitionValue(part.partition));
    return opened;
  }
  const int at = part.table->Find(spec.name);
  if (at < 0) {
    opened.constant = NullOf(spec.type);
    return opened;
  }
  TS_ASSIGN_OR_RETURN(opened.file, OrLimit(part.table->Column(static_cast<size_t>(at))));
  if (opened.file->type() != spec.type) {
    return DataLoss("{}: a column of {}, expected {} as in the newest partition",
                    opened.file->path(), NameOf(opened.file->type()), NameOf(spec.type));
  }
  return opened;
}

}  // namespace tickstack::query
