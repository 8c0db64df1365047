#pragma once

// What every process does to be reachable: listens at the configured address, and reports when it
// answers.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "wire/event_loop.h"
#include "wire/server.h"

namespace tickstack::wire {

struct ListenerOptions {
  std::string host = "127.0.0.1";
  int port = 0;              // 0: the kernel chooses.
  int listen_fd = -1;        // An inherited listening socket, instead of host and port.
  bool unix_socket = false;  // Also kdb+'s abstract socket @/tmp/kx.PORT.
  // Pages, files and WebSockets on the same port. Default: on if only this machine can connect,
  // because pages of other sites can make browsers send requests, and not all browsers say so.
  std::optional<bool> http = std::nullopt;
  std::vector<std::string> http_origins;  // Origins that may open WebSockets, as CheckOrigin takes.
  int ready_fd = -1;                      // ReportReady writes "ready\n" to it.
};

// True if the listener answers HTTP: as `http` says, else where only this machine can connect.
bool AnswersHttp(const ListenerOptions& listener);

absl::StatusOr<std::unique_ptr<Server>> Listen(EventLoop& loop, const ListenerOptions& listener,
                                               const ServerOptions& options,
                                               ServerHandler* handler);

// Tells the parent process that this one answers, and closes the descriptor. Later calls do
// nothing.
void ReportReady(ListenerOptions& listener);

}  // namespace tickstack::wire
