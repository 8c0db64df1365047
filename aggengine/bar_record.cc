#include "aggengine/bar_record.h"

#include <new>

#include "aggengine/bar_functions.h"

namespace tickstack::aggengine {
namespace {

uint64_t Mix(uint64_t hash, uint64_t word) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  const auto product = static_cast<unsigned __int128>(hash ^ word) * kOdd;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace

BarLayout::BarLayout(const BarSpec& spec, const Schema& source, TickBatch& batch)
    : schema_(*SchemaOf(spec, source)) {
  uint32_t words = 0;
  for (size_t i = 0; i < spec.aggregates.size(); ++i) {
    const Aggregate& aggregate = spec.aggregates[i];
    const BarFunction& function = *aggregate.function;
    BarColumn column{&function, schema_.columns[i + kBarKeyColumns + 1].type, false, words};
    if (function.operands != BarFunction::Operands::kNone) {
      column.x = batch.AddOperand(aggregate.x);
      column.floating = batch.is_floating(column.x);
    }
    if (function.operands == BarFunction::Operands::kWeighted) {
      column.weight = batch.AddOperand(aggregate.weight);
    }
    words += column.floating ? function.words_of_floats : function.words_of_longs;
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
  for (const BarColumn& column : columns_) column.function->make(column, *record);
  return record;
}

void BarLayout::ReadRow(const BarRecord& record, uint64_t* row) const {
  *row++ = static_cast<uint64_t>(record.newest_ns);
  for (const BarColumn& column : columns_) *row++ = column.function->result(column, record);
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
