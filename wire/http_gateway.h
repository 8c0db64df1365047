#pragma once

// HTTP and WebSockets on a server's port: a thread of its own that speaks them, and asks the
// process as any client does.
//
//   browser -- HTTP ----> session  -- kdb+ IPC over a pair of sockets --> the server's handshake,
//   browser -- frames -->          <-------------------------------------  queues, limits, rights
//
// So nothing of it is new to the process behind: users, bounds and cancelled questions are those of
// a client that connects; and parsing, rendering and slow readers take this thread's time, never
// the loop's that ingests. It begins with the first session.
//
// WebSockets carry what clients of `.z.ws` send: a binary frame is an IPC message, as c.js
// serialises it, of kind async or sync; it is evaluated and the answer comes back as a frame, in
// order; an error as a symbol that begins with a quote. What is published to such a client comes as
// frames too. A text frame is an expression; its answer is a text frame of JSON.
//
// A binary frame with a dictionary of `i` (the expression or list to evaluate) and `ID` (an atom) is
// answered by a dictionary of `o` (the value or error) and the same `ID`. Grafana's data source for
// kdb+ asks so, to match answers to panels.

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/owned_fd.h"

namespace tickstack::wire {

struct HttpOptions {
  // What answers of one client may hold unread beside max_unsent_bytes.
  static constexpr size_t kFreeUnsentBytes = size_t{64} << 10;

  // One more is closed at once, or takes the place of the oldest that has sent no request yet.
  size_t max_sessions = 256;
  size_t max_request_bytes = size_t{1} << 20;      // Of a body or a frame; of a head, 64 KiB.
  size_t max_answer_bytes = size_t{64} << 20;      // Of an answer as the process gives it.
  size_t max_unsent_bytes = size_t{512} << 20;     // Of all answers that wait for slow readers.
  std::chrono::milliseconds idle_timeout{60'000};  // Between two requests, or of a slow body.
  // From the first byte of a request, or from accepting the client, until its head is whole.
  std::chrono::milliseconds head_timeout{3'000};
  // Origins whose pages may open WebSockets beside those of this process: `https://grafana.example`.
  std::vector<std::string> web_socket_origins;
};

// A client of HTTP as the server accepted it.
struct HttpNewcomer {
  OwnedFd socket;
  std::string received;  // What it has sent so far.
  std::string peer;
  bool local = false;  // From this machine.
};

// Whether what a client has sent so far is the begin of an HTTP request: a method, a blank and a
// slash, with which no user of a kdb+ handshake begins.
bool LooksLikeHttp(std::string_view received);

class HttpGateway {
 public:
  // Takes an end of a pair of sockets, on which a client is about to do the kdb+ handshake, and its
  // name for logs. Called on the gateway's thread.
  using ConnectInside = std::function<void(OwnedFd socket, std::string peer)>;

  HttpGateway(const HttpOptions& options, ConnectInside connect);
  ~HttpGateway();  // Ends all sessions and joins the thread.
  HttpGateway(const HttpGateway&) = delete;
  HttpGateway& operator=(const HttpGateway&) = delete;

  // Any thread.
  void Take(HttpNewcomer newcomer);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tickstack::wire
