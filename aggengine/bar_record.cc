#include "aggengine/bar_record.h"

#include <algorithm>
#include <bit>

#include "aggengine/exact_sum.h"

namespace tickstack::aggengine {
namespace {

// Returns the number of words that an aggregate occupies.
uint32_t WordsOf(Function function, bool floating) {
  switch (function) {
    case Function::kCount:
      return 0;  // The record counts its rows anyway.
    case Function::kSum:
      return floating ? kExactWords : 1;
    case Function::kAvg:
      return kExactWords + 1;
    case Function::kWavg:
      return 2 * kExactWords;
    case Function::kTwavg:
      return kExactWords + 2;
    default:
      return 1;
  }
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

uint64_t ResultOf(const BarColumn& column, const uint64_t* record) {
  const uint64_t* const words = record + column.word;
  switch (column.function) {
    case Function::kCount:
      return record[kRows];
    case Function::kSum:
      return column.floating ? FloatBits(ReadExact(words)) : words[0];
    case Function::kAvg:
      return FloatBits(ReadExact(words) / static_cast<double>(words[kExactWords]));
    case Function::kWavg:
      return FloatBits(ReadExact(words) / ReadExact(words + kExactWords));
    case Function::kTwavg:
      if (words[kExactWords] == 0) return FloatBits(std::bit_cast<double>(words[kExactWords + 1]));
      return FloatBits(ReadExact(words) / static_cast<double>(words[kExactWords]));
    default:
      return column.floating ? NarrowFloat(std::bit_cast<double>(words[0]), column.type)
                             : Narrow(static_cast<int64_t>(words[0]), column.type);
  }
}

}  // namespace

BarLayout::BarLayout(const BarSpec& spec, const Schema& source, TickBatch& batch)
    : schema_(*SchemaOf(spec, source)) {
  uint32_t words = kAggregates;
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
  words_ = words;
}

void BarLayout::Reset(BarRecord record, int64_t begin_ns, uint32_t slot) const {
  std::fill_n(record, words_, 0);
  record[kBegin] = static_cast<uint64_t>(begin_ns);
  record[kSlot] = slot;
  record[kPublished] = kNothingPublished;
  record[kNewest] = static_cast<uint64_t>(INT64_MIN);
  record[kFirst] = static_cast<uint64_t>(INT64_MAX);
  for (const BarColumn& column : columns_) {
    const bool extreme = column.function == Function::kMin || column.function == Function::kMax;
    if (extreme)
      record[column.word] = column.floating ? kNullFloatBits : static_cast<uint64_t>(kNullLong);
  }
}

void BarLayout::ReadRow(const uint64_t* record, uint64_t* row) const {
  *row++ = record[kNewest];
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
