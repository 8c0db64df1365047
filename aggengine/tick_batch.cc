#include "aggengine/tick_batch.h"

#include <cmath>
#include <limits>

#include "base/byte_buffer.h"
#include "base/status.h"

namespace tickstack::aggengine {
namespace {

constexpr double kNullFloat = std::numeric_limits<double>::quiet_NaN();

template <typename T>
void Widen(const std::byte* bytes, size_t rows, bool has_null, std::vector<int64_t>& out) {
  out.resize(rows);
  for (size_t i = 0; i < rows; ++i) {
    const T value = LoadLittle<T>(bytes + i * sizeof(T));
    out[i] = has_null && value == std::numeric_limits<T>::min() ? kNullLong
                                                                : static_cast<int64_t>(value);
  }
}

template <typename T>
void WidenFloats(const std::byte* bytes, size_t rows, std::vector<double>& out) {
  out.resize(rows);
  // Plus 0 makes a -0 a 0: the order in which equal numbers come must not show.
  for (size_t i = 0; i < rows; ++i) {
    out[i] = static_cast<double>(LoadLittle<T>(bytes + i * sizeof(T))) + 0.0;
  }
}

void LoadLongs(const ColumnView& column, std::vector<int64_t>& out) {
  const std::byte* const bytes = column.data.data();
  switch (WidthOf(column.type)) {
    case 1:
      return Widen<uint8_t>(bytes, column.rows, false, out);
    case 2:
      return Widen<int16_t>(bytes, column.rows, true, out);
    case 4:
      return Widen<int32_t>(bytes, column.rows, true, out);
    default:
      return Widen<int64_t>(bytes, column.rows, true, out);
  }
}

void LoadFloats(const ColumnView& column, std::vector<double>& out) {
  if (!IsFloating(column.type)) {
    std::vector<int64_t> longs;
    LoadLongs(column, longs);
    out.resize(longs.size());
    for (size_t i = 0; i < longs.size(); ++i) {
      out[i] = longs[i] == kNullLong ? kNullFloat : static_cast<double>(longs[i]);
    }
    return;
  }
  if (column.type == Type::kReal) return WidenFloats<float>(column.data.data(), column.rows, out);
  WidenFloats<double>(column.data.data(), column.rows, out);
}

}  // namespace

size_t TickBatch::AddOperand(const Operand& operand) {
  for (size_t i = 0; i < operands_.size(); ++i) {
    if (operands_[i].operand == operand) return i;
  }
  Lane& lane = operands_.emplace_back();
  lane.operand = operand;
  lane.column = static_cast<size_t>(source_.Find(operand.column));
  if (!operand.minus.empty()) lane.minus = static_cast<size_t>(source_.Find(operand.minus));
  lane.floating = IsFloating(*TypeOf(operand, source_));
  return operands_.size() - 1;
}

absl::Status TickBatch::Load(const BatchView& batch) {
  for (size_t i = 0; i < batch.columns.size(); ++i) {
    const ColumnView& column = batch.columns[i];
    const size_t width = WidthOf(column.type);
    if (width > 0 && column.data.size() != column.rows * width) {
      return InvalidArgument("{}: {} bytes do not hold {} values of type {}",
                             source_.columns[i].name, column.data.size(), column.rows,
                             NameOf(column.type));
    }
  }
  const ColumnView& names = batch.columns[static_cast<size_t>(source_.Find("sym"))];
  // A name has a byte at least: a count that the bytes cannot hold takes no memory.
  if (names.data.size() >= names.rows) {
    ids_.resize(names.rows);
  }
  if (names.data.size() < names.rows ||
      symbols_->InternAll(names.data, ids_) != names.data.size()) {
    return InvalidArgument("sym: {} bytes do not hold {} names", names.data.size(), names.rows);
  }
  slots_.resize(batch.rows);
  for (size_t i = 0; i < batch.rows; ++i) slots_[i] = SlotOf(ids_[i]);
  Widen<int64_t>(batch.columns[static_cast<size_t>(source_.Find("time"))].data.data(), batch.rows,
                 true, times_);
  for (int64_t& time_ns : times_) {
    if (time_ns <= -kTimeMaxNs || time_ns >= kTimeMaxNs) time_ns = kNoTime;
  }
  for (Lane& lane : operands_) LoadLane(batch, lane);
  return absl::OkStatus();
}

void TickBatch::LoadLane(const BatchView& batch, Lane& lane) {
  const ColumnView& column = batch.columns[lane.column];
  lane.converted = lane.floating;
  if (lane.minus == SIZE_MAX) {
    return lane.floating ? LoadFloats(column, lane.floats) : LoadLongs(column, lane.longs);
  }
  const ColumnView& minus = batch.columns[lane.minus];
  if (lane.floating) {
    LoadFloats(column, lane.floats);
    LoadFloats(minus, minus_floats_);
    for (size_t i = 0; i < batch.rows; ++i)
      lane.floats[i] = lane.floats[i] - minus_floats_[i] + 0.0;
    return;
  }
  LoadLongs(column, lane.longs);
  LoadLongs(minus, minus_longs_);
  for (size_t i = 0; i < batch.rows; ++i) {
    const bool null = lane.longs[i] == kNullLong || minus_longs_[i] == kNullLong;
    // Wraps, as q's do.
    lane.longs[i] = null ? kNullLong
                         : static_cast<int64_t>(static_cast<uint64_t>(lane.longs[i]) -
                                                static_cast<uint64_t>(minus_longs_[i]));
  }
}

std::span<const double> TickBatch::AsFloats(size_t operand) {
  Lane& lane = operands_[operand];
  if (!lane.converted) {
    lane.floats.resize(lane.longs.size());
    for (size_t i = 0; i < lane.longs.size(); ++i) {
      lane.floats[i] = lane.longs[i] == kNullLong ? kNullFloat : static_cast<double>(lane.longs[i]);
    }
    lane.converted = true;
  }
  return lane.floats;
}

}  // namespace tickstack::aggengine
