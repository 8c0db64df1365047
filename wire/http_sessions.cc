#include "wire/http_sessions.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <chrono>
#include <tuple>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "base/string_map.h"
#include "wire/connection_counts.h"
#include "wire/http_question.h"
#include "wire/socket_network.h"

namespace tickstack::wire {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using namespace std::chrono_literals;

HttpClientSession::HttpClientSession(HttpSessions& sessions, const std::string& peer)
    : sessions_(sessions), address_(AddressInPeer(peer)) {
  sessions_.live_.insert(this);
  sessions_.MakeWait(*this);
  ++ConnectionCounts::OfProcess().http_sessions;
}

HttpClientSession::~HttpClientSession() {
  DisconnectFromProcess();
  sessions_.live_.erase(this);
  --ConnectionCounts::OfProcess().http_sessions;
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
                        HttpClientSession* session, Opened opened) {
  session->use_ = HttpClientSession::Use::kAsks;
  session->login_.reset();
  session->user_ = credentials.user;
  if (closing_) return opened(Unavailable("no connection to the process: it is closing"));
  auto ends = MakeSocketPair();
  if (!ends.ok()) return opened(Annotate(ends.status(), "no connection to the process"));
  const std::shared_ptr<Transport> transport = ends->first->Attach(loop);
  if (transport == nullptr) return opened(Unavailable("no connection to the process"));
  connect_(std::move(ends->second), peer);
  std::erase_if(handshakes_, [](const auto& old) { return old.expired(); });
  handshakes_.push_back(transport);
  LogIn(transport, credentials,
        [this, transport, peer, session, opened](const Transport::ErrorCode& refused, uint8_t byte,
                                                 const std::string& reason) {
          if (closing_) return opened(Unavailable("the process is closing"));
          if (refused == asio::error::broken_pipe) {
            return opened(Unavailable("send: {}", refused.message()));
          }
          if (!reason.empty()) return opened(Unavailable("{}", reason));
          if (refused) return opened(absl::PermissionDeniedError("access"));
          const InsideLogin login = InsideLogin::FromByte(byte);
          session->login_ = login;
          ConnectionOptions bounds;
          bounds.max_message_bytes = options.max_answer_bytes;
          std::shared_ptr<Connection> connection =
              Connection::Adopt(transport, peer, login.capability, true, bounds, session);
          connection->Start();
          opened(std::move(connection));
        });
}

size_t HttpSessions::count() const {
  return static_cast<size_t>(std::ranges::count_if(live_, [](const HttpClientSession* session) {
    return session->use_ != HttpClientSession::Use::kEnded;
  }));
}

absl::Status HttpSessions::MakeBusy(HttpClientSession& session) {
  using enum HttpClientSession::Use;
  const bool is_bound = session.login_ && session.login_->place <= PlaceClass::kUser;
  if (is_bound) {
    size_t of_all = 0, of_user = 0, of_address = 0;
    for (const HttpClientSession* other : live_) {
      if (other == &session || other->use_ != kBusy || !other->login_) continue;
      if (other->login_->place > PlaceClass::kUser) continue;
      ++of_all;
      of_user += other->user_ == session.user_ ? 1 : 0;
      of_address += other->address_ == session.address_ ? 1 : 0;
    }
    const size_t all = options.max_sessions, quarter = all / 4;
    std::string reason;
    if (of_all >= all - quarter) {
      reason = fmt::format("users keep {} HTTP sessions busy", of_all);
    } else if (session.login_->place == PlaceClass::kUser &&
               of_user >= std::max<size_t>(1, quarter)) {
      reason = fmt::format("{} keeps {} HTTP sessions busy", session.user_, of_user);
    } else if (!IsThisMachine(session.address_) && of_address >= std::max<size_t>(1, all / 2)) {
      reason = fmt::format("{} keeps {} HTTP sessions busy", session.address_, of_address);
    }
    if (!reason.empty()) {
      LogRefused(session, reason);
      return Unavailable("{}, which is the bound: try again", reason);
    }
  }
  session.use_ = kBusy;
  return absl::OkStatus();
}

void HttpSessions::MakeIdle(HttpClientSession& session) {
  constexpr size_t kKeptOfUser = 8, kKept = 64;
  MakeWait(session);
  size_t kept = 0, of_user = 0;
  for (const HttpClientSession* other : live_) {
    if (other->use_ != HttpClientSession::Use::kWaits || other->inside_ == nullptr) continue;
    ++kept;
    of_user += other->user_ == session.user_ ? 1 : 0;
  }
  if (kept > kKept || of_user > kKeptOfUser) session.DisconnectFromProcess();
}

void HttpSessions::LogRefused(const HttpClientSession& session, std::string_view reason) {
  ConnectionCounts::OfProcess().CountRefused(RefusedFor::kHttpSessions);
  static LogLimit limit;
  if (const std::optional<uint64_t> withheld = limit.Pass()) {
    LogWarn("http session refused host={} user={} reason=\"{}\" withheld={}", session.address_,
            session.user_, reason, *withheld);
  }
}

// Those that wait for the client first, because only their client notices; strangers before users.
int HttpSessions::RankToEnd(const HttpClientSession& session) {
  using enum HttpClientSession::Use;
  if (session.use_ == kWaits) return session.login_ ? 1 : 0;
  return session.use_ == kAsks && !session.login_ ? 2 : 3;
}

bool HttpSessions::MakePlace() {
  if (count() < options.max_sessions) return true;
  constexpr int kStays = 3;
  std::array<StringMap<size_t>, kStays> of_addresses;
  for (const HttpClientSession* session : live_) {
    const int rank = RankToEnd(*session);
    if (rank < kStays) ++of_addresses[static_cast<size_t>(rank)][session->address_];
  }
  HttpClientSession* chosen = nullptr;
  std::tuple<int, size_t, uint64_t> best;
  for (HttpClientSession* session : live_) {
    const int rank = RankToEnd(*session);
    if (rank == kStays) continue;
    const size_t of_address = of_addresses[static_cast<size_t>(rank)][session->address_];
    const std::tuple<int, size_t, uint64_t> key{rank, SIZE_MAX - of_address, session->waits_since_};
    if (chosen != nullptr && key >= best) continue;
    chosen = session;
    best = key;
  }
  if (chosen == nullptr) return false;
  const std::shared_ptr<HttpClientSession> keep = chosen->shared_from_this();
  chosen->use_ = HttpClientSession::Use::kEnded;
  chosen->Abort();
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
