#pragma once

// Logs that a stack has left behind: those of shards that it lacks now, or of the time before it
// had shards.
//
//   DATA/tplog/sym2020.03.09      of the stack without shards
//   DATA/a/tplog/sym2020.03.09    of shard a

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/name_map.h"
#include "table/shard_map.h"
#include "tplog/tplog_totals.h"

namespace tickstack::tickerplant {

// Returns the rows by feed of the newest such logs in `data`, the data directory of the stack with
// the map `map` (nullptr: it has no shards). kFailedPrecondition if such a log has rows of a day
// that has not ended: nothing would answer for them, or write them to a database. Cost: that of
// reading the logs' indexes.
absl::StatusOr<NameMap<tplog::TableRows>> ReadLeftLogs(const std::string& data,
                                                       std::string_view log_name,
                                                       const ShardMap* map);

}  // namespace tickstack::tickerplant
