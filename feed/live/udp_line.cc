#include "feed/live/udp_line.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "base/status.h"

namespace tickstack::feed::live {

std::string UdpLine::ToString() const {
  std::array<char, INET_ADDRSTRLEN> text{};
  inet_ntop(AF_INET, &address, text.data(), text.size());
  return fmt::format("{}:{}", text.data(), port);
}

absl::StatusOr<UdpLine> ParseUdpLine(std::string_view text, const std::string& interface) {
  UdpLine line;
  const size_t at = std::min(text.find('@'), text.size());
  line.interface = at == text.size() ? interface : text.substr(at + 1);
  const std::string_view place = text.substr(0, at);
  const size_t colon = place.find(':');
  const std::string host(place.substr(0, colon));
  const std::string_view port = colon == std::string_view::npos ? "" : place.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), line.port);
  if (inet_pton(AF_INET, host.c_str(), &line.address) != 1 || port.empty() ||
      error != std::errc() || end != port.data() + port.size() || line.port == 0) {
    return InvalidArgument(
        "'{}': expected an IPv4 address and a port, such as 239.1.1.1:5000 or 239.1.1.1:5000@eth1",
        text);
  }
  if (!line.interface.empty() && InterfaceIndex(line) == 0) {
    return InvalidArgument("{}: this machine has no interface '{}' (`ip link` lists them)",
                           line.ToString(), line.interface);
  }
  return line;
}

int InterfaceIndex(const UdpLine& line) {
  return line.interface.empty() ? 0 : static_cast<int>(if_nametoindex(line.interface.c_str()));
}

sockaddr_in SocketAddressOf(const UdpLine& line) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(line.port);
  address.sin_addr = line.address;
  return address;
}

absl::StatusOr<UdpSocket> UdpSocket::Open() {
  OwnedFd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.is_open()) return ErrnoStatus(errno, "UDP socket");
  return UdpSocket(std::move(fd));
}

absl::Status UdpSocket::SetBytes(int level, int option, const void* value, socklen_t bytes,
                                 std::string_view name) {
  if (setsockopt(fd(), level, option, value, bytes) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, name);
}

}  // namespace tickstack::feed::live
