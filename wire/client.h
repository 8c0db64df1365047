#pragma once

// A connection that reconnects: it connects, logs in, and after a loss tries again with growing
// pauses. An address may have others (Address::others): after a failure or loss, the client tries
// the next one. It then also asks the server to say that it is alive (protocol::kAlive). If the
// server does, and then sends nothing for about a second, the connection is closed: the machine is
// lost, or the process hangs.

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "wire/address.h"
#include "wire/connection.h"
#include "wire/event_loop.h"

namespace tickstack::wire {

class ClientHandler : public ConnectionHandler {
 public:
  // A new connection is established. OnClosed reports its end, after which the client reconnects.
  virtual void OnConnected(Connection& connection) = 0;
  // An attempt failed; the next one follows after `pause`.
  virtual void OnConnectFailed(const absl::Status&, std::chrono::milliseconds /*pause*/) {}
};

struct ClientOptions {
  ConnectionOptions connection;
  std::string user;
  std::string password;
  // True for a link between processes of a stack: logs in with LinkCredentials() if there are any,
  // instead of `user` and `password`.
  bool is_link = false;
  std::chrono::milliseconds connect_timeout{5000};  // Connect and handshake together.
  std::chrono::milliseconds first_pause{50};        // Doubles up to `longest_pause`.
  std::chrono::milliseconds longest_pause{2000};
  bool reconnect = true;
};

// Threads: everything runs on the loop's thread.
class Client {
 public:
  // Starts connecting from the loop. The handler must outlive the client.
  Client(EventLoop& loop, Address address, const ClientOptions& options, ClientHandler* handler);
  ~Client();  // Closes the connection; the handler is not called any more.
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  Connection* connection() const;  // nullptr while there is none.
  const Address& address() const;
  // Returns the address that it is connected to, or tries next. All others follow it.
  Address current_address() const;
  // Closes the connection and does not reconnect.
  void Stop();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// Connects, sends one request and waits at most `timeout` for the answer. For command-line tools
// and tests. kUnavailable if there is no answer; kUnknown, with q's error text, if the answer is an
// error.
absl::StatusOr<Value> Ask(const Address& address, const Value& request,
                          std::chrono::milliseconds timeout, const ClientOptions& options = {});

}  // namespace tickstack::wire
