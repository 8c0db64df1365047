#pragma once

// HTTP and WebSockets on a server's port. A separate thread speaks these protocols and queries the
// process as any other client does.
//
//   browser -- HTTP ----> session  -- kdb+ IPC over a pair of sockets --> the server's handshake,
//   browser -- frames -->          <-------------------------------------  queues, limits, rights
//
// To the process, such a client is like any other: the same users, bounds and cancellation apply.
// Parsing, rendering and slow readers take this thread's time, not that of the ingest loop. The
// thread starts with the first session.
//
// A binary WebSocket frame is an IPC message as c.js serialises it, async or sync. It is evaluated,
// and the answer is sent as a frame, in order; an error is a symbol that begins with a quote.
// Messages that are published to such a client are sent as frames, too. A text frame is an
// expression, and its answer a text frame of JSON.
//
// A binary frame with a dictionary of `i` (the expression or list to evaluate) and `ID` (an atom)
// is answered by a dictionary of `o` (the value or error) and the same `ID`. Grafana's data source
// for kdb+ sends such frames, to match answers to panels.

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wire/places.h"
#include "wire/status_pages.h"
#include "wire/transport.h"

namespace tickstack::wire {

struct HttpOptions {
  // Unread bytes that each client may have in addition to max_unsent_bytes.
  static constexpr size_t kFreeUnsentBytes = size_t{64} << 10;

  // Beyond this number, a new session replaces one that waits for its client (http_sessions.h). If
  // there is none, the new session is refused.
  size_t max_sessions = 256;
  size_t max_request_bytes = size_t{1} << 20;  // Limit of a body or frame; a head: 64 KiB.
  // Limit of a body before its sender has logged in, and of a frame of users without rights.
  size_t small_request_bytes = size_t{64} << 10;
  size_t max_bodies_bytes = size_t{64} << 20;      // Limit of all larger bodies that are received.
  size_t max_answer_bytes = size_t{64} << 20;      // Limit of an answer as IPC.
  size_t max_unsent_bytes = size_t{512} << 20;     // Limit of all unread answers together.
  std::chrono::milliseconds idle_timeout{60'000};  // Between two requests, or parts of a body.
  // Time from the first byte of a request, or from accepting the client, to the end of its head.
  std::chrono::milliseconds head_timeout{3'000};
  // Origins whose pages may open WebSockets, in addition to this process's own:
  // `https://grafana.example`.
  std::vector<std::string> web_socket_origins;
  // Answers /metrics, /healthz and /readyz (status_pages.h); nullptr: there are no such pages. Must
  // outlive the server.
  StatusSource* status = nullptr;
  EventLoop* status_loop = nullptr;  // The loop on which `status` is called: the server's.
  // Set by the server: it checks logins, so /readyz gives its reasons only to users who may read
  // metrics.
  bool checks_logins = false;
};

// An accepted client of HTTP.
struct AcceptedHttpClient {
  std::unique_ptr<DetachedTransport> transport;
  std::string received;  // Bytes that it has sent so far.
  std::string peer;
  bool local = false;  // From this machine.
};

// What the server answers to the login of a connection inside of the process, as one byte.
struct InsideLogin {
  uint8_t capability = 0;
  PlaceClass place = PlaceClass::kAnonymous;
  bool may_send_large = false;  // False: the frames of its WebSocket must be small.

  uint8_t ToByte() const {
    return static_cast<uint8_t>(capability | static_cast<unsigned>(place) << 4 |
                                (may_send_large ? 0x40u : 0u));
  }
  static InsideLogin FromByte(uint8_t byte) {
    return {static_cast<uint8_t>(byte & 0xf), static_cast<PlaceClass>(byte >> 4 & 3),
            (byte & 0x40) != 0};
  }
};

class HttpGateway {
 public:
  // Takes one end of a stream, on which a client will do the kdb+ handshake, and the client's name
  // for logs. Called on the gateway's thread.
  using ConnectInside =
      std::function<void(std::unique_ptr<DetachedTransport> end, std::string peer)>;

  HttpGateway(const HttpOptions& options, ConnectInside connect);
  ~HttpGateway();  // Ends all sessions and joins the thread.
  HttpGateway(const HttpGateway&) = delete;
  HttpGateway& operator=(const HttpGateway&) = delete;

  // Any thread.
  void Take(AcceptedHttpClient client);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tickstack::wire
