#include "tickerplant/upd_stage.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "base/check.h"
#include "base/status.h"
#include "table/value_reader.h"
#include "wire/codec.h"
#include "wire/upd_encoder.h"

namespace tickstack::tickerplant {
namespace {

constexpr size_t kCopyBelowBytes = 4096;
constexpr size_t kScratchBytes = size_t{64} << 10;

// Returns the bytes of a column after its first `skip` rows.
std::span<const std::byte> BytesAfter(const ColumnView& column, size_t skip) {
  if (const size_t width = WidthOf(column.type); width != 0)
    return column.data.subspan(skip * width);
  std::span<const std::byte> rest = column.data;
  for (size_t row = 0; row < skip; ++row) {
    if (column.type == Type::kSymbol) {
      rest = rest.subspan(std::strlen(reinterpret_cast<const char*>(rest.data())) + 1);
    } else {
      rest = rest.subspan(wire::ValueBytes(rest)->value());
    }
  }
  return rest;
}

// Returns the elements of one item of a list, for a vector of `type`; nullopt if it is not one of
// them. `item` is a whole encoded value.
std::optional<std::span<const std::byte>> ElementOf(Type type, std::span<const std::byte> item) {
  static constexpr std::byte kNullChar{' '};
  ValueReader<const std::byte> reader(item);
  ValueReader<const std::byte>::Head head;
  if (reader.TakeHead(&head) != ReadOutcome::kWhole) return std::nullopt;
  if (head.code == -static_cast<int>(type)) return head.elements;
  const bool is_string = head.code == static_cast<int>(Type::kChar);
  if (type != Type::kChar || !is_string || head.count > 1) return std::nullopt;
  return head.count == 0 ? std::span(&kNullChar, 1) : head.elements;
}

// Describes an item that ElementOf refuses.
std::string DescribeItem(std::span<const std::byte> item) {
  ValueReader<const std::byte> reader(item);
  ValueReader<const std::byte>::Head head;
  if (reader.TakeHead(&head) != ReadOutcome::kWhole) return "incomplete";
  if (head.code == static_cast<int>(Type::kChar)) {
    return fmt::format("a string of length {}", head.count);
  }
  if (head.code >= 0) return fmt::format("of type {}", NameOf(static_cast<Type>(head.code)));
  return fmt::format("a {} atom", NameOf(static_cast<Type>(-head.code)));
}

absl::Status AppendElements(const Schema& schema, const ColumnSpec& spec, const ColumnView& list,
                            ByteBuffer& out) {
  std::span<const std::byte> rest = list.data;
  for (size_t row = 0; row < list.rows; ++row) {
    const std::span<const std::byte> item = rest.first(wire::ValueBytes(rest)->value());
    rest = rest.subspan(item.size());
    const std::optional<std::span<const std::byte>> element = ElementOf(spec.type, item);
    if (!element) {
      return InvalidArgument("type: {}.{} is list, expected {}: item {} is {}", schema.table,
                             spec.name, NameOf(spec.type), row, DescribeItem(item));
    }
    out.Append(*element);
  }
  return absl::OkStatus();
}

}  // namespace

void StagedBlock::Reset(std::string_view feed, std::string_view logged_as, size_t tables) {
  feed_ = feed;
  logged_as_ = logged_as;
  segments_.clear();
  while (scratch_.size() > 1) scratch_.pop_back();
  if (!scratch_.empty()) scratch_.front().clear();
  upds_.clear();
  columns_.clear();
  owners_.clear();
  rows_.assign(tables, 0);
  bytes_ = 0;
}

void StagedBlock::AppendSmall(std::span<const std::byte> bytes) {
  if (scratch_.empty() || scratch_.back().capacity() - scratch_.back().size() < bytes.size()) {
    scratch_.emplace_back().reserve(std::max(kScratchBytes, bytes.size()));
  }
  ByteBuffer& scratch = scratch_.back();
  const std::byte* at = scratch.data() + scratch.size();
  scratch.Append(bytes);
  if (!segments_.empty() && segments_.back().data() + segments_.back().size() == at) {
    segments_.back() = {segments_.back().data(), segments_.back().size() + bytes.size()};
  } else {
    segments_.emplace_back(at, bytes.size());
  }
}

void StagedBlock::Add(size_t table, std::span<const std::byte> log_prefix,
                      std::span<const std::byte> x, const BatchView& batch,
                      const std::shared_ptr<const void>& owner) {
  AppendSmall(log_prefix);
  if (x.size() < kCopyBelowBytes) {
    AppendSmall(x);
  } else {
    segments_.push_back(x);
  }
  if (owners_.empty() || owners_.back() != owner) owners_.push_back(owner);
  upds_.push_back({table, batch.rows, columns_.size(), batch.columns.size(), owners_.size() - 1});
  columns_.insert(columns_.end(), batch.columns.begin(), batch.columns.end());
  rows_[table] += batch.rows;
  bytes_ += log_prefix.size() + x.size();
}

StagedBlock::Upd StagedBlock::upd(size_t i) const {
  const Entry& entry = upds_[i];
  return {entry.table,
          {std::span<const ColumnView>(columns_).subspan(entry.first_column, entry.columns),
           entry.rows},
          owners_[entry.owner]};
}

ByteBuffer EncodeColumns(const BatchView& batch, size_t first_row, std::span<const size_t> order,
                         Type stamp_type, std::span<const std::byte> stamp) {
  TS_CHECK(first_row <= batch.rows);
  const size_t rows = batch.rows - first_row;
  ByteBuffer out;
  wire::UpdEncoder x(out);
  x.Columns(order.size());
  for (const size_t source : order) {
    if (source == kStamp) {
      x.Column(stamp_type, rows);
      for (size_t row = 0; row < rows; ++row) out.Append(stamp);
    } else {
      x.Column(batch.columns[source].type, rows);
      out.Append(BytesAfter(batch.columns[source], first_row));
    }
  }
  return out;
}

absl::StatusOr<ByteBuffer> EncodeListsAsVectors(const Schema& schema, const BatchView& batch) {
  TS_CHECK(batch.columns.size() == schema.columns.size());
  ByteBuffer out;
  wire::UpdEncoder x(out);
  x.Columns(batch.columns.size());
  for (size_t i = 0; i < batch.columns.size(); ++i) {
    const ColumnView& column = batch.columns[i];
    const ColumnSpec& spec = schema.columns[i];
    const bool converts = column.type == Type::kList && spec.type != Type::kList;
    x.Column(converts ? spec.type : column.type, column.rows);
    if (converts) {
      TS_RETURN_IF_ERROR(AppendElements(schema, spec, column, out));
    } else {
      out.Append(column.data);
    }
  }
  return out;
}

}  // namespace tickstack::tickerplant
