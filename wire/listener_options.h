#pragma once

// Options of the port on which a process listens.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "wire/address.h"
#include "wire/authenticator.h"
#include "wire/event_loop.h"
#include "wire/server.h"
#include "wire/tls_transport.h"

namespace tickstack::wire {

struct ListenerOptions {
  std::string host = "127.0.0.1";
  int port = 0;              // 0: the kernel chooses.
  int listen_fd = -1;        // An inherited listening socket; replaces host and port.
  int unix_listen_fd = -1;   // An inherited socket that listens on @/tmp/kx.PORT.
  bool unix_socket = false;  // True if it also listens on kdb+'s abstract socket @/tmp/kx.PORT.
  // True if pages, files and WebSockets are served on the same port. Default: true if only this
  // machine can connect, because pages of other sites can make browsers send requests, and not all
  // browsers reveal that.
  std::optional<bool> http = std::nullopt;
  // Origins whose pages may open WebSockets, as CheckOrigin takes them.
  std::vector<std::string> http_origins = {};
  // TLS on the port; not on Unix sockets.
  TlsUse tls = TlsUse::kOff;
  TlsServerOptions tls_files = {};
  size_t max_connections = 1024;  // See ServerOptions.
  // Decides who may log in; nullptr: everyone.
  std::shared_ptr<Authenticator> authenticator = nullptr;
  // True: listens beyond loopback although everyone may log in.
  bool insecure = false;
  int ready_fd = -1;     // Pipe to the parent; wire/heartbeat.h says what is written to it.
  int heartbeat_ms = 0;  // Interval of heartbeats on ready_fd; 0: none.
};

// True if the listener answers HTTP: the value of `http`, or its default.
bool AnswersHttp(const ListenerOptions& listener);

// Returns the address at which clients of this machine find the listener: with TLS if the listener
// requires it, and a loopback address if it listens on all addresses.
Address AddressOf(const ListenerOptions& listener);

// True if only this machine can connect to a host of this name.
bool IsLoopback(std::string_view host);

// Returns kFailedPrecondition if other machines could connect and everyone may log in, unless
// `insecure` is set or every client needs a certificate.
absl::Status CheckReach(const ListenerOptions& listener);

// Errors: those of Server::Listen and CheckReach.
absl::StatusOr<std::unique_ptr<Server>> Listen(EventLoop& loop, const ListenerOptions& listener,
                                               const ServerOptions& options,
                                               ServerHandler* handler);

}  // namespace tickstack::wire
