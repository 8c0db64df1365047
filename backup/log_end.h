#pragma once

// How far a log can be copied while the tickerplant appends to it.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace tickstack::backup {

struct LogEnd {
  uint64_t log_bytes = 0;
  uint64_t index_bytes = 0;  // End of the index records that describe these bytes.
  uint64_t messages = 0;     // Number of messages in them.
  bool is_indexed = false;   // False: there is no index, and log_bytes is the log's size.
  // Why the index cannot be read to its end; empty if it can. Then both sizes are the files'.
  std::string damage = {};
};

// Returns the last place at which log and index agree. Cost: reads the index. kNotFound if there is
// no log.
absl::StatusOr<LogEnd> FindLogEnd(const std::string& log);

// Compares the messages of a log from `first` on with their index. Returns what is wrong, empty if
// nothing is. Cost: reads the index, and the log from there.
std::string FindDamage(const std::string& log, uint64_t first);

}  // namespace tickstack::backup
