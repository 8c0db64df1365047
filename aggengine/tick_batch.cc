#include "aggengine/tick_batch.h"

#include <limits>

#include "base/byte_buffer.h"
#include "base/status.h"

namespace tickstack::aggengine {
namespace {

constexpr double kNullFloat = std::numeric_limits<double>::quiet_NaN();

template <typename T>
void Widen(const std::byte* bytes, size_t rows, int64_t* out) {
  for (size_t i = 0; i < rows; ++i) {
    const T value = LoadLittle<T>(bytes + i * sizeof(T));
    // Bytes have no null.
    const bool null = sizeof(T) > 1 && value == std::numeric_limits<T>::min();
    out[i] = null ? kNullLong : static_cast<int64_t>(value);
  }
}

template <typename T>
void WidenFloats(const std::byte* bytes, size_t rows, double* out) {
  // Adding 0 makes a -0 a 0: which of two equal numbers came first must not show.
  for (size_t i = 0; i < rows; ++i) {
    out[i] = static_cast<double>(LoadLittle<T>(bytes + i * sizeof(T))) + 0.0;
  }
}

void WidenLongs(const ColumnView& column, int64_t* out) {
  const std::byte* const bytes = column.data.data();
  switch (WidthOf(column.type)) {
    case 1:
      return Widen<uint8_t>(bytes, column.rows, out);
    case 2:
      return Widen<int16_t>(bytes, column.rows, out);
    case 4:
      return Widen<int32_t>(bytes, column.rows, out);
    default:
      return Widen<int64_t>(bytes, column.rows, out);
  }
}

template <typename T>
T* RoomFor(size_t rows, std::vector<T>& of) {
  if (of.size() < rows) of.resize(rows);
  return of.data();
}

template <typename T>
void Permute(const std::vector<T>& from, std::span<const uint32_t> order, std::vector<T>& to) {
  to.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) to[i] = from[order[i]];
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

absl::Status TickBatch::Add(const BatchView& batch) {
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
  // Checks the count first: each name has at least a byte, so a count that the bytes cannot hold
  // must reserve no memory.
  if (names.data.size() >= names.rows) {
    ids_.resize(names.rows);
  }
  if (names.data.size() < names.rows ||
      symbols_->InternAll(names.data, ids_) != names.data.size()) {
    return InvalidArgument("sym: {} bytes do not hold {} names", names.data.size(), names.rows);
  }
  const size_t rows = added_ + batch.rows;
  uint32_t* const slots = RoomFor(rows, added_slots_) + added_;
  for (size_t i = 0; i < batch.rows; ++i) slots[i] = SlotOf(ids_[i]);
  int64_t* const times = RoomFor(rows, added_times_) + added_;
  WidenLongs(batch.columns[static_cast<size_t>(source_.Find("time"))], times);
  for (size_t i = 0; i < batch.rows; ++i) {
    if (times[i] <= -kTimeMaxNs || times[i] >= kTimeMaxNs) times[i] = kNoTime;
  }
  for (Lane& lane : lanes_) {
    if (lane.left == SIZE_MAX) WidenColumn(batch.columns[lane.column], lane);
  }
  added_ = rows;
  return absl::OkStatus();
}

void TickBatch::WidenColumn(const ColumnView& column, Lane& lane) const {
  const size_t rows = added_ + column.rows;
  if (!lane.floating) return WidenLongs(column, RoomFor(rows, lane.added_longs) + added_);
  double* const floats = RoomFor(rows, lane.added_floats) + added_;
  if (column.type == Type::kReal) {
    return WidenFloats<float>(column.data.data(), column.rows, floats);
  }
  WidenFloats<double>(column.data.data(), column.rows, floats);
}

void TickBatch::Arrange() {
  groups_.Make(std::span(added_slots_).first(added_), symbol_slots());
  const std::span<const uint32_t> order = groups_.order();
  Permute(added_times_, order, times_);
  for (Lane& lane : lanes_) {
    if (lane.left != SIZE_MAX) {
      LoadDifference(lane);
    } else if (lane.floating) {
      Permute(lane.added_floats, order, lane.floats);
    } else {
      Permute(lane.added_longs, order, lane.longs);
    }
    lane.converted = lane.floating;
  }
  added_ = 0;
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
    // Wraps as q's sums do.
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
