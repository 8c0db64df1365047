#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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

  bool is_unix() const { return !unix_path.empty(); }
  std::string ToString() const;
  friend bool operator==(const Address&, const Address&) = default;
};

// kInvalidArgument if the text is none of these.
absl::StatusOr<Address> ParseAddress(std::string_view text);

}  // namespace tickstack::wire
