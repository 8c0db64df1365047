#include "wire/heartbeat.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <string_view>
#include <utility>

#include "base/logging.h"

namespace tickstack::wire {
namespace {

constexpr std::string_view kReady = "ready\n";
constexpr std::string_view kAlive = "alive\n";

bool Write(const OwnedFd& fd, std::string_view text) {
  return ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace

Heartbeat::Heartbeat(EventLoop& loop, ListenerOptions& listener)
    : parent_(std::exchange(listener.ready_fd, -1)), parent_beats_(loop), manager_beats_(loop) {
  if (parent_.is_open() && !Write(parent_, kReady)) {
    LogWarn(
        "ready-fd is not writable, so the parent does not learn that this process is ready fd={}",
        parent_.get());
  }
  if (listener.heartbeat_ms <= 0) parent_.Reset();
  if (parent_.is_open()) {
    // A parent that is stopped does not read, and must not block this loop. One that is dead must
    // not end this process before it has stopped in order (DieWithParent).
    ::fcntl(parent_.get(), F_SETFL, O_NONBLOCK);
    ::signal(SIGPIPE, SIG_IGN);
    parent_beats_.Every(std::chrono::milliseconds(listener.heartbeat_ms),
                        [this] { Write(parent_, kAlive); });
  }
  manager_.Notify("READY=1\nSTATUS=answers");
  if (manager_.watchdog_ns() > 0) {
    manager_beats_.Every(std::chrono::nanoseconds(manager_.watchdog_ns() / 2),
                         [this] { manager_.Notify("WATCHDOG=1"); });
  }
}

Heartbeat::~Heartbeat() { manager_.Notify("STOPPING=1\nSTATUS=stopped"); }

}  // namespace tickstack::wire
