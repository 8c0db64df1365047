#pragma once

// The functions of aggregates, a row of a table each: its word, the types that it takes and gives,
// the state that it keeps in a bar's record, how it takes rows and what it results in.
//
// A new function is a template in bar_functions.cc and its row there, its definition in
// bars_by_definition.h, which a test compares, and its row in docs/operating/tables.md.
//
// Cost: a row's functions are called once for a run of a symbol's rows, or once for many runs; what
// they do for each value is inlined into them.

#include <cstdint>
#include <span>
#include <string_view>

#include "aggengine/symbol_groups.h"
#include "aggengine/tick_batch.h"
#include "table/types.h"

namespace tickstack::aggengine {

struct BarColumn;
struct BarRecord;

// Places of a batch: of one symbol, in the order of time, in one interval.
using TickRun = SymbolGroups::Group;

struct BarFunction {
  enum class Operands : uint8_t { kNone, kOne, kWeighted };

  std::string_view word;  // `count`, `WORD x`, or `w WORD x`.
  Operands operands;
  bool numbers_only;  // Otherwise x may have any type of up to 8 bytes.
  // True if Bars adds to the state, an OverTimeState, what each value held over time.
  bool over_time;
  Type (*type)(Type x);  // Returns the type of the bar's column.

  // Words of the state, if x is a whole number or a float.
  uint32_t words_of_longs, words_of_floats;
  void (*make)(const BarColumn& column, BarRecord& record);
  // Takes a run. `is_first`, `is_last`: the run has the first, or the newest, row of the record.
  void (*take_run)(const BarColumn& column, BarRecord& record, TickBatch& batch, const TickRun& run,
                   bool is_first, bool is_last);
  // Takes runs of different records, each of which has earlier rows, and none newer.
  void (*take_runs)(const BarColumn& column, std::span<BarRecord* const> records, TickBatch& batch,
                    std::span<const TickRun> runs);
  // Returns the value as bits, in the low bytes.
  uint64_t (*result)(const BarColumn& column, const BarRecord& record);
};

std::span<const BarFunction> BarFunctions();

}  // namespace tickstack::aggengine
