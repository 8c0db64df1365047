#pragma once

// The running bars of one BarSpec: a record for each symbol and interval that has a row, from which
// the published row is read at any time.
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
// A batch is taken column by column: for every row its record, then for each aggregate one loop
// over the rows. The record of a row is that of the symbol's last interval, nearly always: two
// compares. A row that is late finds its own among the symbol's by a binary search.
//
// Threads: one owner.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aggengine/aggregate.h"
#include "aggengine/record_store.h"
#include "aggengine/step_history.h"
#include "aggengine/tick_batch.h"
#include "base/byte_buffer.h"
#include "mem/tier.h"
#include "table/batch.h"
#include "table/schema.h"
#include "table/symbols.h"

namespace tickstack::aggengine {

// A record that was handed out with a row, for when nobody can say whether the row arrived.
using BarRecord = uint64_t*;

class Bars {
 public:
  // Of a spec that SchemaOf accepts for `source`; adds the operands that it needs to `batch`. The
  // tier outlives this.
  Bars(const BarSpec& spec, const Schema& source, TickBatch& batch, mem::Tier* tier);

  const Schema& schema() const { return schema_; }  // Of what is published.
  // The operands of means over time, each with a history of its own; the histories are the
  // source's, shared by its bars.
  std::span<const size_t> time_operands() const { return time_operands_; }

  // Takes a batch, but for means over time. Returns the rows for which the tier had no room.
  size_t Take(TickBatch& batch);
  // Then for each row in turn, what it did to the history of time_operands()[number].
  void TakeChange(size_t number, size_t row, int64_t time_ns, double value,
                  const StepHistory::Change& change);

  // Rows that differ, or may, from what was last published.
  bool has_changes() const { return next_changed_ < changed_.size(); }
  size_t changed_rows() const { return changed_.size() - next_changed_; }
  // Appends up to `rows_max` changed rows as a list of columns, encoded, and their records; 0 if
  // none really differs: then nothing is appended. What is returned counts as published.
  size_t TakeChangedRows(size_t rows_max, const SymbolTable& symbols, ByteBuffer& columns,
                         std::vector<BarRecord>& records);
  // Rows that were handed out may not have arrived: they are to be published again.
  void PublishAgain(std::span<const BarRecord> records);
  // Rows of these bars that are in the log: those that agree with it need not be published.
  void OnLogged(const BatchView& rows, std::span<const SymbolId> symbols);

  // The next rows belong to another day's log.
  void Clear();

  size_t records() const { return store_.records(); }
  size_t bytes() const { return store_.bytes(); }  // Of the tier,
  size_t index_bytes() const;                      // and of DRAM for what finds the records.

 private:
  struct Column {
    Function function;
    Type type;      // Of the published column.
    bool floating;  // The operand is.
    uint32_t word;  // Of the record.
    size_t x = 0;   // Operands of the batch.
    size_t weight = 0;
  };
  struct Interval {
    int64_t begin_ns;
    BarRecord record;
  };
  struct Current {
    int64_t begin_ns = INT64_MAX;  // Nothing is in it.
    int64_t end_ns = INT64_MIN;
    BarRecord record = nullptr;
  };
  enum Word : uint32_t { kBegin, kSlot, kPublished, kNewest, kFirst, kRows, kAggregates };

  uint32_t Plan(TickBatch& batch);
  int64_t BeginOf(int64_t time_ns) const;
  BarRecord FindOrMake(uint32_t slot, int64_t time_ns);
  BarRecord Find(uint32_t slot, int64_t time_ns) const;
  void Reset(BarRecord record, int64_t begin_ns, uint32_t slot) const;
  void Touch(BarRecord record);
  void TakeColumn(const Column& column, TickBatch& batch);
  template <typename T>
  void TakeValues(const Column& column, std::span<const T> values);
  void AddOver(BarRecord record, const Column& column, double value, int64_t ns, bool take_out);
  uint64_t Result(const Column& column, const uint64_t* record) const;
  void ReadRow(const uint64_t* record, uint64_t* row) const;
  uint64_t HashOf(std::span<const uint64_t> row) const;

  const BarSpec spec_;
  const Schema schema_;
  std::vector<Column> columns_;  // schema_.columns from the fourth on.
  std::vector<size_t> time_operands_;
  std::vector<size_t> time_columns_;  // columns_ by number of time_operands_.
  RecordStore store_;
  std::vector<uint64_t> nowhere_;  // The record of rows that are in no bar.

  std::vector<Current> current_;                  // By symbol slot.
  std::vector<std::vector<Interval>> intervals_;  // By symbol slot, in the order of time.
  std::vector<BarRecord> changed_;                // In the order of their first change.
  size_t next_changed_ = 0;                       // Those before it were taken.

  // The batch in progress: by row.
  std::vector<BarRecord> row_records_;
  std::vector<uint8_t> row_flags_;
  // Rows to be published: schema_.columns.size() - 2 words each, from `time` on.
  std::vector<uint64_t> outgoing_;
};

}  // namespace tickstack::aggengine
