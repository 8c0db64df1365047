#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tickstack::wire {

// An address on which a process listens, or to which clients connect: `host:port`, `:port` (this
// machine), `tcps://host:port` with TLS, `unix:PATH`, or `unix:@NAME` for an abstract socket of
// Linux (kdb+ listens on `unix:@/tmp/kx.PORT`).
struct Address {
  std::string host;       // Empty for a Unix socket.
  uint16_t port = 0;      // 0 when listening: the kernel chooses.
  std::string unix_path;  // Empty for TCP; starts with '@' for an abstract socket.
  bool tls = false;       // Connect with TLS. A listener's options say whether it takes it.
  // Where a client tries next if this address does not answer or closes the connection, such as the
  // standbys of a tickerplant. They have no others of their own.
  std::vector<Address> others = {};

  bool is_unix() const { return !unix_path.empty(); }
  std::string ToString() const;
  friend bool operator==(const Address&, const Address&) = default;
};

// Several addresses are separated by commas: `a:5010,b:5010`. kInvalidArgument if the text is none
// of these.
absl::StatusOr<Address> ParseAddress(std::string_view text);

}  // namespace tickstack::wire
