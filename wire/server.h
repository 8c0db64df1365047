#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "wire/address.h"
#include "wire/connection.h"
#include "wire/event_loop.h"
#include "wire/http_gateway.h"

namespace tickstack::wire {

class ServerHandler : public ConnectionHandler {
 public:
  // A client has passed its handshake. The server keeps the connection alive until OnClosed.
  virtual void OnOpened(Connection&) {}
};

struct ServerOptions {
  ConnectionOptions connection;
  size_t max_connections = 1024;  // Of clients that have logged in.
  // From accepting a client until its login is whole, however many reads that takes.
  std::chrono::milliseconds handshake_timeout{3'000};
  // Clients whose login is not whole. They take no place of max_connections; when one more comes,
  // the oldest of them is closed, so that silent ones keep nobody out.
  size_t max_pending_logins = 256;
  // Decides who may come in; everyone if empty.
  std::function<bool(std::string_view user, std::string_view password)> authenticate;
  // Clients that begin with an HTTP request get pages and WebSockets on the same port.
  bool http = true;
  HttpOptions http_options;
};

// Listens, does the kdb+ handshake, and hands on the messages of its connections.
// Threads: everything runs on the loop's thread, but for HTTP, which has one of its own.
class Server {
 public:
  // kUnavailable, with the address, if it cannot be bound.
  static absl::StatusOr<std::unique_ptr<Server>> Listen(EventLoop& loop, const Address& address,
                                                        const ServerOptions& options,
                                                        ServerHandler* handler);
  // Takes over a socket that listens already.
  static absl::StatusOr<std::unique_ptr<Server>> Adopt(EventLoop& loop, int listening_socket,
                                                       const ServerOptions& options,
                                                       ServerHandler* handler);
  ~Server();  // Closes the listener and all connections; the handler is not called any more.

  // Listens on one more address, such as the Unix socket beside a port.
  absl::Status AlsoListen(const Address& address);
  uint16_t port() const;  // The port of the first listener; 0 for a Unix socket.
  void StopAccepting();
  std::vector<std::shared_ptr<Connection>> Connections() const;

 private:
  struct Impl;
  explicit Server(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace tickstack::wire
