#pragma once

// Finds the part of a log that can be copied while the tickerplant appends to it.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace tickstack::backup {

struct LogEnd {
  uint64_t log_bytes = 0;
  uint64_t index_bytes = 0;  // End of the index records that describe these bytes.
  uint64_t messages = 0;     // Number of messages in these bytes.
  bool is_indexed = false;   // False: there is no index, and log_bytes is the log's size.
  // Why the index cannot be read to its end; empty if it can. If damaged, log_bytes and index_bytes
  // are the sizes of the files.
  std::string damage = {};
};

// Finds the end of the last message that is described in the index and complete in the log.
// kNotFound if there is no log. Cost: reads the index.
absl::StatusOr<LogEnd> FindLogEnd(const std::string& log);

// Compares the messages of a log, from number `first` on, with their index. Returns a description
// of the damage, or an empty text. Cost: reads the index, and the log from that message on.
std::string FindDamage(const std::string& log, uint64_t first);

}  // namespace tickstack::backup
