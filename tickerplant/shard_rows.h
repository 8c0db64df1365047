#pragma once

// What a tickerplant of a sharded stack does differently: it refuses rows of other shards, and a
// map that changes within a day.
//
// Threads: one owner.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "table/batch.h"
#include "table/schema.h"
#include "table/shard_map.h"
#include "wire/tplog_totals.h"

namespace tickstack::tickerplant {

// Which shard a tickerplant is.
struct ShardOptions {
  std::shared_ptr<const ShardMap> map;  // nullptr: the stack has no shards.
  size_t index = 0;                     // Of map->shards().
  // By feed: rows in logs that the stack has left behind, with other shards or without any.
  NameMap<wire::TableRows> left_rows = {};
};

class ShardRows {
 public:
  // `options` has a map. The schemas must outlive this.
  ShardRows(const ShardOptions& options, std::span<const Schema> schemas);

  // kInvalidArgument unless all rows belong to this shard: `shard: AAPL belongs to shard b`. The
  // batch fits the table's schema. Cost: one pass over a symbol column, with a lookup in a
  // ShardCache per row.
  absl::Status Check(size_t table, const BatchView& batch);

 private:
  ShardCache cache_;
  const size_t shard_;
  const std::span<const Schema> schemas_;
  std::vector<int> columns_;  // By table: ShardColumnOf.
};

// Records the map of a log in `map_path`, before the log has rows. kFailedPrecondition if the log
// has rows of another map, or of a stack without shards; other errors are those of files. `log_path`
// is the log of the day that is to be continued: a map may change between days.
absl::Status SettleShardMap(const std::string& map_path, const std::string& log_path,
                            const ShardMap& map);

}  // namespace tickstack::tickerplant
