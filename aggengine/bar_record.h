#pragma once

// What the words of a bar's record are, and what they say: the published row is read from them at
// any time.
//
//   record   | begin | slot, flags | published | newest | first | rows | aggregates ...     64-bit
//   words
//                                     hash       time     time
//
//   aggregate      words
//   first last     the value of the row that is first, last by (time, arrival)
//   min max        the value; null until there is one
//   sum            a long that wraps as q's, or an exact sum
//   avg            exact sum, how many
//   wavg           exact sum of w*x, exact sum of w
//   twavg          exact integral over time, ns that it is over, the last row's value
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

// A record, in the memory of a tier: it stays where it is for the day.
using BarRecord = uint64_t*;

enum BarWord : uint32_t { kBegin, kSlot, kPublished, kNewest, kFirst, kRows, kAggregates };
inline constexpr uint64_t kChangedFlag = uint64_t{1} << 32;  // Of kSlot.
inline constexpr uint64_t kNothingPublished = 0;             // Of kPublished.
inline constexpr size_t kBarKeyColumns = 2;                  // sym, and when the bar begins.

inline bool IsNull(int64_t value) { return value == kNullLong; }
inline bool IsNull(double value) { return std::isnan(value); }

// An aggregate of a record.
struct BarColumn {
  Function function;
  Type type;      // Type of the published column.
  bool floating;  // True if the operand is a float.
  uint32_t word;  // First word in the record.
  size_t x = 0;   // Number of the operand in the batch.
  size_t weight = 0;
};

class BarLayout {
 public:
  // `spec` must be one that SchemaOf accepts for `source`. Adds the operands that it needs to
  // `batch`.
  BarLayout(const BarSpec& spec, const Schema& source, TickBatch& batch);

  const Schema& schema() const { return schema_; }                 // Of published rows.
  std::span<const BarColumn> columns() const { return columns_; }  // From the fourth column on.
  size_t words() const { return words_; }                          // Words of a record.
  size_t row_words() const { return schema_.columns.size() - kBarKeyColumns; }

  // Sets a record to a bar without rows, unpublished.
  void Reset(BarRecord record, int64_t begin_ns, uint32_t slot) const;

  // Its published columns from `time` on, each in the low bytes of one of row_words() words.
  void ReadRow(const uint64_t* record, uint64_t* row) const;
  // Of such words: what is above a column's width does not count. Never kNothingPublished.
  uint64_t HashOf(std::span<const uint64_t> row) const;

 private:
  const Schema schema_;
  std::vector<BarColumn> columns_;
  size_t words_ = 0;
};

}  // namespace tickstack::aggengine
