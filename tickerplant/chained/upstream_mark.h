#pragma once

// How far a chained tickerplant has read its upstream's log, in a small text file beside its own
// log, LOG.upstream. Without it, or after a crash, the upstream's log is read from its beginning or
// from an older place, and the rows that are logged here are dropped by their numbers. So the file
// saves time, and may be old or missing.
//
// It also identifies the upstream's log: by the checksums of its first message and of the last one
// that was read, and by the power cuts that were known to have shortened it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/name_map.h"

namespace tickstack::tickerplant {

struct UpstreamMark {
  std::string name;        // UpstreamName: the day and the symbols.
  uint64_t seq = 0;        // Messages of the upstream's log before this one have been read.
  uint32_t first_crc = 0;  // CRC of the upstream's first message.
  uint64_t cuts = 0;       // Number of power cuts that were known.
  NameMap<uint64_t> rows;  // Rows that were taken from those messages, by table.
  std::optional<uint32_t> last_crc = {};  // CRC of message seq - 1.
  friend bool operator==(const UpstreamMark&, const UpstreamMark&) = default;
};

std::string UpstreamMarkPath(std::string_view log_path);

// Returns the mark of a log; nullopt if there is no file. kDataLoss if the file is invalid.
absl::StatusOr<std::optional<UpstreamMark>> ReadUpstreamMark(const std::string& log_path);

// Replaces the file by a rename. Does not wait for the disk.
absl::Status WriteUpstreamMark(const std::string& log_path, const UpstreamMark& mark);

}  // namespace tickstack::tickerplant
