#include "tickerplant/char_columns.h"

#include <algorithm>
#include <string_view>

#include "base/status.h"
#include "wire/codec.h"

namespace tickstack::tickerplant {
namespace {

constexpr auto kCharAtom = static_cast<std::byte>(-static_cast<int8_t>(Type::kChar));
constexpr auto kString = static_cast<std::byte>(Type::kChar);
constexpr size_t kStringHeadBytes = 6;  // Type, attribute, and the count in 4 bytes.

// Returns the char of one encoded item.
absl::StatusOr<std::byte> CharOf(std::span<const std::byte> item) {
  if (item[0] == kCharAtom) return item[1];
  if (item[0] != kString) {
    return InvalidArgument("an item of type {}, expected a char or a string of one character",
                           static_cast<int>(static_cast<int8_t>(item[0])));
  }
  const size_t count = item.size() - kStringHeadBytes;
  if (count == 0) return std::byte{' '};
  if (count == 1) return item[kStringHeadBytes];
  return InvalidArgument("a string of {} characters, expected one", count);
}

absl::Status AppendChars(const ColumnView& list, ByteBuffer& chars) {
  std::span<const std::byte> rest = list.data;
  for (size_t row = 0; row < list.rows; ++row) {
    TS_ASSIGN_OR_RETURN(const std::optional<size_t> bytes, wire::ValueBytes(rest));
    if (!bytes) return InvalidArgument("row {}: its value is cut short", row);
    const absl::StatusOr<std::byte> read = CharOf(rest.first(*bytes));
    if (!read.ok()) return Annotate(read.status(), fmt::format("row {}", row));
    chars.AppendLittle(static_cast<uint8_t>(*read));
    rest = rest.subspan(*bytes);
  }
  return absl::OkStatus();
}

bool IsListForChars(const ColumnSpec& spec, const ColumnView& column) {
  return spec.type == Type::kChar && column.type == Type::kList;
}

}  // namespace

bool CharColumns::Needed(const Schema& schema, std::span<const size_t> order,
                         const BatchView& batch) {
  for (size_t i = 0; i < std::min(order.size(), schema.columns.size()); ++i) {
    if (order[i] >= batch.columns.size()) continue;  // The tickerplant's own time.
    if (IsListForChars(schema.columns[i], batch.columns[order[i]])) return true;
  }
  return false;
}

bool CharColumns::Needed(const Schema& schema, const BatchView& batch) {
  for (size_t i = 0; i < std::min(batch.columns.size(), schema.columns.size()); ++i) {
    if (IsListForChars(schema.columns[i], batch.columns[i])) return true;
  }
  return false;
}

absl::StatusOr<BatchView> CharColumns::Convert(const Schema& schema, std::span<const size_t> order,
                                               const BatchView& batch) {
  columns_.assign(batch.columns.begin(), batch.columns.end());
  chars_.clear();
  for (size_t i = 0; i < std::min(order.size(), schema.columns.size()); ++i) {
    const ColumnSpec& spec = schema.columns[i];
    if (order[i] >= columns_.size() || !IsListForChars(spec, columns_[order[i]])) continue;
    ColumnView& column = columns_[order[i]];
    ByteBuffer& chars = chars_.emplace_back();
    if (const absl::Status taken = AppendChars(column, chars); !taken.ok()) {
      return Annotate(taken, fmt::format("type: {}.{}", schema.table, spec.name));
    }
    column.type = Type::kChar;
    column.data = chars.span();
  }
  return BatchView{columns_, batch.rows};
}

}  // namespace tickstack::tickerplant
