#pragma once

// The figures that `tickstack top` shows, from the answers of the processes. Plain functions.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/top_watch.h"
#include "serve/health.h"

namespace tickstack::cli {

// The use of one memory tier of an rdb.
struct TierFigure {
  std::string rdb;
  std::string tier;
  double used_bytes = 0;
  std::optional<double> capacity_bytes;  // nullopt: limited by the machine only.
  double refused = 0;                    // Allocations that it refused.
};

// One process. nullopt: it has no such figure, or it is not known yet.
struct ProcessFigures {
  std::string name;
  std::string role;
  std::string state;  // Such as live, behind, publishing; down and silent if it does not answer.
  bool answers = false;
  std::optional<double> rows_in_per_s;
  std::optional<double> rows_out_per_s;
  std::optional<double> messages_out_per_s;  // From a tickerplant to all subscribers.
  std::optional<double> queries_per_s;
  std::optional<double> behind_rows;      // Rows that a tickerplant's slowest subscriber lacks.
  std::optional<double> behind_messages;  // Published messages that the process has not applied.
  std::optional<double> lag_ms;
  // Time from a row's timestamp until it can be queried, since the start; for an hdb, of queries.
  std::optional<double> p50_ms;
  std::optional<double> p99_ms;
  std::optional<double> memory_bytes;  // Of tables, bars, or decompressed columns.
  std::optional<double> queued_bytes;  // Unsent or unread.
  std::optional<double> queries_waiting;
  std::optional<double> clients;  // Subscribers of a tickerplant, clients of an rdb or hdb.
};

struct StackFigures {
  std::string day;  // Day that the tickerplant captures, such as 2020.03.09; empty if unknown.
  std::vector<ProcessFigures> processes;
  std::vector<TierFigure> tiers;
  // `NAME: why`: why processes are not ready, or do not answer.
  std::vector<std::string> problems;
};

// Returns the figures of `now`. Rates are those since `before`, which has the same processes or is
// empty; a process that has restarted has none.
StackFigures FiguresOf(const std::vector<TopAnswer>& before, const std::vector<TopAnswer>& now,
                       const serve::HealthLimits& limits);

}  // namespace tickstack::cli
