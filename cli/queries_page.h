#pragma once

// The page that `tickstack hdb queries --results DIR` writes for people: one file of HTML without
// scripts that needs no network. It has a failure and warnings first, then the medians side by
// side, every round, how the database's directories shared the work, and the queries' definitions.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "measure/query_suite/history_queries.h"
#include "measure/query_suite/history_results.h"

namespace tickstack::cli {

struct QueriesRun {
  std::string database = {};  // Its path.
  std::string begin = {};     // When the run began, UTC, like `2024.01.29D00:00:00`.
  std::vector<const measure::query_suite::HistoryQuery*> queries = {};
  measure::query_suite::DatabaseFacts facts = {};
  std::vector<std::string> directories = {};  // Of par.txt; without it, the database's.
  std::vector<measure::query_suite::HistoryRound> rounds = {};  // In the order in which they ran.
  uint64_t seed = 0;
  double seconds = 0;        // Duration of a warm round.
  std::string drop = {};     // What was dropped before cold rounds: `machine`, `files` or `none`.
  int query_threads = 0;     // The hdb's; 0: its default.
  std::string failure = {};  // Why the run ended before its last round; "": it did not.
};

// Returns the page. All texts are escaped. The facts about the machine are those of the caller's.
// Cost: a few KiB a round. Threads: reentrant.
std::string QueriesPage(const QueriesRun& run);

}  // namespace tickstack::cli
