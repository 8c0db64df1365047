#pragma once

// Interface of what decides which clients may log in to a server, and with which rights. This
// folder only attaches the rights to connections; security/ implements the interface.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "wire/places.h"

namespace tickstack::wire {

// The rights of a client that has logged in. Threads: any.
class ClientRights {
 public:
  virtual ~ClientRights() = default;
  // False after the rights of the user have changed. The server then closes the connection, and the
  // client gets its new rights when it logs in again.
  virtual bool is_current() const = 0;
  // Returns OK, or kPermissionDenied with `access:`, for /metrics. `peer` is for the audit log.
  virtual absl::Status MayReadMetrics(std::string_view peer) const = 0;
  virtual PlaceClass place() const { return PlaceClass::kUser; }
  // Limit of connections of the user; 0: the server's.
  virtual size_t max_connections() const { return 0; }
  // True if the user may publish, or query, some table.
  virtual bool PublishesAnything() const { return true; }
  virtual bool QueriesAnything() const { return true; }
};

// An attempt to log in, by kdb+ IPC, HTTP or WebSocket.
struct Login {
  std::string user;
  std::string password;
  std::string peer;  // What Connection::peer() returns.
};

class Authenticator {
 public:
  using Verdict = std::function<void(std::shared_ptr<const ClientRights>)>;
  virtual ~Authenticator() = default;
  // Called on the server's thread, which it must not block. Calls `verdict` once, from any thread
  // and perhaps before it returns, with the client's rights or with nullptr to refuse the client.
  virtual void Check(Login login, Verdict verdict) = 0;
};

}  // namespace tickstack::wire
