#pragma once

// A server: accepts clients of kdb+ IPC, HTTP and WebSockets on one port.

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "wire/address.h"
#include "wire/authenticator.h"
#include "wire/connection.h"
#include "wire/event_loop.h"
#include "wire/http_gateway.h"
#include "wire/transport.h"

namespace tickstack::wire {

class ServerHandler : public ConnectionHandler {
 public:
  // A client has completed its handshake. The server keeps the connection alive until OnClosed.
  virtual void OnOpened(Connection&) {}
};

// Users who may send messages of more than ServerOptions::small_message_bytes.
enum class LargeMessages : uint8_t { kPublishers, kQueriers, kAdministrators };

struct ServerOptions {
  ConnectionOptions connection;
  // Limit on clients that have logged in; places.h says which bounds are below it, and which places
  // are kept beside it.
  size_t max_connections = 1024;
  // Limit of a message of users without the right of `large_messages`. Administrators, the stack's
  // processes, and clients of a server without an authenticator have the limit of `connection`.
  size_t small_message_bytes = size_t{1} << 20;
  LargeMessages large_messages = LargeMessages::kPublishers;
  // Limit of the memory of all unfinished messages (unfinished_messages.h); 0: twice the largest
  // message, at least 256 MiB.
  size_t max_unfinished_bytes = 0;
  // Time from accepting a client until its credentials have arrived, however many reads that takes.
  std::chrono::milliseconds handshake_timeout{3'000};
  // Time that the authenticator has for its verdict.
  std::chrono::milliseconds verdict_timeout{30'000};
  // Limit on clients whose login is incomplete. They do not count against max_connections. When
  // there is one more, one of the address that has most of them is disconnected, so that silent
  // clients cannot keep others out: its oldest one that has not sent its login, or else its oldest.
  size_t max_pending_logins = 256;
  // Decides who may log in; nullptr: everyone. A login is incomplete until it has decided.
  std::shared_ptr<Authenticator> authenticator;
  // True if clients that begin with an HTTP request get pages and WebSockets on the same port.
  bool http = true;
  HttpOptions http_options;
};

// Listens, does the kdb+ handshake, and delivers the messages of its connections. Clients of other
// protocols get a line that their user can read (foreign_protocol.h). Threads:
// everything runs on the loop's thread, except HTTP, which has a thread of its own.
class Server {
 public:
  // kUnavailable, with the address, if it cannot be bound.
  static absl::StatusOr<std::unique_ptr<Server>> Listen(EventLoop& loop, const Address& address,
                                                        const ServerOptions& options,
                                                        ServerHandler* handler);
  // Accepts clients of `listener`, such as one inherited from the parent process.
  static std::unique_ptr<Server> Adopt(EventLoop& loop, std::unique_ptr<Listener> listener,
                                       const ServerOptions& options, ServerHandler* handler);
  ~Server();  // Closes the listener and all connections; the handler is not called any more.

  // Listens on one more address, such as the Unix socket beside a port.
  absl::Status AlsoListen(const Address& address);
  uint16_t port() const;  // The port of the first listener; 0 for a Unix socket.
  // Accepts clients of one more listener.
  void AlsoAdopt(std::unique_ptr<Listener> listener);
  void StopAccepting();
  // Stops accepting, but clients that connect wait in the listeners' queues. Returns the listeners,
  // in the order in which they were added, for another process.
  std::vector<std::unique_ptr<DetachedListener>> ReleaseListeners();
  std::vector<std::shared_ptr<Connection>> Connections() const;

 private:
  struct Impl;
  explicit Server(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace tickstack::wire
