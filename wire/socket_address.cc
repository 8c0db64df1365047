#include "wire/socket_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <cstddef>
#include <cstring>

#include "base/status.h"

namespace tickstack::wire {
namespace {

SocketAddress UnixAddress(const std::string& path) {
  SocketAddress address;
  auto* un = reinterpret_cast<sockaddr_un*>(address.get());
  un->sun_family = AF_UNIX;
  std::memcpy(un->sun_path, path.data(), path.size());
  const bool abstract = path[0] == '@';
  if (abstract) un->sun_path[0] = '\0';
  // An abstract name has no final NUL; a path has one.
  address.set_size(
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + (abstract ? 0 : 1)));
  return address;
}

uint16_t PortOf(const SocketAddress& address) {
  if (address.family() == AF_INET)
    return ntohs(reinterpret_cast<const sockaddr_in*>(address.get())->sin_port);
  if (address.family() == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6*>(address.get())->sin6_port);
  return 0;
}

bool IsLoopbackAddress(const SocketAddress& address) {
  if (address.family() == AF_INET) {
    const auto* in = reinterpret_cast<const sockaddr_in*>(address.get());
    return (ntohl(in->sin_addr.s_addr) >> 24) == 127;
  }
  if (address.family() != AF_INET6) return false;
  const in6_addr& in6 = reinterpret_cast<const sockaddr_in6*>(address.get())->sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&in6) || (IN6_IS_ADDR_V4MAPPED(&in6) && in6.s6_addr[12] == 127);
}

}  // namespace

absl::StatusOr<SocketAddress> ToSocketAddress(const Address& address) {
  if (address.is_unix()) return UnixAddress(address.unix_path);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_family = AF_UNSPEC;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  if (const int error = ::getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found);
      error != 0) {
    return NotFound("{}: {}", address.ToString(), ::gai_strerror(error));
  }
  SocketAddress result;
  std::memcpy(result.get(), found->ai_addr, found->ai_addrlen);
  result.set_size(found->ai_addrlen);
  ::freeaddrinfo(found);
  return result;
}

PeerName PeerNameOf(int socket) {
  SocketAddress peer;
  socklen_t size = sizeof(sockaddr_storage);
  if (::getpeername(socket, peer.get(), &size) != 0) return {"unknown", false};
  char text[INET6_ADDRSTRLEN] = "";
  if (peer.family() == AF_UNIX) return {"unix", true};
  if (peer.family() == AF_INET) {
    const auto* in = reinterpret_cast<const sockaddr_in*>(peer.get());
    ::inet_ntop(AF_INET, &in->sin_addr, text, sizeof text);
    return {fmt::format("{}:{}", text, PortOf(peer)), IsLoopbackAddress(peer)};
  }
  const auto* in6 = reinterpret_cast<const sockaddr_in6*>(peer.get());
  ::inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof text);
  return {fmt::format("[{}]:{}", text, PortOf(peer)), IsLoopbackAddress(peer)};
}

bool IsOnLoopback(int socket) {
  SocketAddress local;
  socklen_t size = sizeof(sockaddr_storage);
  if (::getsockname(socket, local.get(), &size) != 0) return false;
  return local.family() == AF_UNIX || IsLoopbackAddress(local);
}

uint16_t LocalPortOf(int socket) {
  SocketAddress local;
  socklen_t size = sizeof(sockaddr_storage);
  if (::getsockname(socket, local.get(), &size) != 0) return 0;
  return PortOf(local);
}

}  // namespace tickstack::wire
