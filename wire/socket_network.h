#pragma once

// TCP and Unix sockets over Asio: the network of the processes. In wire/, only three parts handle
// descriptors: this one, listen_on.h, which makes sockets for child processes, and hand_over.h,
// which passes them to a successor.

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "base/owned_fd.h"
#include "wire/transport.h"

namespace tickstack::wire {

// Threads: any.
class SocketNetwork final : public Network {
 public:
  static SocketNetwork& Instance();

  absl::StatusOr<std::unique_ptr<Listener>> Listen(EventLoop& loop,
                                                   const Address& address) override;
  absl::StatusOr<std::unique_ptr<Transport>> Connect(EventLoop& loop, const Address& address,
                                                     Transport::Waited done) override;
};

// Takes over a socket that listens already, such as one inherited from the parent process.
// kInvalidArgument if it does not listen; the descriptor is then left open.
absl::StatusOr<std::unique_ptr<Listener>> AdoptListener(EventLoop& loop, int descriptor);

// Returns the socket of a detached listener that a SocketNetwork had made.
OwnedFd DescriptorOf(std::unique_ptr<DetachedListener> listener);

// Returns the two ends of a stream inside this process. kUnavailable if no descriptor is left.
absl::StatusOr<std::pair<std::unique_ptr<DetachedTransport>, std::unique_ptr<DetachedTransport>>>
MakeSocketPair();

}  // namespace tickstack::wire
