#pragma once

// The state that a gateway's sessions share: options, live sessions, and access to the process.
//
// Sessions have at most max_sessions places, N. A session that waits for its client, between two
// requests or inside of one, can be ended at any time, so a new session replaces one of these:
// first one without a login, then one of a user; of the address that has most of them; the oldest.
// If all places are busy, with requests of users, WebSockets and listeners to events, a session
// whose login or status page is under way is replaced. So users are refused, with status 503, if
// they would keep more than 3 N / 4 places busy, one name more than N / 4, or one address of
// another machine more than N / 2. These bounds do not apply to administrators and the stack.
//
// Threads: the gateway's.

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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
  HttpClientSession(HttpSessions& sessions, const std::string& peer);
  ~HttpClientSession() override;
  HttpClientSession(const HttpClientSession&) = delete;
  HttpClientSession& operator=(const HttpClientSession&) = delete;

  // Closes the client's socket, so that all pending operations end with an error.
  virtual void Abort() = 0;

 protected:
  friend class HttpSessions;
  // What a session does with its place.
  enum class Use : uint8_t {
    kWaits,  // For its client.
    kAsks,   // For the verdict about its login, or for a status page, which needs none.
    kBusy,   // Answers a request of a client that has logged in, or serves it without an end.
    kEnded,  // Was aborted.
  };

  // Disconnects from the process, which then drops what it evaluates for this client.
  void DisconnectFromProcess();

  HttpSessions& sessions_;
  std::shared_ptr<Connection> inside_;  // nullptr: not connected to the process.
  Use use_ = Use::kWaits;
  std::string address_;               // The client's; what AddressInPeer returns.
  std::optional<InsideLogin> login_;  // nullopt: it has not logged in.
  std::string user_;
  uint64_t waits_since_ = 0;  // Number of the event since which it waits.
};

class HttpSessions {
 public:
  using Opened = std::function<void(absl::StatusOr<std::shared_ptr<Connection>>)>;

  HttpSessions(const HttpOptions& http_options, HttpGateway::ConnectInside connect);

  // Connects to the process with these credentials. The callback gets the connection, which has
  // started reading; kPermissionDenied; or kUnavailable. The session, which handles the connection,
  // must outlive it, or detach it.
  void Open(const Credentials& credentials, const std::string& peer, HttpClientSession* session,
            Opened opened);

  // Marks a session as busy for a client that has logged in. kUnavailable if it may not be.
  absl::Status MakeBusy(HttpClientSession& session);
  // Marks a session as one that waits for its client.
  void MakeWait(HttpClientSession& session) {
    session.use_ = HttpClientSession::Use::kWaits;
    session.waits_since_ = ++events_seen_;
  }
  // Likewise, between two requests. Its connection to the process may end, because each of these
  // takes a place of its user there. A next request makes a new one.
  void MakeIdle(HttpClientSession& session);
  // True if there is a place for one more session, perhaps because another one was ended.
  bool MakePlace();

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

  size_t count() const;  // Without sessions that were aborted.

  EventLoop loop;
  const HttpOptions options;
  StatusDesk status{loop, options.status, options.status_loop};
  EventHub events{loop, status};
  std::string own_name;     // This machine's name.
  size_t unsent_bytes = 0;  // Unread bytes of answers, over all sessions.
  size_t bodies_bytes = 0;  // Bytes of large bodies that are being received, as declared.

 private:
  friend class HttpClientSession;
  static int RankToEnd(const HttpClientSession& session);
  static void LogRefused(const HttpClientSession& session, std::string_view reason);
  const HttpGateway::ConnectInside connect_;
  std::unordered_set<HttpClientSession*> live_;
  uint64_t events_seen_ = 0;
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
