#pragma once

// What a tickerplant of a sharded stack does differently: it refuses rows of other shards, and a
// map that changes within a day.
//
// Threads: one owner.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "table/batch.h"
#include "table/schema.h"
#include "table/shard_id.h"
#include "table/shard_map.h"
#include "tplog/tplog_totals.h"

namespace tickstack::tickerplant {

// Which shard a tickerplant is.
struct ShardOptions {
  std::shared_ptr<const ShardMap> map;  // nullptr: the stack has no shards.
  size_t index = 0;                     // Of map->shards().
  // By feed: rows in logs that the stack has left behind, with other shards or without any.
  NameMap<tplog::TableRows> left_rows = {};
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

// Returns the path of the file beside the logs that names their shard and map.
std::string ShardFileOf(const std::string& log_directory, std::string_view log_name);

// True if a log has more than its header. Errors: those of files.
absl::StatusOr<bool> HasRows(const std::string& log_path);

// Records in `shard_path` whose rows a log has; removes the file for a stack without shards. Call
// it with the log's lock held, and before the log has rows. `log_path` is the log of the day to
// continue: a map may change between days. kFailedPrecondition if that log has rows of another
// shard or map; other errors are those of files.
absl::Status SettleShard(const std::string& shard_path, const std::string& log_path, bool has_rows,
                         const ShardId& id);

// Returns the error with which SettleShard would fail now. Changes nothing, so it needs no lock.
// With `is_takeover`, also refuses a change while the log has no rows: the process before it is
// still logging.
absl::Status CheckShard(const std::string& shard_path, const std::string& log_path,
                        const ShardId& id, bool is_takeover);

}  // namespace tickstack::tickerplant
