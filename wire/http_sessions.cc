#include "wire/http_sessions.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <utility>

#include "base/status.h"
#include "wire/http_question.h"

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
  sessions_.RemoveNewcomer(this);
}

void HttpClientSession::DisconnectFromProcess() {
  if (inside_ != nullptr) std::exchange(inside_, nullptr)->Detach();
}

// The client side of a connection's handshake with the process.
struct HttpSessions::Handshake {
  Handshake(asio::io_context& context, int descriptor) : socket(context) {
    boost::system::error_code ignored;
    socket.assign(asio::generic::stream_protocol(AF_UNIX, 0), descriptor, ignored);
  }
  asio::generic::stream_protocol::socket socket;
  std::string said;
  std::array<std::byte, 1> capability{};
};

HttpSessions::HttpSessions(const HttpOptions& http_options, HttpGateway::ConnectInside connect)
    : options(http_options), connect_(std::move(connect)) {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) == 0) own_name = name.data();
}

void HttpSessions::Open(const Credentials& credentials, const std::string& peer,
                        ConnectionHandler* handler, Opened opened) {
  int ends[2];
  if (closing_ || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return opened(Unavailable("no connection to the process: {}",
                              closing_ ? "it is closing" : "no socket is left"));
  }
  connect_(OwnedFd(ends[1]), peer);
  auto handshake = std::make_shared<Handshake>(loop.context(), ends[0]);
  handshake->said = FormatCredentials(credentials);
  std::erase_if(handshakes_, [](const auto& old) { return old.expired(); });
  handshakes_.push_back(handshake);
  const auto on_read = [this, handshake, peer, handler, opened](
                           const boost::system::error_code& refused, size_t) {
    if (closing_) return opened(Unavailable("the process is closing"));
    if (refused) return opened(absl::PermissionDeniedError("access"));
    boost::system::error_code error;
    const int descriptor = handshake->socket.release(error);
    if (error) return opened(Unavailable("release: {}", error.message()));
    ConnectionOptions bounds;
    bounds.max_message_bytes = options.max_answer_bytes;
    std::shared_ptr<Connection> connection = Connection::Adopt(
        loop, descriptor, peer, std::to_integer<uint8_t>(handshake->capability[0]), true, bounds,
        handler);
    connection->Start();
    opened(std::move(connection));
  };
  asio::async_write(handshake->socket, asio::buffer(handshake->said),
                    [handshake, opened, on_read](const boost::system::error_code& unsent, size_t) {
                      if (unsent) return opened(Unavailable("send: {}", unsent.message()));
                      asio::async_read(handshake->socket, asio::buffer(handshake->capability),
                                       on_read);
                    });
}

bool HttpSessions::AbortOldestNewcomer() {
  if (newcomers_.empty()) return false;
  const std::shared_ptr<HttpClientSession> oldest = newcomers_.front()->shared_from_this();
  RemoveNewcomer(oldest.get());
  oldest->Abort();
  return true;
}

void HttpSessions::Close() {
  closing_ = true;
  for (const std::weak_ptr<Handshake>& weak : handshakes_) {
    boost::system::error_code ignored;
    if (const std::shared_ptr<Handshake> handshake = weak.lock()) handshake->socket.close(ignored);
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
  if (auto basic = ParseBasicAuthorization({header.data(), header.size()})) {
    credentials.user = std::move(basic->user);
    credentials.password = std::move(basic->password);
  }
  return credentials;
}

}  // namespace tickstack::wire
