#pragma once

// What a run measured, and its output as lines of `|`-separated columns.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "measure/query_suite/history_clients.h"

namespace tickstack::measure::query_suite {

// One query asked by a number of clients, either with an empty page cache or again.
struct HistoryRound {
  std::string query;
  size_t clients = 0;
  bool cold = false;
  bool on_memory = false;  // True: the database is in memory.
  size_t rows = 0;         // Rows of the first client's answer.
  AnswerTimes times;
  uint64_t read_bytes = 0;  // Bytes that the hdb read from storage meanwhile.
  uint64_t database_bytes = 0;
  // Bytes of each directory of par.txt in the page cache before and after.
  std::vector<uint64_t> cached_before;
  std::vector<uint64_t> cached_after;

  // Returns the percentage of the database that was in the page cache when the round began.
  double CachedPercent() const;
  // Returns "memory"; "storage" if the round was cold, and at most 1 % was in the page cache; "page
  // cache" if the hdb read at most 1 % of what the page cache had afterwards; else "both".
  std::string_view ServedBy() const;
  // Returns the bytes of a directory that the round brought into the page cache.
  uint64_t BytesFrom(size_t directory) const;
  // Returns the largest of these divided by their mean; 0 if there are none.
  double Skew() const;
};

// Returns a sentence if a cold round found the database in the page cache; "" if all is well.
std::string WarningOf(const HistoryRound& round);

// Returns a line for each round, after one with the names of the columns.
std::string RoundsPsv(const std::vector<HistoryRound>& rounds);

// Returns a line for each cold round and directory: how the bytes that it read were spread.
std::string SpreadPsv(const std::vector<HistoryRound>& rounds,
                      const std::vector<std::string>& directories);

}  // namespace tickstack::measure::query_suite
