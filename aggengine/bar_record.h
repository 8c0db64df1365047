#pragma once

// The words of a bar's record and their meaning. The published row can be read from them at any
// time.
//
//   record  | begin | slot, flags | published | newest | first | rows | aggregates ...
//                                   hash        time     time            64-bit words
//
//   aggregate      words
//   first last     the value of the first, or last, row by (time, arrival)
//   min max        the value; null until there is one
//   sum            a long that wraps as q's, or an exact sum
//   avg            exact sum, number of values
//   wavg           exact sum of w*x, exact sum of w
//   twavg          exact integral over time, its duration in ns, the last row's value
//
// Threads: constant after construction.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aggengine/aggregate.h"
#include "aggengine/tick_batch.h"
#include "table/schema.h"
#include "table/types.h"

namespace tickstack::aggengine {

// A record, in the memory of a tier. It does not move during the day.
using BarRecord = uint64_t*;

enum BarWord : uint32_t { kBegin, kSlot, kPublished, kNewest, kFirst, kRows, kAggregates };
inline constexpr uint64_t kChangedFlag = uint64_t{1} << 32;  // In the word kSlot.
inline constexpr uint64_t kNothingPublished = 0;             // Value of the word kPublished.
inline constexpr size_t kBarKeyColumns = 2;                  // sym, and when the bar begins.

inline bool IsNull(int64_t value) { return value == kNullLong; }
inline bool IsNull(double value) { return std::isnan(value); }

// An aggregate of a record.
struct BarColumn {
  Function function;
  Type type;      // Type of the published column.
  bool floating;  // True if the operand is a float.
  uint32_t word;  // First word in the record.
  size_t x = 0;   // Index of the operand in the batch.
  size_t weight = 0;
};

class BarLayout {
 public:
  // `spec` must be one that SchemaOf accepts for `source`. Adds the operands that it needs to
  // `batch`.
  BarLayout(const BarSpec& spec, const Schema& source, TickBatch& batch);

  const Schema& schema() const { return schema_; }                 // Schema of published rows.
  std::span<const BarColumn> columns() const { return columns_; }  // From the fourth column on.
  size_t words() const { return words_; }                          // Words of a record.
  size_t row_words() const { return schema_.columns.size() - kBarKeyColumns; }

  // Sets a record to a bar without rows, unpublished.
  void Reset(BarRecord record, int64_t begin_ns, uint32_t slot) const;

  // Reads the published columns from `time` on, each into the low bytes of one of row_words()
  // words.
  void ReadRow(const uint64_t* record, uint64_t* row) const;
  // Returns the hash of such words; bytes above a column's width do not count. Never
  // kNothingPublished.
  uint64_t HashOf(std::span<const uint64_t> row) const;

 private:
  const Schema schema_;
  std::vector<BarColumn> columns_;
  size_t words_ = 0;
};

}  // namespace tickstack::aggengine
