#pragma once

// Decides which clients may log in at a server, and with which rights. The wire only carries the
// rights: security/ has the policy.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace tickstack::wire {

// The rights of a client that has logged in. Threads: any.
class ClientRights {
 public:
  virtual ~ClientRights() = default;
  // False once the user has other rights, or none: the server then closes the connection, and the
  // client gets its new rights when it logs in again.
  virtual bool is_current() const = 0;
  // Returns OK, or kPermissionDenied with `access:`, for /metrics. `peer` is for the audit log.
  virtual absl::Status MayReadMetrics(std::string_view peer) const = 0;
};

// An attempt to log in, by kdb+ IPC, HTTP or WebSocket.
struct Login {
  std::string user;
  std::string password;
  std::string peer;  // As Connection::peer().
};

class Authenticator {
 public:
  using Verdict = std::function<void(std::shared_ptr<const ClientRights>)>;
  virtual ~Authenticator() = default;
  // Calls `verdict` once, from any thread, perhaps before it returns; with nullptr to refuse the
  // client. Called on the server's thread, which it must not block.
  virtual void Check(Login login, Verdict verdict) = 0;
};

}  // namespace tickstack::wire
