#pragma once

// One source table of bars: takes its batches, symbol by symbol, into all of its bars and into the
// histories that their time-weighted means need.
//
//   rows of a symbol     t0 t1 t2 | t3 t4 | t1' | t5      t1': earlier than t4, so it is late
//   runs                 minute 0 | 1     | late| 1
//
// A run is a range of a symbol's rows that are in the order of time, not older than the symbol's
// newest row before them, and within one interval of each of the bars. A late row is a run of its
// own. The symbol is looked up once per run: its record in each of the bars, and the end of its
// history. The integral between the rows of a run is computed once (exact_integral.h) and added to
// the record of each of the bars, since all of them contain it. In batches at a million rows per
// second, a symbol has some five rows, and the busiest have hundreds.
//
// Nearly all symbols have one run in a batch, within their current intervals. These are processed
// in blocks of symbols, in several loops over a block. Each symbol's data is in separate memory,
// found by following pointers. Short loops prefetch it for many symbols at once, so that the loops
// that compute find it in the second-level cache.
//
// Threads: one owner.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "aggengine/aggregate.h"
#include "aggengine/bars.h"
#include "aggengine/exact_integral.h"
#include "aggengine/step_history.h"
#include "aggengine/tick_batch.h"
#include "mem/tier.h"
#include "table/batch.h"
#include "table/schema.h"
#include "table/symbols.h"

namespace tickstack::aggengine {

class BarSource {
 public:
  BarSource(const Schema& schema, SymbolTable* symbols)
      : schema_(schema), batch_(schema_, symbols) {}

  const Schema& schema() const { return schema_; }
  // Adds bars of a spec that SchemaOf accepts. Bars of the same operand share a history; if a new
  // one is needed, it takes at most `history_bytes`. The tier must outlive this.
  Bars* AddBars(const BarSpec& spec, mem::Tier* tier, size_t history_bytes);
  std::span<const std::unique_ptr<Bars>> bars() const { return bars_; }

  struct Taken {
    size_t without_time = 0;  // Rows in no bar.
    size_t late = 0;          // Rows older than an earlier row of their symbol.
    // Rows missing in bars because the tier is full, counted once for each bar.
    size_t refused = 0;
    size_t forgotten = 0;           // Rows too late for a time-weighted mean (step_history.h).
    int64_t newest_ns = INT64_MIN;  // Latest time of rows that are not late.
  };
  // Adds rows that CheckBatch accepts. They are taken later, together with others. On an error of
  // TickBatch::Add, no row is added.
  absl::Status Add(const BatchView& rows) { return batch_.Add(rows); }
  size_t added() const { return batch_.added(); }
  // Takes all added rows. There must be at least one.
  Taken TakeAdded();

  // Removes all bars and histories, and discards added rows.
  void Clear();

  // Return the bytes used in the tier, including histories, and the DRAM of the indexes.
  size_t bytes() const;
  size_t history_bytes() const;
  size_t index_bytes() const;

 private:
  // A time-weighted mean that reads a history, in one of the bars.
  struct Reader {
    size_t bars;    // Index of the bars in bars_.
    size_t number;  // Index of the mean's operand in these bars.
  };
  struct TimedOperand {
    size_t operand;
    std::unique_ptr<StepHistory> history;
    std::vector<Reader> readers;
  };

  void Prefetch(std::span<const SymbolGroups::Group> groups) const;
  void TakeBlock(std::span<const SymbolGroups::Group> groups, Taken& taken);
  void CountSteps(size_t begin, size_t end);
  bool ContinuesIntervals(const SymbolGroups::Group& group, size_t block_begin);
  void TakeIntegral(TimedOperand& timed, size_t block_begin, size_t block_end);
  void TakeGroup(const SymbolGroups::Group& group, Taken& taken);
  uint32_t EndOfRun(uint32_t begin, uint32_t end, int64_t newest_ns) const;
  void TakeRun(const TickRun& run, Taken& taken);
  void TakeHistory(TimedOperand& timed, const TickRun& run, Taken& taken);

  const Schema schema_;
  TickBatch batch_;
  std::vector<std::unique_ptr<Bars>> bars_;
  std::vector<TimedOperand> timed_;
  std::vector<int64_t> newest_ns_;   // By symbol slot.
  std::vector<BarRecord*> records_;  // Current run's records, by bars; nullptr: tier full.
  // Runs of the current block.
  std::vector<TickRun> runs_;
  // Their records: by bars, then by run.
  std::vector<std::vector<BarRecord*>> run_records_;
  // Groups of the current block that are not one run.
  std::vector<SymbolGroups::Group> others_;
  // For each row of the block: the number of rows up to it that are older than the row before them.
  std::vector<uint32_t> back_;
  ExactIntegrals integrals_;
};

}  // namespace tickstack::aggengine
