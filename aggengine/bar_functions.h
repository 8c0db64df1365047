#pragma once

// The functions of aggregates. Each is a row of a table: its word, the types that it takes and
// returns, the state that it keeps in a bar's record, how it takes rows, and how its result is
// read.
//
// A new function needs a template and a row in bar_functions.cc, a definition in
// bars_by_definition.h, with which a test compares it, and a row in docs/operating/tables.md.
//
// Cost: the functions of this table are called once for a run of a symbol's rows, or once for many
// runs; the work for each value is inlined into them.

#include <cstdint>
#include <span>
#include <string_view>

#include "aggengine/symbol_groups.h"
#include "aggengine/tick_batch.h"
#include "table/types.h"

namespace tickstack::aggengine {

struct BarColumn;
struct BarRecord;

// Consecutive places of a batch (tick_batch.h): rows of one symbol, in the order of time, in one
// interval.
using TickRun = SymbolGroups::Group;

struct BarFunction {
  enum class Operands : uint8_t { kNone, kOne, kWeighted };

  std::string_view word;  // `count`, `WORD x`, or `w WORD x`.
  Operands operands;
  bool numbers_only;  // Otherwise x may have any type of up to 8 bytes.
  // True if the state is an OverTimeState, to which Bars adds each value times its duration.
  bool over_time;
  Type (*type)(Type x);  // Returns the type of the bar's column.

  // Size of the state in 64-bit words, if x is an integer and if x is a float.
  uint32_t words_of_longs, words_of_floats;
  void (*make)(const BarColumn& column, BarRecord& record);
  // Takes a run. `is_first`, `is_last`: the run has the first, or the newest, row of the record.
  void (*take_run)(const BarColumn& column, BarRecord& record, TickBatch& batch, const TickRun& run,
                   bool is_first, bool is_last);
  // Takes runs, each of a different record that has earlier rows and no newer ones.
  void (*take_runs)(const BarColumn& column, std::span<BarRecord* const> records, TickBatch& batch,
                    std::span<const TickRun> runs);
  // Returns the value as bits, in the low bytes.
  uint64_t (*result)(const BarColumn& column, const BarRecord& record);
};

std::span<const BarFunction> BarFunctions();

}  // namespace tickstack::aggengine
