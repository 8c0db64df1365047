#pragma once

// What the members of a cluster share (election_store.h): which of them leads, and which may lead
// next. As text, one line each, so that `etcdctl get` shows it:
//
//   tickstack 1
//   epoch 7
//   leader a 10.0.0.1:5010
//   beat 1200
//   insync a b
//
// Threads: reentrant.

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tickerplant/standby/in_sync_set.h"

namespace tickstack::tickerplant {

struct Leadership {
  uint64_t epoch = 0;   // Number of the newest leader; 0: there has been none.
  std::string leader;   // Empty: the newest leader has resigned.
  std::string address;  // Where the leader accepts clients and standbys.
  uint64_t beat = 0;    // The leader increases it as long as it leads.
  MemberNames in_sync;  // The members that may lead, the leader included.

  friend bool operator==(const Leadership&, const Leadership&) = default;
};

std::string TextOf(const Leadership& leadership);
// kInvalidArgument if the text has another form, such as that of another version.
absl::StatusOr<Leadership> ParseLeadership(std::string_view text);

// kInvalidArgument unless the name of a member is 1 to 64 letters, digits, `_`, `-` and `.`.
absl::Status CheckMemberName(std::string_view name);

}  // namespace tickstack::tickerplant
