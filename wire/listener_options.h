#pragma once

// What every process does to be found: listen where it was told to, and say when it answers.

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
  // Pages, files and WebSockets on the same port. Not said: where only this machine can connect. A
  // page from elsewhere can make browsers send requests, and not all say who made them.
  std::optional<bool> http = std::nullopt;
  std::vector<std::string> http_origins;  // Whose pages may open WebSockets; CheckOrigin holds.
  int ready_fd = -1;  // Gets "ready\n" from ReportReady.
};

// True if the listener answers HTTP: as `http` says, else where only this machine can connect.
bool AnswersHttp(const ListenerOptions& listener);

absl::StatusOr<std::unique_ptr<Server>> Listen(EventLoop& loop, const ListenerOptions& listener,
                                               const ServerOptions& options,
                                               ServerHandler* handler);

// Tells whoever started the process that it answers, once; closes the descriptor.
void ReportReady(ListenerOptions& listener);

}  // namespace tickstack::wire
