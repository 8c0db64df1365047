#pragma once

// Checks that the rows in a log fit the tables as they are configured now. If a table's columns
// changed within a day, no table could hold the log: an RDB could not replay it, and its day could
// not be written.

#include <span>
#include <string>

#include "absl/status/status.h"
#include "base/name_map.h"
#include "table/schema.h"
#include "tplog/tplog_writer.h"

namespace tickstack::tickerplant {

// kFailedPrecondition if the last rows of a table in the log do not fit its schema; the message has
// the table, the message number, what the row has and what the schema expects. Tables without rows
// or without a schema pass, and so do rows that cannot be read, which other checks report. `blocks`
// is TplogRecovery::last_blocks of the log. Cost: reads a block for each table.
absl::Status CheckLoggedSchemas(const std::string& log_path,
                                const NameMap<tplog::BlockPlace>& blocks,
                                std::span<const Schema> schemas);
// Checks a log that another process writes. Cost: reads its index, and a block for each table.
absl::Status CheckLoggedSchemas(const std::string& log_path, std::span<const Schema> schemas);

}  // namespace tickstack::tickerplant
