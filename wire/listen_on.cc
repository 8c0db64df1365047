#include "wire/listen_on.h"

#include <sys/socket.h>

#include <cerrno>

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
    return Unavailable("{}: {}", address.ToString(), Message(ErrnoStatus(errno, "listen")));
  }
  return listener;
}

uint16_t PortOf(const OwnedFd& socket) { return LocalPortOf(socket.get()); }

}  // namespace tickstack::wire
