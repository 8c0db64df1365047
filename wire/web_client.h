#pragma once

// A client of servers of the web, such as an exchange's: a WebSocket that reconnects, and requests
// by HTTP.
//
//   WebSocketClient, WebFetch   frames and HTTP by Boost.Beast
//   ------------------------------------------------- HttpStream
//   Transport                   TCP, or TLS whose certificate is verified
//
// A name is resolved by a call that blocks the loop, so these clients have a loop of their own.
// Proxies are not used, and redirections are not followed.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "wire/event_loop.h"
#include "wire/tls_context.h"

namespace tickstack::wire {

// `wss://host:port/path?query`.
struct WebAddress {
  std::string scheme;  // ws, wss, http or https.
  std::string host;    // A name or an IP address, without brackets.
  uint16_t port = 0;
  std::string target;  // Path and query; begins with a slash.

  bool tls() const { return scheme == "wss" || scheme == "https"; }
  bool is_web_socket() const { return scheme == "ws" || scheme == "wss"; }
  std::string Host() const;      // As an HTTP request has it: without the scheme's own port.
  std::string ToString() const;  // The whole address.
  std::string Name() const;      // Without the query, which is long or secret.
};

// kInvalidArgument if the text is no such address.
absl::StatusOr<WebAddress> ParseWebAddress(std::string_view text);

struct WebSocketClientOptions {
  std::string first_messages;  // Sent after each connect, in order: one on each line.
  std::chrono::milliseconds connect_timeout{10'000};  // TCP, TLS and upgrade together.
  // After half of that time without a byte, the client sends a ping; at its end, it reconnects.
  std::chrono::milliseconds silence_max{30'000};
  std::chrono::milliseconds first_pause{100};  // Before it reconnects; doubles up to longest_pause.
  // A connection that lasted this long begins with first_pause again.
  std::chrono::milliseconds longest_pause{30'000};
  size_t message_bytes_max = size_t{32} << 20;  // Also of a message that was compressed.
};

// Its functions do not destroy the client.
class WebSocketClientHandler {
 public:
  virtual ~WebSocketClientHandler() = default;
  // The server has accepted a connection. OnClosed tells its end.
  virtual void OnConnected() = 0;
  // A message of text or bytes, valid during the call.
  virtual void OnMessage(std::string_view message) = 0;
  // A connection was lost, or could not be made; the next attempt follows after `pause`.
  virtual void OnClosed(bool was_connected, const absl::Status& why,
                        std::chrono::milliseconds pause) = 0;
};

// Answers pings, and offers compression (permessage-deflate). Threads: the loop's.
class WebSocketClient {
 public:
  // Starts connecting from the loop. `tls` is that of wss, else nullptr. The handler must outlive
  // the client.
  WebSocketClient(EventLoop& loop, WebAddress address, std::shared_ptr<const TlsClientContext> tls,
                  WebSocketClientOptions options, WebSocketClientHandler* handler);
  ~WebSocketClient();  // Closes the connection; the handler is not called any more.
  WebSocketClient(const WebSocketClient&) = delete;
  WebSocketClient& operator=(const WebSocketClient&) = delete;

  // While reading is paused, the kernel's buffers fill, and the server has to wait. If that lasts
  // longer than `silence_max`, the connection is lost.
  void PauseReading();
  void ResumeReading();
  // Closes the connection, which OnClosed then tells, and makes another one after a pause.
  void Reconnect(const absl::Status& why);
  // Closes the connection without a call of OnClosed, and makes none until Resume.
  void Suspend();
  void Resume();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// A GET by HTTP. Threads: the loop's.
class WebFetch {
 public:
  struct Options {
    std::chrono::milliseconds timeout{20'000};  // For all of it.
    size_t body_bytes_max = size_t{32} << 20;
  };
  using Done = std::function<void(absl::StatusOr<std::string> body)>;

  // Calls `done` once from the loop, unless it is destroyed before: kUnavailable, with address and
  // reason, if there is no answer, or one with another status than 200. `done` may destroy this
  // object.
  WebFetch(EventLoop& loop, WebAddress address, std::shared_ptr<const TlsClientContext> tls,
           const Options& options, Done done);
  ~WebFetch();
  WebFetch(const WebFetch&) = delete;
  WebFetch& operator=(const WebFetch&) = delete;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace tickstack::wire
