#pragma once

// What identifies a tickerplant's log: its day and its content. Members of a cluster have the same
// log at different paths, and a folder may be moved. A path, in turn, is used again on another day
// of a replay or after a cleanup.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tickstack::tplog {

struct LogIdentity {
  std::string path;                           // Empty if there is no log.
  std::optional<uint32_t> first_message_crc;  // CRC of its bytes; nullopt if not known yet.
  uint32_t cuts = 0;  // Power cuts known to have shortened the log: see `.u.cuts`.
  friend bool operator==(const LogIdentity&, const LogIdentity&) = default;
};

// A message of a log, by which its content is recognised.
struct KnownMessage {
  uint64_t seq = 0;
  uint32_t crc = 0;  // CRC of its bytes.
  friend bool operator==(const KnownMessage&, const KnownMessage&) = default;
};

// Returns the day at the end of a log's path, in days since 2000-01-01.
std::optional<int32_t> DayOfLog(std::string_view path);

// True if both are known to be the same log: they begin with the same message, and are of the same
// day or at the same path.
bool IsSameLog(const LogIdentity& a, const LogIdentity& b);

}  // namespace tickstack::tplog
