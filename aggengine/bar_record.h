#pragma once

// The record of a bar: one symbol in one interval. The published row can be read from it at any
// time.
//
//   record   | begin | slot, changed | published hash | newest | first | rows | states ...
//
// The states of its aggregates follow the record's fields. bar_functions.cc defines them; a count
// has none, because the record counts its rows.
//
// Threads: constant after construction.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aggengine/aggregate.h"
#include "aggengine/exact_integral.h"
#include "aggengine/tick_batch.h"
#include "table/schema.h"
#include "table/types.h"

namespace tickstack::aggengine {

inline constexpr uint64_t kNothingPublished = 0;  // No row has this hash.
inline constexpr size_t kBarKeyColumns = 2;       // sym, and when the bar begins.

// The state of twavg: the exact integral over time, and the value of the last row.
struct OverTimeState {
  ExactIntegral integral;
  double last = 0;
};

// A record is in the memory of a tier, and does not move during the day. BarLayout::Make makes one,
// with the states of its aggregates after it.
struct BarRecord {
  // Returns the state that begins `word` 64-bit words after the fields (BarColumn::word).
  template <typename State>
  State& At(uint32_t word) {
    return *reinterpret_cast<State*>(reinterpret_cast<std::byte*>(this + 1) +
                                     word * sizeof(uint64_t));
  }
  template <typename State>
  const State& At(uint32_t word) const {
    return const_cast<BarRecord*>(this)->At<State>(word);
  }

  int64_t begin_ns;         // When the interval begins.
  uint32_t slot;            // The symbol's slot.
  bool is_changed;          // True if the record has changed since it was published last.
  uint64_t published_hash;  // Hash of the row published last, or kNothingPublished.
  int64_t newest_ns;        // Time of the latest row.
  int64_t first_ns;         // Time of the earliest row.
  uint64_t rows;
};

inline bool IsNull(int64_t value) { return value == kNullLong; }
inline bool IsNull(double value) { return std::isnan(value); }

// An aggregate of a record.
struct BarColumn {
  const BarFunction* function;
  Type type;      // Type of the published column.
  bool floating;  // True if the operand is a float.
  uint32_t word;  // Where the state begins, see BarRecord::At.
  size_t x = 0;   // Index of the operand in the batch.
  size_t weight = 0;
};

class BarLayout {
 public:
  // `spec` must be one that SchemaOf accepts for `source`. Adds the operands that it needs to
  // `batch`.
  BarLayout(const BarSpec& spec, const Schema& source, TickBatch& batch);

  const Schema& schema() const { return schema_; }  // Schema of published rows.
  // Returns the aggregates, which are the published columns from the fourth on.
  std::span<const BarColumn> columns() const { return columns_; }
  size_t record_bytes() const { return sizeof(BarRecord) + state_words_ * sizeof(uint64_t); }
  size_t row_words() const { return schema_.columns.size() - kBarKeyColumns; }

  // Makes the record of a bar that has no rows and is not published. `memory` has record_bytes()
  // bytes and is aligned to 8.
  BarRecord* Make(std::byte* memory, int64_t begin_ns, uint32_t slot) const;

  // Reads the published columns from `time` on, each into the low bytes of one of row_words()
  // words.
  void ReadRow(const BarRecord& record, uint64_t* row) const;
  // Returns the hash of the words of a row; bytes above a column's width do not count. The result
  // is never kNothingPublished.
  uint64_t HashOf(std::span<const uint64_t> row) const;

 private:
  const Schema schema_;
  std::vector<BarColumn> columns_;
  size_t state_words_ = 0;
};

}  // namespace tickstack::aggengine
