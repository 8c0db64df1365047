#pragma once

// A destination of UDP packets: `239.1.1.1:5000`, or `239.1.1.1:5000@eth1` with the interface.

#include <netinet/in.h>

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/owned_fd.h"

namespace tickstack::feed::live {

struct UdpLine {
  in_addr address{};      // IPv4, a multicast group or a host's.
  uint16_t port = 0;      // 1 to 65535.
  std::string interface;  // Such as `eth1`; empty: the kernel chooses it by route.

  bool is_group() const { return IN_MULTICAST(ntohl(address.s_addr)); }
  std::string ToString() const;  // Without the interface.
};

// Parses a line. `interface` is that of a line without one. kInvalidArgument with the text if it is
// no IPv4 address with a port, or if the machine has no such interface.
absl::StatusOr<UdpLine> ParseUdpLine(std::string_view text, const std::string& interface);

// Returns the kernel's number of the line's interface; 0 if it has none.
int InterfaceIndex(const UdpLine& line);

// The address for bind and sendto.
sockaddr_in SocketAddressOf(const UdpLine& line);

// A UDP socket over IPv4 that does not block.
class UdpSocket {
 public:
  static absl::StatusOr<UdpSocket> Open();

  int fd() const { return fd_.get(); }
  // Sets an option; the error names it.
  template <typename T>
  absl::Status Set(int level, int option, const T& value, std::string_view name) {
    return SetBytes(level, option, &value, sizeof(T), name);
  }

 private:
  explicit UdpSocket(OwnedFd fd) : fd_(std::move(fd)) {}
  absl::Status SetBytes(int level, int option, const void* value, socklen_t bytes,
                        std::string_view name);
  OwnedFd fd_;
};

}  // namespace tickstack::feed::live
