#pragma once

// Messages to the service manager that started this process, such as systemd with `Type=notify`:
// one datagram of lines like `READY=1` to the socket that $NOTIFY_SOCKET names (sd_notify(3)).
// Without that variable, nothing is sent. docs/decisions/0031-service-manager.md says why
// libsystemd is not used.

#include <cstdint>
#include <string>
#include <string_view>

namespace tickstack {

// The environment variables of a service manager's protocol. They are meant for one process: its
// children must not have them, and SpawnChild removes them.
inline constexpr std::string_view kServiceManagerVariables[] = {"NOTIFY_SOCKET", "WATCHDOG_USEC",
                                                                "WATCHDOG_PID"};

// Threads: any; the environment must not change meanwhile.
class ServiceManager {
 public:
  // Reads the environment.
  ServiceManager();

  bool listens() const { return !socket_.empty(); }
  // Returns the time without a message `WATCHDOG=1` after which the service manager restarts this
  // process; 0 if it does not watch this process.
  int64_t watchdog_ns() const { return watchdog_ns_; }

  // Sends a message of one or more lines. Blocks for at most a second. Logs a warning, once per
  // minute, if the message could not be sent.
  void Notify(std::string_view message) const;

 private:
  std::string socket_;  // A path, or `@` and an abstract name; empty without $NOTIFY_SOCKET.
  int64_t watchdog_ns_ = 0;
};

}  // namespace tickstack
