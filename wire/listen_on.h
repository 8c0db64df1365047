#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/owned_fd.h"

namespace tickstack::wire {

// A TCP socket that listens on host:port, close-on-exec; port 0: the kernel chooses.
// kUnavailable, with the address, if it cannot be bound.
absl::StatusOr<OwnedFd> ListenOn(const std::string& host, uint16_t port);
uint16_t PortOf(const OwnedFd& socket);

}  // namespace tickstack::wire
