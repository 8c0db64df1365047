#pragma once

// The running bars of one BarSpec: a record (bar_record.h) for each symbol and interval that has a
// row, and which records have changed since they were published.
//
// Rows are taken in runs: rows of one symbol, in the order of time, in one interval (bar_source.h
// divides them). A run needs one look-up of its record, nearly always that of the symbol's last
// interval, and one pass over each operand, which accumulates in registers. A late row is a run of
// its own, whose record is found among the symbol's by a binary search.
//
// Threads: one owner.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aggengine/aggregate.h"
#include "aggengine/bar_functions.h"
#include "aggengine/bar_record.h"
#include "aggengine/exact_integral.h"
#include "aggengine/record_store.h"
#include "aggengine/step_history.h"
#include "aggengine/tick_batch.h"
#include "base/byte_buffer.h"
#include "mem/tier.h"
#include "table/batch.h"
#include "table/schema.h"
#include "table/symbols.h"

namespace tickstack::aggengine {

class Bars {
 public:
  // `spec` must be one that SchemaOf accepts for `source`. Adds the operands that it needs to
  // `batch`. The tier must outlive this.
  Bars(const BarSpec& spec, const Schema& source, TickBatch& batch, mem::Tier* tier);

  const Schema& schema() const { return layout_.schema(); }  // Schema of published rows.
  // The operands of time-weighted means. Each has a history, which belongs to the source and is
  // shared by all its bars.
  std::span<const size_t> time_operands() const { return time_operands_; }

  // Begins a batch with `symbol_slots` symbols. A tier that was full is tried again once.
  void BeginBatch(size_t symbol_slots);
  // Returns the record of the symbol's last interval.
  BarRecord* Current(uint32_t slot) const { return current_[slot]; }
  // Returns the record of the symbol's interval at this time; nullptr if the tier is full.
  BarRecord* RecordAt(uint32_t slot, int64_t time_ns) {
    BarRecord* const current = current_[slot];
    return Has(current, time_ns) ? current : FindOrMake(slot, time_ns);
  }
  bool Has(const BarRecord* record, int64_t time_ns) const {
    return static_cast<uint64_t>(time_ns) - static_cast<uint64_t>(record->begin_ns) <
           static_cast<uint64_t>(width_ns_);
  }
  int64_t EndOf(const BarRecord* record) const { return record->begin_ns + width_ns_; }
  // Takes a run of the record's rows, except for time-weighted means.
  void TakeRun(BarRecord* record, TickBatch& batch, const TickRun& run);
  // Takes many runs in the same way. Each is of a different symbol, whose record has rows already,
  // none of them newer than the run's. Works aggregate by aggregate, so that the processor accesses
  // several records at a time.
  void TakeRuns(std::span<BarRecord* const> records, TickBatch& batch,
                std::span<const TickRun> runs);
  // Takes the change that a row has made to the history of time_operands()[number]. `record` is the
  // row's.
  void TakeChange(size_t number, BarRecord* record, int64_t time_ns, double value,
                  const StepHistory::Change& change);
  // Takes the integral of a run of rows that are the newest of their symbol and all in this record.
  void TakeIntegral(size_t number, BarRecord* record, const ExactIntegral& integral);

  // Prefetch the memory that a symbol's next run touches: first the pointer to its record, then the
  // record.
  void PrefetchFinder(uint32_t slot) const {
    __builtin_prefetch(static_cast<const void*>(&current_[slot]));
  }
  void PrefetchRecord(uint32_t slot) const { PrefetchForWriting(current_[slot]); }

  // True if rows differ, or may differ, from what was last published.
  bool has_changes() const { return next_changed_ < changed_.size(); }
  size_t changed_rows() const { return changed_.size() - next_changed_; }
  // Appends up to `rows_max` changed rows as an encoded list of columns, and their records. Returns
  // 0 and appends nothing if none really differs. The appended rows count as published.
  size_t TakeChangedRows(size_t rows_max, const SymbolTable& symbols, ByteBuffer& columns,
                         std::vector<BarRecord*>& records);
  // Marks rows that may not have arrived, to be published again.
  void PublishAgain(std::span<BarRecord* const> records);
  // Receives rows of these bars that are in the log: bars that agree with them need not be
  // published.
  void OnLogged(const BatchView& rows, std::span<const SymbolId> symbols);

  // Removes all bars: the next rows belong to another day's log.
  void Clear();

  size_t records() const { return store_.records(); }
  size_t bytes() const { return store_.bytes(); }  // Bytes in the tier.
  size_t index_bytes() const;                      // DRAM used to find records.

 private:
  struct Interval {
    int64_t begin_ns;
    BarRecord* record;
  };

  void PrefetchForWriting(const BarRecord* record) const {
    const auto* const memory = reinterpret_cast<const std::byte*>(record);
    for (size_t at = 0; at < store_.record_bytes(); at += 64) __builtin_prefetch(memory + at, 1);
  }
  int64_t BeginOf(int64_t time_ns) const;
  BarRecord* FindOrMake(uint32_t slot, int64_t time_ns);
  BarRecord* Find(uint32_t slot, int64_t time_ns) const;
  void Touch(BarRecord* record);
  void AddOver(BarRecord* record, const BarColumn& column, double value, int64_t ns, bool take_out);
  void ReadChangedRows(size_t rows_max, std::vector<BarRecord*>& records);
  void AppendKeys(std::span<BarRecord* const> rows, const SymbolTable& symbols,
                  ByteBuffer& columns) const;

  const BarLayout layout_;
  const int64_t width_ns_;
  std::vector<size_t> time_operands_;
  std::vector<size_t> time_columns_;  // Columns of the layout, in the order of time_operands_.
  RecordStore store_;
  std::vector<uint64_t> no_record_memory_;
  BarRecord* no_record_;  // Replaces a missing record: no time is in its interval.

  std::vector<BarRecord*> current_;  // By symbol slot: the record of its last interval.
  std::vector<std::vector<Interval>> intervals_;  // By symbol slot, in the order of time.
  std::vector<BarRecord*> changed_;               // In the order of their first change.
  size_t next_changed_ = 0;                       // Entries before it were taken.

  // Rows to be published: row_words() words each.
  std::vector<uint64_t> outgoing_;
};

}  // namespace tickstack::aggengine
