#pragma once

// What the paper found ("Using Intel Optane memory to expand the capacity of a typical realtime kdb
// market data system", README.md of github.com/emc211/optane-kdb-report, final version of July
// 2021), and which of our tests stand beside which of its rows.

#include <span>
#include <string_view>

#include "loadtest/report_run.h"

namespace tickstack::loadtest::report {

struct PaperPair {
  double dram, optane;
};

struct PaperRow {
  std::string_view name;  // As the paper: its test, timers of tickerplant and query in ms.
  double batch_ms, query_ms;
  bool many_rdbs;            // 2 RDBs in DRAM against 10 in Optane, instead of two stacks each.
  PaperPair max_latency_ms;  // From a tick's making until it was in the aggregated data of the RDB.
  PaperPair memory;          // DRAM of an RDB in MB; of the machine in per cent if many_rdbs.
  PaperPair query_avg_ms;
  PaperPair queries_per_minute;
};

std::span<const PaperRow> PaperRows();

// The row with the test's timers; its second test if the two placements differ in RDBs per stack.
// nullptr if the paper has none, or the test does not compare two placements.
const PaperRow* MatchingPaperRow(const TestResult& test);

}  // namespace tickstack::loadtest::report
