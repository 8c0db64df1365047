#pragma once

// Balances shards: which symbols should be named in the map, so that shards get equal numbers of
// rows.

#include <cstdint>
#include <string>
#include <vector>

#include "base/name_map.h"
#include "table/shard_map.h"

namespace tickstack::cli {

using RowsOfSymbols = NameMap<int64_t>;

struct ShardPlan {
  NameMap<std::string> symbols;  // The shards of the symbols to name.
  // Rows by shard, in the order of the map, with the given map and with the planned one.
  std::vector<int64_t> rows_before, rows_after;
};

// Symbols with fewer than this share of a shard's mean rows stay where the hash puts them.
inline constexpr double kPlannedShare = 0.01;

// Plans by the longest-processing-time rule: all small symbols are where their hash puts them, and
// each of the others, the heaviest first, goes to the shard that has the fewest rows so far. A
// symbol that the hash would put there, too, is not named.
ShardPlan PlanShards(const ShardMap& map, const RowsOfSymbols& rows);

// The largest shard's rows relative to the mean, minus 1: 0.25 means 25% above it.
double ImbalanceOf(const std::vector<int64_t>& rows);

// Returns a table of rows by shard, then the `[[shard]]` sections with their symbols.
std::string PlanText(const ShardMap& map, const ShardPlan& plan);

}  // namespace tickstack::cli
