#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/owned_fd.h"
#include "wire/address.h"

namespace tickstack::wire {

// Returns a TCP socket that listens on host:port, close-on-exec. Port 0: the kernel chooses.
// kUnavailable if the address cannot be bound: the error is that of ListenError.
absl::StatusOr<OwnedFd> ListenOn(const std::string& host, uint16_t port);
uint16_t PortOf(const OwnedFd& socket);

// Returns the error of a bind or listen call that failed with `error_number`: kUnavailable, with
// the address and, if it is in use, the process: `port 5011 is in use by tickstack rdb (pid 1234)`.
absl::Status ListenError(const Address& address, int error_number, std::string_view call);

}  // namespace tickstack::wire
