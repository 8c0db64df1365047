#include "aggengine/tick_batch.h"

#include <limits>

#include "base/byte_buffer.h"
#include "base/status.h"

namespace tickstack::aggengine {
namespace {

constexpr double kNullFloat = std::numeric_limits<double>::quiet_NaN();

template <typename T>
void Widen(const std::byte* bytes, std::span<const uint32_t> order, bool has_null,
           std::vector<int64_t>& out) {
  out.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const T value = LoadLittle<T>(bytes + order[i] * sizeof(T));
    out[i] = has_null && value == std::numeric_limits<T>::min() ? kNullLong
                                                                : static_cast<int64_t>(value);
  }
}

template <typename T>
void WidenFloats(const std::byte* bytes, std::span<const uint32_t> order,
                 std::vector<double>& out) {
  out.resize(order.size());
  // Plus 0 makes a -0 a 0: the order in which equal numbers come must not show.
  for (size_t i = 0; i < order.size(); ++i) {
    out[i] = static_cast<double>(LoadLittle<T>(bytes + order[i] * sizeof(T))) + 0.0;
  }
}

void WidenLongs(const ColumnView& column, std::span<const uint32_t> order,
                std::vector<int64_t>& out) {
  const std::byte* const bytes = column.data.data();
  switch (WidthOf(column.type)) {
    case 1:
      return Widen<uint8_t>(bytes, order, false, out);
    case 2:
      return Widen<int16_t>(bytes, order, true, out);
    case 4:
      return Widen<int32_t>(bytes, order, true, out);
    default:
      return Widen<int64_t>(bytes, order, true, out);
  }
}

}  // namespace

size_t TickBatch::AddColumn(const std::string& column) {
  return AddOperand({.column = column, .minus = {}});
}

size_t TickBatch::AddOperand(const Operand& operand) {
  for (size_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].operand == operand) return i;
  }
  Lane lane;
  lane.operand = operand;
  lane.floating = IsFloating(*TypeOf(operand, source_));
  if (operand.minus.empty()) {
    lane.column = static_cast<size_t>(source_.Find(operand.column));
  } else {
    lane.left = AddColumn(operand.column);
    lane.right = AddColumn(operand.minus);
  }
  lanes_.push_back(std::move(lane));
  return lanes_.size() - 1;
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
  groups_.Make(slots_, symbol_slots());
  Widen<int64_t>(batch.columns[static_cast<size_t>(source_.Find("time"))].data.data(),
                 groups_.order(), true, times_);
  for (int64_t& time_ns : times_) {
    if (time_ns <= -kTimeMaxNs || time_ns >= kTimeMaxNs) time_ns = kNoTime;
  }
  for (Lane& lane : lanes_) {
    if (lane.left != SIZE_MAX) {
      LoadDifference(lane);
    } else {
      LoadColumn(batch.columns[lane.column], lane);
    }
    lane.converted = lane.floating;
  }
  return absl::OkStatus();
}

void TickBatch::LoadColumn(const ColumnView& column, Lane& lane) const {
  const std::span<const uint32_t> order = groups_.order();
  if (!lane.floating) return WidenLongs(column, order, lane.longs);
  if (column.type == Type::kReal) {
    return WidenFloats<float>(column.data.data(), order, lane.floats);
  }
  WidenFloats<double>(column.data.data(), order, lane.floats);
}

void TickBatch::LoadDifference(Lane& lane) {
  if (lane.floating) {
    const std::span<const double> left = AsFloats(lane.left), right = AsFloats(lane.right);
    lane.floats.resize(left.size());
    for (size_t i = 0; i < left.size(); ++i) lane.floats[i] = left[i] - right[i] + 0.0;
    return;
  }
  const std::span<const int64_t> left = longs(lane.left), right = longs(lane.right);
  lane.longs.resize(left.size());
  for (size_t i = 0; i < left.size(); ++i) {
    const bool null = left[i] == kNullLong || right[i] == kNullLong;
    // Wraps, as q's do.
    lane.longs[i] = null ? kNullLong
                         : static_cast<int64_t>(static_cast<uint64_t>(left[i]) -
                                                static_cast<uint64_t>(right[i]));
  }
}

void TickBatch::Convert(Lane& lane) {
  lane.floats.resize(lane.longs.size());
  for (size_t i = 0; i < lane.longs.size(); ++i) {
    lane.floats[i] = lane.longs[i] == kNullLong ? kNullFloat : static_cast<double>(lane.longs[i]);
  }
  lane.converted = true;
}

}  // namespace tickstack::aggengine
