#pragma once

// The findings of the paper ("Using Intel Optane memory to expand the capacity of a typical
// realtime kdb market data system", README.md of github.com/emc211/optane-kdb-report, final version
// of July 2021), and which of its rows each of our tests is compared with.

#include <cstdint>
#include <span>
#include <string_view>

#include "loadtest/report/run.h"

namespace tickstack::loadtest::report {

// Rows of each RDB before the first update.
inline constexpr int64_t kPaperRdbQuotes = 650'000'000, kPaperRdbTrades = 85'000'000;

struct PaperPair {
  double dram, optane;
};

struct PaperRow {
  std::string_view name;  // In the paper: its test, and the timers of tickerplant and query in ms.
  double batch_ms, query_ms;
  bool many_rdbs;            // 2 RDBs in DRAM against 10 in Optane, instead of two stacks each.
  PaperPair max_latency_ms;  // From when a tick was made until it was in the RDB's aggregated data.
  // MB of DRAM that an RDB uses; if many_rdbs, per cent of the machine's DRAM.
  PaperPair memory;
  PaperPair query_avg_ms;
  PaperPair queries_per_minute;
};

std::span<const PaperRow> PaperRows();

// Returns the row with the test's timers, which is from the paper's second test if the two
// placements differ in RDBs per stack. nullptr if the paper has no such row, or if the test does
// not compare two placements.
const PaperRow* MatchingPaperRow(const RecordedTest& test);

}  // namespace tickstack::loadtest::report
