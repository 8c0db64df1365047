#include "bridge/partitioned_rows.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "table/types.h"
#include "wire/codec.h"
#include "wire/upd_encoder.h"

namespace tickstack::bridge {
namespace {

constexpr size_t kSliceRowsMax = 4096;
constexpr size_t kSliceBytes = size_t{64} << 10;  // Rows are added in slices of about this size.

// Returns the end of the name that begins at `offset`, after its NUL; nullopt if there is none.
std::optional<size_t> EndOfName(std::span<const std::byte> data, size_t offset) {
  if (offset >= data.size()) return std::nullopt;
  const void* const nul = std::memchr(data.data() + offset, 0, data.size() - offset);
  if (nul == nullptr) return std::nullopt;
  return static_cast<size_t>(static_cast<const std::byte*>(nul) - data.data()) + 1;
}

std::optional<size_t> EndOfItem(std::span<const std::byte> data, size_t offset) {
  if (offset >= data.size()) return std::nullopt;
  const absl::StatusOr<std::optional<size_t>> bytes = wire::ValueBytes(data.subspan(offset));
  if (!bytes.ok() || !*bytes) return std::nullopt;
  return offset + **bytes;
}

// True if the column's bytes are exactly its rows.
bool IsWhole(const ColumnView& column, size_t rows) {
  if (const size_t width = WidthOf(column.type)) return column.data.size() == rows * width;
  size_t offset = 0;
  for (size_t row = 0; row < rows; ++row) {
    const std::optional<size_t> end = column.type == Type::kSymbol ? EndOfName(column.data, offset)
                                                                   : EndOfItem(column.data, offset);
    if (!end) return false;
    offset = *end;
  }
  return offset == column.data.size();
}

}  // namespace

PartitionedRows::PartitionedRows(Schema schema, int symbol_column, int32_t partitions,
                                 Choose choose, size_t record_bytes)
    : schema_(std::move(schema)),
      choose_(std::move(choose)),
      record_bytes_(record_bytes),
      symbol_column_(symbol_column),
      pending_(static_cast<size_t>(std::max(1, partitions))),
      rows_of_(pending_.size()),
      at_(pending_.size()) {
  for (Pending& pending : pending_) pending.columns.resize(schema_.columns.size());
}

void PartitionedRows::Clear() {
  for (Pending& pending : pending_) {
    pending.rows = 0;
    pending.bytes = 0;
    for (ByteBuffer& column : pending.columns) column.clear();
  }
  complete_.clear();
  bytes_ = 0;
}

void PartitionedRows::ChoosePartitions(const BatchView& batch) {
  partition_of_.assign(batch.rows, 0);
  if (symbol_column_ < 0 || partitions() == 1) return;
  const std::span<const std::byte> names = batch.columns[static_cast<size_t>(symbol_column_)].data;
  size_t offset = 0;
  for (size_t row = 0; row < batch.rows; ++row) {
    const std::string_view name(reinterpret_cast<const char*>(names.data()) + offset);
    partition_of_[row] = choose_(name);
    offset += name.size() + 1;
  }
}

absl::Status PartitionedRows::Add(const BatchView& batch) {
  if (batch.columns.size() != schema_.columns.size()) {
    return InvalidArgument("length: {} columns, table {} has {}", batch.columns.size(),
                           schema_.table, schema_.columns.size());
  }
  size_t batch_bytes = 0;
  for (size_t i = 0; i < batch.columns.size(); ++i) {
    const ColumnView& column = batch.columns[i];
    batch_bytes += column.data.size();
    const Type type = schema_.columns[i].type;
    if ((type != Type::kList && column.type != type) || !IsWhole(column, batch.rows)) {
      return InvalidArgument("length: {}.{}: its bytes are not {} values of type {}", schema_.table,
                             schema_.columns[i].name, batch.rows, NameOf(type));
    }
  }
  if (batch.rows == 0) return absl::OkStatus();
  ChoosePartitions(batch);
  const size_t row_bytes = batch_bytes / batch.rows + 1;
  const size_t slice_rows = std::clamp<size_t>(kSliceBytes / row_bytes, 1, kSliceRowsMax);
  std::vector<size_t> offsets(batch.columns.size(), 0);
  for (size_t begin = 0; begin < batch.rows; begin += slice_rows) {
    const size_t end = std::min(batch.rows, begin + slice_rows);
    std::fill(rows_of_.begin(), rows_of_.end(), 0U);
    for (size_t row = begin; row < end; ++row) ++rows_of_[static_cast<size_t>(partition_of_[row])];
    for (size_t i = 0; i < batch.columns.size(); ++i) {
      AddColumn(i, batch.columns[i], begin, end, &offsets[i]);
    }
    for (size_t partition = 0; partition < pending_.size(); ++partition) {
      Pending& pending = pending_[partition];
      pending.rows += rows_of_[partition];
      pending.bytes += rows_of_[partition] * row_bytes;
      if (pending.bytes >= record_bytes_) Complete(static_cast<int32_t>(partition));
    }
  }
  bytes_ += batch_bytes;
  return absl::OkStatus();
}

template <size_t kWidth>
void PartitionedRows::AddFixed(size_t index, const std::byte* from, size_t begin, size_t end) {
  for (size_t partition = 0; partition < pending_.size(); ++partition) {
    if (rows_of_[partition] == 0) continue;
    at_[partition] = pending_[partition].columns[index].Extend(rows_of_[partition] * kWidth);
  }
  const int32_t* const partition_of = partition_of_.data();
  std::byte** const at = at_.data();
  for (size_t row = begin; row < end; ++row) {
    std::byte*& to = at[partition_of[row]];
    std::memcpy(to, from + row * kWidth, kWidth);
    to += kWidth;
  }
}

// Adds rows `begin` to `end` of a column. `offset` is where the value of row `begin` begins, for
// values of different sizes.
void PartitionedRows::AddColumn(size_t index, const ColumnView& column, size_t begin, size_t end,
                                size_t* offset) {
  const std::byte* const from = column.data.data();
  const bool as_items = schema_.columns[index].type == Type::kList && column.type != Type::kList;
  if (!as_items) {
    switch (WidthOf(column.type)) {
      case 1:
        return AddFixed<1>(index, from, begin, end);
      case 2:
        return AddFixed<2>(index, from, begin, end);
      case 4:
        return AddFixed<4>(index, from, begin, end);
      case 8:
        return AddFixed<8>(index, from, begin, end);
      case 16:
        return AddFixed<16>(index, from, begin, end);
      default:
        break;
    }
  }
  const size_t width = WidthOf(column.type);
  for (size_t row = begin; row < end; ++row) {
    const std::optional<size_t> next = width > 0 ? std::optional(*offset + width)
                                       : column.type == Type::kSymbol
                                           ? EndOfName(column.data, *offset)
                                           : EndOfItem(column.data, *offset);
    ByteBuffer& to = pending_[static_cast<size_t>(partition_of_[row])].columns[index];
    if (as_items) to.AppendLittle(static_cast<int8_t>(-static_cast<int>(column.type)));
    const size_t value_end = next.value_or(column.data.size());  // Add has checked them all.
    to.Append(column.data.subspan(*offset, value_end - *offset));
    *offset = value_end;
  }
}

void PartitionedRows::Complete(int32_t partition) {
  Pending& pending = pending_[static_cast<size_t>(partition)];
  if (pending.rows == 0) return;
  PartitionRecord record{partition, pending.rows, {}};
  size_t bytes = 64 * (pending.columns.size() + 1);
  for (const ByteBuffer& column : pending.columns) bytes += column.size();
  record.payload.reserve(bytes);
  wire::UpdEncoder encoder(record.payload);
  encoder.BeginFrame();
  encoder.Table(schema_);
  for (size_t i = 0; i < pending.columns.size(); ++i) {
    encoder.Column(schema_.columns[i].type, pending.rows);
    record.payload.Append(pending.columns[i].span());
    pending.columns[i].clear();
  }
  encoder.EndFrame(wire::MessageKind::kAsync);
  pending.rows = 0;
  pending.bytes = 0;
  complete_.push_back(std::move(record));
}

std::vector<PartitionRecord> PartitionedRows::Take() {
  for (int32_t partition = 0; partition < partitions(); ++partition) Complete(partition);
  bytes_ = 0;
  return std::exchange(complete_, {});
}

}  // namespace tickstack::bridge
