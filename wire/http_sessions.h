#pragma once

// The state that a gateway's sessions share: options, live sessions, and access to the process.
// Threads: the gateway's.

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/status/statusor.h"
#include "wire/connection.h"
#include "wire/event_hub.h"
#include "wire/event_loop.h"
#include "wire/handshake.h"
#include "wire/http_gateway.h"
#include "wire/http_stream.h"
#include "wire/status_pages.h"

namespace tickstack::wire {

using HttpRequest = boost::beast::http::request<boost::beast::http::string_body>;
using HttpResponse = boost::beast::http::response<boost::beast::http::string_body>;

class HttpSessions;

// A client of the gateway. Its pending operations keep it alive.
class HttpClientSession : public ConnectionHandler,
                          public std::enable_shared_from_this<HttpClientSession> {
 public:
  explicit HttpClientSession(HttpSessions& sessions);
  ~HttpClientSession() override;
  HttpClientSession(const HttpClientSession&) = delete;
  HttpClientSession& operator=(const HttpClientSession&) = delete;

  // Closes the client's socket, so that all pending operations end with an error.
  virtual void Abort() = 0;

 protected:
  // Disconnects from the process, which then drops what it evaluates for this client.
  void DisconnectFromProcess();

  HttpSessions& sessions_;
  std::shared_ptr<Connection> inside_;  // nullptr: not connected to the process.
};

class HttpSessions {
 public:
  using Opened = std::function<void(absl::StatusOr<std::shared_ptr<Connection>>)>;

  HttpSessions(const HttpOptions& http_options, HttpGateway::ConnectInside connect);

  // Connects to the process with these credentials. The callback gets the connection, which has
  // started reading; kPermissionDenied; or kUnavailable. `handler` must outlive the connection, or
  // detach it.
  void Open(const Credentials& credentials, const std::string& peer, ConnectionHandler* handler,
            Opened opened);

  // Returns the time that a client has to read `bytes`: idle_timeout plus 1 s for every 100 kB.
  std::chrono::milliseconds TimeToTake(size_t bytes) const {
    return options.idle_timeout + std::chrono::milliseconds(bytes / 100);
  }

  // True if a client that has `held` unread bytes may get `bytes` more. A small amount is always
  // allowed, so that clients that do not read cannot block the others.
  bool HasRoom(size_t held, size_t bytes) const {
    return held + bytes <= HttpOptions::kFreeUnsentBytes ||
           unsent_bytes + bytes <= options.max_unsent_bytes;
  }

  // Ends all sessions, and runs until none is left or a second has passed.
  void Close();
  void Run();

  size_t count() const { return live_.size(); }

  // Clients that have not sent the whole head of their first request, oldest first.
  void AddPending(HttpClientSession* session) { pending_.push_back(session); }
  void RemovePending(HttpClientSession* session) { std::erase(pending_, session); }
  bool AbortOldestPending();  // False if there is none.

  EventLoop loop;
  const HttpOptions options;
  StatusDesk status{loop, options.status, options.status_loop};
  EventHub events{loop, status};
  std::string own_name;     // This machine's name.
  size_t unsent_bytes = 0;  // Unread bytes of answers, over all sessions.

 private:
  friend class HttpClientSession;
  const HttpGateway::ConnectInside connect_;
  std::unordered_set<HttpClientSession*> live_;
  std::vector<HttpClientSession*> pending_;
  std::vector<std::weak_ptr<Transport>> handshakes_;  // Streams of logins that are under way.
  bool closing_ = false;
};

// Reads requests from a client and answers them until it leaves. After an upgrade to WebSocket,
// RunWebSocketSession takes over.
void RunHttpSession(HttpSessions& sessions, std::unique_ptr<Transport> transport,
                    AcceptedHttpClient client);

// `request` asked for the upgrade and may have it.
void RunWebSocketSession(HttpSessions& sessions, HttpStream stream, HttpRequest request,
                         const std::string& peer);

// `request` is a GET of /events.
void RunEventSession(HttpSessions& sessions, HttpStream stream, HttpRequest request,
                     const std::string& peer);

// Adds the headers that every response to `request` has, and its length.
void FinishResponse(const HttpRequest& request, HttpResponse& response);

// Returns the credentials of a request; the name is empty if it has none.
Credentials CredentialsOf(const HttpRequest& request);

}  // namespace tickstack::wire
