#pragma once

// Which parts of a remote table a query reads: rows of one process each.
//
//   select from trade where date in 2024.01.02 2024.01.03 2024.01.06
//
//   shard a   past side   trade, 2024.01.02 and 2024.01.03
//             last side   trade@2024.01.06
//   shard b   past side   trade, 2024.01.02 and 2024.01.03
//             last side   trade@2024.01.06
//
// Conditions by item on symbols choose the shards for the last day. On an earlier day, a symbol may
// have been in another shard, so these days are asked of all shards.
//
// Errors: `schema` if a shard lacks the table on the last side, so that its rows would be missing;
//         the status of a shard that has not answered, or that may have further days.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "query/remote/prepared_query.h"
#include "query/remote/remote_table.h"

namespace tickstack::query {

struct RemotePart {
  const RemoteTable* shard;  // One of RemoteTable::Shards(); lives as long as the table.
  RemoteTable::Side side;
  std::string table;           // Its name in the process.
  std::vector<int32_t> days;   // Ascending. Empty: those that the process has.
  std::optional<int32_t> day;  // The value of `date`, which the side does not have as a column.
  bool empty = false;          // No rows, only their types.
};

// Returns the parts that have these days, which ascend: for each shard, the past days process by
// process, then each of the last days.
absl::StatusOr<std::vector<RemotePart>> PartsOfDays(const PreparedQuery& prepared,
                                                    const std::vector<int32_t>& days);

// Returns the rows of `side` as a process of each shard sees them.
absl::StatusOr<std::vector<RemotePart>> PartsWithoutDays(const PreparedQuery& prepared,
                                                         RemoteTable::Side side);

// Returns parts without rows, any of which gives the result over no rows. Without days, that result
// has the columns of the last side.
std::vector<RemotePart> PartsWithoutRows(const RemoteTable& table, bool by_days);

// True if the parts are of more than one shard.
bool AreOfSeveralShards(const std::vector<RemotePart>& parts);

}  // namespace tickstack::query
