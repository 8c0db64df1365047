#include "aggengine/bar_record.h"

#include <algorithm>
#include <bit>
#include <new>
#include <type_traits>

namespace tickstack::aggengine {
namespace {

// Calls f with the type of an aggregate's state; not for kCount, which has none.
template <typename F>
auto WithStateType(Function function, bool floating, F f) {
  switch (function) {
    case Function::kSum:
      return floating ? f(std::type_identity<ExactSum>{}) : f(std::type_identity<uint64_t>{});
    case Function::kAvg:
      return f(std::type_identity<MeanState>{});
    case Function::kWavg:
      return f(std::type_identity<WeightedState>{});
    case Function::kTwavg:
      return f(std::type_identity<OverTimeState>{});
    case Function::kFirst:
    case Function::kLast:
    case Function::kMin:
    case Function::kMax:
    case Function::kCount:
      break;
  }
  return f(std::type_identity<uint64_t>{});
}

// Returns the number of words that an aggregate's state occupies.
uint32_t WordsOf(Function function, bool floating) {
  if (function == Function::kCount) return 0;
  return WithStateType(function, floating, []<typename State>(std::type_identity<State>) {
    static_assert(sizeof(State) % sizeof(uint64_t) == 0 && alignof(State) == alignof(uint64_t));
    return static_cast<uint32_t>(sizeof(State) / sizeof(uint64_t));
  });
}

uint64_t FloatBits(double value) {
  return std::isnan(value) ? kNullFloatBits : std::bit_cast<uint64_t>(value);
}

// Returns a widened integer as one of `type`, in the low bytes.
uint64_t Narrow(int64_t value, Type type) {
  if (IsNull(value)) {
    if (WidthOf(type) == sizeof(int16_t)) return static_cast<uint16_t>(kNullShort);
    if (WidthOf(type) == sizeof(int32_t)) return static_cast<uint32_t>(kNullInt);
  }
  return static_cast<uint64_t>(value);
}

uint64_t NarrowFloat(double value, Type type) {
  if (type != Type::kReal) return FloatBits(value);
  return std::isnan(value) ? kNullRealBits : std::bit_cast<uint32_t>(static_cast<float>(value));
}

uint64_t Mix(uint64_t hash, uint64_t word) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  const auto product = static_cast<unsigned __int128>(hash ^ word) * kOdd;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

double Ratio(double sum, uint64_t terms) { return sum / static_cast<double>(terms); }

uint64_t ResultOf(const BarColumn& column, const BarRecord& record) {
  switch (column.function) {
    case Function::kCount:
      return record.rows;
    case Function::kSum:
      return column.floating ? FloatBits(record.At<ExactSum>(column.word).Value())
                             : record.At<uint64_t>(column.word);
    case Function::kAvg: {
      const auto& mean = record.At<MeanState>(column.word);
      return FloatBits(Ratio(mean.sum.Value(), mean.terms));
    }
    case Function::kWavg: {
      const auto& mean = record.At<WeightedState>(column.word);
      return FloatBits(mean.products.Value() / mean.weights.Value());
    }
    case Function::kTwavg: {
      const auto& mean = record.At<OverTimeState>(column.word);
      const int64_t over_ns = mean.integral.over_ns;
      if (over_ns == 0) return FloatBits(mean.last);
      return FloatBits(Ratio(mean.integral.sum.Value(), static_cast<uint64_t>(over_ns)));
    }
    case Function::kFirst:
    case Function::kLast:
    case Function::kMin:
    case Function::kMax:
      break;
  }
  const auto bits = record.At<uint64_t>(column.word);
  return column.floating ? NarrowFloat(std::bit_cast<double>(bits), column.type)
                         : Narrow(static_cast<int64_t>(bits), column.type);
}

}  // namespace

BarLayout::BarLayout(const BarSpec& spec, const Schema& source, TickBatch& batch)
    : schema_(*SchemaOf(spec, source)) {
  uint32_t words = 0;
  for (size_t i = 0; i < spec.aggregates.size(); ++i) {
    const Aggregate& aggregate = spec.aggregates[i];
    BarColumn column{aggregate.function, schema_.columns[i + kBarKeyColumns + 1].type, false,
                     words};
    if (aggregate.function != Function::kCount) {
      column.x = batch.AddOperand(aggregate.x);
      column.floating = batch.is_floating(column.x);
    }
    if (aggregate.function == Function::kWavg) column.weight = batch.AddOperand(aggregate.weight);
    words += WordsOf(column.function, column.floating);
    columns_.push_back(column);
  }
  state_words_ = words;
}

BarRecord* BarLayout::Make(std::byte* memory, int64_t begin_ns, uint32_t slot) const {
  auto* const record = new (memory) BarRecord{.begin_ns = begin_ns,
                                              .slot = slot,
                                              .is_changed = false,
                                              .published_hash = kNothingPublished,
                                              .newest_ns = INT64_MIN,
                                              .first_ns = INT64_MAX,
                                              .rows = 0};
  std::byte* const states = memory + sizeof(BarRecord);
  for (const BarColumn& column : columns_) {
    if (column.function == Function::kCount) continue;
    WithStateType(column.function, column.floating, [&]<typename State>(std::type_identity<State>) {
      new (states + column.word * sizeof(uint64_t)) State{};
    });
    const bool extreme = column.function == Function::kMin || column.function == Function::kMax;
    if (extreme) {
      record->At<uint64_t>(column.word) =
          column.floating ? kNullFloatBits : static_cast<uint64_t>(kNullLong);
    }
  }
  return record;
}

void BarLayout::ReadRow(const BarRecord& record, uint64_t* row) const {
  *row++ = static_cast<uint64_t>(record.newest_ns);
  for (const BarColumn& column : columns_) *row++ = ResultOf(column, record);
}

uint64_t BarLayout::HashOf(std::span<const uint64_t> row) const {
  uint64_t hash = 0x243f6a8885a308d3;
  for (size_t i = 0; i < row.size(); ++i) {
    const size_t bits = 8 * WidthOf(schema_.columns[i + kBarKeyColumns].type);
    hash = Mix(hash, bits < 64 ? row[i] & ((uint64_t{1} << bits) - 1) : row[i]);
  }
  return hash == kNothingPublished ? 1 : hash;
}

}  // namespace tickstack::aggengine
