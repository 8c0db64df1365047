#include "wire/listen_on.h"

#include <sys/socket.h>

#include <cerrno>

#include "base/process_lookup.h"
#include "base/status.h"
#include "wire/socket_address.h"

namespace tickstack::wire {

absl::StatusOr<OwnedFd> ListenOn(const std::string& host, uint16_t port) {
  const Address address{host, port, ""};
  TS_ASSIGN_OR_RETURN(const SocketAddress where, ToSocketAddress(address));
  OwnedFd listener(socket(where.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener.is_open()) return ErrnoStatus(errno, "socket");
  const int on = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(listener.get(), where.get(), where.size()) != 0 ||
      listen(listener.get(), SOMAXCONN) != 0) {
    return ListenError(address, errno, "listen");
  }
  return listener;
}

absl::Status ListenError(const Address& address, int error_number, std::string_view call) {
  if (error_number == EADDRINUSE && address.is_unix()) {
    return Unavailable("{}: in use by {}", address.ToString(),
                       DescribeUnixSocketHolder(address.unix_path));
  }
  if (error_number == EADDRINUSE && address.port != 0) {
    return Unavailable("{}: port {} is in use by {}", address.ToString(), address.port,
                       DescribePortHolder(address.port));
  }
  return Unavailable("{}: {}", address.ToString(), Message(ErrnoStatus(error_number, call)));
}

uint16_t PortOf(const OwnedFd& socket) { return LocalPortOf(socket.get()); }

}  // namespace tickstack::wire
