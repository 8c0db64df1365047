#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "wire/address.h"
#include "wire/transport.h"

namespace tickstack::wire {

// An Address in the form that socket calls take.
class SocketAddress {
 public:
  int family() const { return storage_.ss_family; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage_); }
  socklen_t size() const { return size_; }
  void set_size(socklen_t size) { size_ = size; }

 private:
  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

// Resolves names, which may block. kNotFound if there is no such host.
absl::StatusOr<SocketAddress> ToSocketAddress(const Address& address);

PeerName PeerNameOf(int socket);
// True for a Unix socket, and for a TCP socket that is bound to a loopback address.
bool IsOnLoopback(int socket);
uint16_t LocalPortOf(int socket);  // 0 if it has none.

}  // namespace tickstack::wire
