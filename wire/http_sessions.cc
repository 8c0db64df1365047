#include "wire/http_sessions.h"

#include <unistd.h>

#include <array>
#include <boost/asio/error.hpp>
#include <chrono>
#include <utility>

#include "base/status.h"
#include "wire/http_question.h"
#include "wire/socket_network.h"

namespace tickstack::wire {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using namespace std::chrono_literals;

HttpClientSession::HttpClientSession(HttpSessions& sessions) : sessions_(sessions) {
  sessions_.live_.insert(this);
}

HttpClientSession::~HttpClientSession() {
  DisconnectFromProcess();
  sessions_.live_.erase(this);
  sessions_.RemovePending(this);
}

void HttpClientSession::DisconnectFromProcess() {
  if (inside_ != nullptr) std::exchange(inside_, nullptr)->Detach();
}

HttpSessions::HttpSessions(const HttpOptions& http_options, HttpGateway::ConnectInside connect)
    : options(http_options), connect_(std::move(connect)) {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) == 0) own_name = name.data();
}

void HttpSessions::Open(const Credentials& credentials, const std::string& peer,
                        ConnectionHandler* handler, Opened opened) {
  if (closing_) return opened(Unavailable("no connection to the process: it is closing"));
  auto ends = MakeSocketPair();
  if (!ends.ok()) return opened(Annotate(ends.status(), "no connection to the process"));
  const std::shared_ptr<Transport> transport = ends->first->Attach(loop);
  if (transport == nullptr) return opened(Unavailable("no connection to the process"));
  connect_(std::move(ends->second), peer);
  std::erase_if(handshakes_, [](const auto& old) { return old.expired(); });
  handshakes_.push_back(transport);
  LogIn(transport, credentials,
        [this, transport, peer, handler, opened](const Transport::ErrorCode& refused,
                                                 uint8_t capability) {
          if (closing_) return opened(Unavailable("the process is closing"));
          if (refused == asio::error::broken_pipe) {
            return opened(Unavailable("send: {}", refused.message()));
          }
          if (refused) return opened(absl::PermissionDeniedError("access"));
          ConnectionOptions bounds;
          bounds.max_message_bytes = options.max_answer_bytes;
          std::shared_ptr<Connection> connection =
              Connection::Adopt(transport, peer, capability, true, bounds, handler);
          connection->Start();
          opened(std::move(connection));
        });
}

bool HttpSessions::AbortOldestPending() {
  if (pending_.empty()) return false;
  const std::shared_ptr<HttpClientSession> oldest = pending_.front()->shared_from_this();
  RemovePending(oldest.get());
  oldest->Abort();
  return true;
}

void HttpSessions::Close() {
  closing_ = true;
  events.Close();
  status.Close();
  for (const std::weak_ptr<Transport>& weak : handshakes_) {
    if (const std::shared_ptr<Transport> transport = weak.lock()) transport->Close();
  }
  // A copy, since some of them end during the loop.
  std::vector<std::shared_ptr<HttpClientSession>> all;
  for (HttpClientSession* session : live_) all.push_back(session->shared_from_this());
  for (const std::shared_ptr<HttpClientSession>& session : all) session->Abort();
}

void HttpSessions::Run() {
  loop.RunUntil([this] { return closing_; }, false);
  loop.RunUntil([this] { return live_.empty(); }, 1s);
}

void FinishResponse(const HttpRequest& request, HttpResponse& response) {
  response.version(request.version() == 0 ? 11 : request.version());
  response.set(http::field::server, "tickstack");
  // The same question has another answer later.
  response.set(http::field::cache_control, "no-store");
  response.set("X-Content-Type-Options", "nosniff");
  // With a stricter policy, forms would send no Origin.
  response.set("Referrer-Policy", "same-origin");
  response.set("Content-Security-Policy",
               "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; "
               "base-uri 'none'; frame-ancestors 'none'");
  response.prepare_payload();
  if (request.method() != http::verb::head) return;
  const size_t bytes = response.body().size();
  response.body().clear();
  response.content_length(bytes);
}

Credentials CredentialsOf(const HttpRequest& request) {
  Credentials credentials;
  credentials.capability = kOurCapability;
  const auto header = request[http::field::authorization];
  if (auto sent = ParseAuthorization({header.data(), header.size()})) {
    credentials.user = std::move(sent->user);
    credentials.password = std::move(sent->password);
  }
  return credentials;
}

}  // namespace tickstack::wire
