#pragma once

// Tells the parent of a process once that the process answers, and from then on at intervals that
// its event loop still runs. A process whose loop hangs, in a deadlock or an endless loop, falls
// silent and is restarted, as if it had died.
//
//   parent          answers      is alive                    what the parent does
//   tickstack up    "ready\n"    "alive\n"                   cli/supervisor.h
//                   both on --ready-fd, the second every --heartbeat-ms
//   systemd         READY=1      WATCHDOG=1 twice in         Type=notify, WatchdogSec=
//                                WatchdogSec
//
// Only the event loop is watched. Threads that answer queries or HTTP are not: a query may take as
// long as its client likes.

#include "base/owned_fd.h"
#include "base/service_manager.h"
#include "wire/event_loop.h"
#include "wire/listener_options.h"

namespace tickstack::wire {

// Threads: the loop's.
class Heartbeat {
 public:
  // Reports that the process answers, and starts the heartbeats. Takes the ready descriptor of
  // `listener`, and closes it if no heartbeats were requested.
  Heartbeat(EventLoop& loop, ListenerOptions& listener);
  // Reports to the service manager that the process stops.
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  const ServiceManager manager_;
  OwnedFd parent_;
  Timer parent_beats_;
  Timer manager_beats_;
};

}  // namespace tickstack::wire
