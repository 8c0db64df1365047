#pragma once

// Messages to the service manager that started this process, such as systemd with `Type=notify`:
// one datagram of lines like `READY=1` to the socket that $NOTIFY_SOCKET names (sd_notify(3)).
// Without that variable, nothing is sent. docs/decisions/0031-service-manager.md says why this is
// not libsystemd's.

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
  // The service manager restarts this process if it does not receive `WATCHDOG=1` for this long;
  // 0: it does not watch.
  int64_t watchdog_ns() const { return watchdog_ns_; }

  // Sends a message of one or more lines. Blocks for at most a second. Logs a warning, once per
  // minute, if the message could not be sent.
  void Notify(std::string_view message) const;

 private:
  std::string socket_;  // Path, or `@` and an abstract name.
  int64_t watchdog_ns_ = 0;
};

}  // namespace tickstack
