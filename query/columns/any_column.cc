#include "query/columns/any_column.h"

#include <algorithm>

#include "query/columns/encoded_item.h"

namespace tickstack::query {

AnyColumn::AnyColumn(Value vector) : AnyColumn(std::make_shared<Value>(std::move(vector))) {}

AnyColumn::AnyColumn(std::shared_ptr<Value> vector) : value_(std::move(vector)) {
  TS_CHECK(value_->is_vector() || value_->is_list());
}

AnyColumn::AnyColumn(std::shared_ptr<const Snapshot> snapshot, size_t index)
    : snapshot_(std::move(snapshot)), index_(index) {}

AnyColumn::AnyColumn(std::shared_ptr<const StoredColumn> stored)
    : stored_(std::move(stored)), index_(stored_->index()) {}

Type AnyColumn::type() const {
  if (stored_ != nullptr) return stored_->type();
  return captured() ? snapshot_->schema().columns[index_].type : value_->type();
}

size_t AnyColumn::rows() const {
  if (stored_ != nullptr) return stored_->rows();
  return captured() ? snapshot_->rows() : value_->count();
}

bool AnyColumn::indexed() const {
  if (stored_ != nullptr) return stored_->indexed();
  return captured() && snapshot_->table().indexed_column() == static_cast<int>(index_);
}

std::optional<Value> AnyColumn::Release() && {
  if (value_ == nullptr || value_.use_count() != 1) return std::nullopt;
  return std::move(*value_);
}

std::string_view AnyColumn::SymbolAt(size_t row) const {
  TS_CHECK(stored_ == nullptr);
  if (!captured()) return value_->symbols()[row];
  mem::MediumAccess access(medium());
  const SymbolId id = IdAt(row);
  access.ReadChained(1);
  return symbols().NameOf(id);
}

SymbolId AnyColumn::IdAt(size_t row) const {
  const ChunkLayout::Chunk chunk = layout().ChunkOf(row);
  return Chunk<SymbolId>(chunk.number)[row - chunk.begin_row];
}

absl::StatusOr<Value> AnyColumn::At(size_t row) const {
  if (stored_ != nullptr) return stored_->At(row);
  if (!captured()) return ItemAt(*value_, row);
  if (type() == Type::kSymbol) return Value::Symbol(SymbolAt(row));
  mem::MediumAccess access(medium());
  if (type() == Type::kList) {
    const std::span<const std::byte> item = snapshot_->Item(index_, row);
    absl::StatusOr<Value> decoded = DecodeItem(item);
    access.ReadChained(1);  // For the item's place.
    access.ReadInOrder(item.data(), item.size());
    return decoded;
  }
  const size_t width = WidthOf(type());
  const ChunkLayout::Chunk chunk = layout().ChunkOf(row);
  const std::span<const std::byte> bytes = snapshot_->ChunkBytes(index_, chunk.number);
  Value atom = Value::AtomFromBytes(type(), bytes.subspan((row - chunk.begin_row) * width, width));
  // Charged after the read, or the time of the real read would come on top.
  access.ReadChained(1);
  return atom;
}

Slice Slice::Of(Value vector) {
  AnyColumn column(std::move(vector));
  auto rows = std::make_shared<const RowSet>(RowSet::Range(0, column.rows()));
  return Slice{std::move(column), std::move(rows)};
}

}  // namespace tickstack::query
