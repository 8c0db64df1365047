#pragma once

// Sends datagrams to one destination, as an exchange sends a line.

#include <cstddef>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "feed/live/udp_line.h"

namespace tickstack::feed::live {

struct SenderSettings {
  int ttl = 1;           // Of multicast packets: 0 this machine, 1 this network, up to 255 routers.
  bool loopback = true;  // True: receivers on this machine get multicast packets too.
};

// Threads: one owner.
class UdpSender {
 public:
  // Errors name the line and what the system refused.
  static absl::StatusOr<UdpSender> Open(const UdpLine& line, const SenderSettings& settings);

  // Sends a datagram; blocks while the system has no room for it. Errors as for Open. Cost: a
  // system call.
  absl::Status Send(std::span<const std::byte> payload);

  const UdpLine& line() const { return line_; }

 private:
  UdpSender(UdpLine line, UdpSocket socket) : line_(std::move(line)), socket_(std::move(socket)) {}

  UdpLine line_;
  UdpSocket socket_;
};

}  // namespace tickstack::feed::live
