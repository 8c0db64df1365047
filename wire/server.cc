#include "wire/server.h"

#include <string.h>  // explicit_bzero

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <list>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "wire/codec.h"
#include "wire/handshake.h"
#include "wire/refusal_log.h"

namespace tickstack::wire {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::milliseconds kAcceptRetryPause{100};
// The longest time until a connection whose user has other rights is closed.
constexpr std::chrono::seconds kCheckRightsEvery{1};

// A client that has connected and not logged in yet.
struct PendingLogin {
  explicit PendingLogin(std::unique_ptr<Transport> stream)
      : transport(std::move(stream)), timer(transport->loop()) {}
  ~PendingLogin() { ::explicit_bzero(text.data(), text.size()); }  // It has a password.
  PendingLogin(const PendingLogin&) = delete;
  PendingLogin& operator=(const PendingLogin&) = delete;
  std::unique_ptr<Transport> transport;
  Timer timer;
  std::array<char, kMaxHandshakeBytes> text;
  size_t filled = 0;
  size_t message_begin = 0;  // Where the bytes after the credentials begin.
  std::string user;
  uint8_t capability = 0;
  std::string peer;
  bool local = false;
  bool by_http = false;
  // Its place in Impl::pending; nullopt if it is not in there.
  std::optional<std::list<std::shared_ptr<PendingLogin>>::iterator> place;
};

}  // namespace

struct Server::Impl : ConnectionHandler, std::enable_shared_from_this<Server::Impl> {
  // Where the authenticator, on a thread of its own, leaves its verdicts. Outlives the server as
  // long as a verdict is pending.
  struct Verdicts {
    std::mutex mutex;
    EventLoop* loop;  // nullptr: the server is gone. Guarded by mutex.
    std::weak_ptr<Impl> impl;

    void Deliver(uint64_t login, std::shared_ptr<const ClientRights> rights);
  };

  struct Acceptor {
    Acceptor(EventLoop& loop, std::unique_ptr<Listener> open)
        : listener(std::move(open)), retry(loop) {}
    std::unique_ptr<Listener> listener;  // nullptr: no more clients are accepted.
    Timer retry;
  };

  Impl(EventLoop& event_loop, const ServerOptions& opts, ServerHandler* handle)
      : loop(event_loop), options(opts), handler(handle), check_rights(event_loop) {}

  void AcceptFrom(std::unique_ptr<Listener> listener);
  void Accept(Acceptor& acceptor);
  void BeginLogin(std::unique_ptr<Transport> transport,
                  std::optional<PeerName> known = std::nullopt);
  void HandToGateway(const std::shared_ptr<PendingLogin>& login);
  void ReadHandshake(const std::shared_ptr<PendingLogin>& login);
  void CheckLogin(const std::shared_ptr<PendingLogin>& login, size_t nul);
  void OnVerdict(uint64_t number, std::shared_ptr<const ClientRights> rights);
  void Admit(const std::shared_ptr<PendingLogin>& login,
             std::shared_ptr<const ClientRights> rights);
  static bool AsksForMetrics(const Connection& connection, const ReceivedMessage& message);
  static void AnswerMetricsQuestion(Connection& connection);
  void CloseOutdated();
  void Disconnect(const std::shared_ptr<PendingLogin>& login);
  bool IsFull(std::string_view peer) const;
  void AddPendingLogin(const std::shared_ptr<PendingLogin>& login);
  void RemovePendingLogin(PendingLogin& login);

  void OnMessage(Connection& connection, const ReceivedMessage& message) override {
    if (message.kind == MessageKind::kResponse) return;
    if (AsksForMetrics(connection, message)) return AnswerMetricsQuestion(connection);
    handler->OnMessage(connection, message);
  }
  void OnDrained(Connection& connection) override { handler->OnDrained(connection); }
  bool OnTooLarge(Connection& connection, MessageKind kind, uint64_t bytes) override {
    return handler->OnTooLarge(connection, kind, bytes);
  }
  void OnSent(Connection& connection) override { handler->OnSent(connection); }
  void OnClosed(Connection& connection, const absl::Status& why) override {
    const std::shared_ptr<Connection> keep = connection.shared_from_this();
    connections.erase(connection.id());
    if (handler != nullptr) handler->OnClosed(connection, why);
  }

  EventLoop& loop;
  const ServerOptions options;
  ServerHandler* handler;
  std::list<Acceptor> acceptors;
  std::unordered_map<uint64_t, std::shared_ptr<Connection>> connections;
  std::list<std::shared_ptr<PendingLogin>> pending;  // Clients that are logging in, oldest first.
  // Logins that the authenticator checks, by number.
  std::unordered_map<uint64_t, std::shared_ptr<PendingLogin>> checked;
  uint64_t last_checked = 0;
  std::shared_ptr<Verdicts> verdicts;  // nullptr: there is no authenticator.
  Timer check_rights;
  uint16_t port = 0;
  std::unique_ptr<HttpGateway> gateway;  // Created with the first HTTP client.
};

void Server::Impl::AcceptFrom(std::unique_ptr<Listener> listener) {
  Accept(acceptors.emplace_back(loop, std::move(listener)));
}

void Server::Impl::Accept(Acceptor& acceptor) {
  if (acceptor.listener == nullptr) return;
  acceptor.listener->AsyncAccept(
      [weak = weak_from_this(), &acceptor](const boost::system::error_code& error,
                                           std::unique_ptr<Transport> transport) {
        const std::shared_ptr<Impl> self = weak.lock();
        if (self == nullptr || error == asio::error::operation_aborted) return;
        if (!error) {
          self->BeginLogin(std::move(transport));
          return self->Accept(acceptor);
        }
        // Most likely out of descriptors: try again when some may have been closed.
        static LogLimit limit;
        if (const std::optional<uint64_t> withheld = limit.Pass()) {
          LogWarn("no connection can be accepted reason=\"{}\" connections={} withheld={}",
                  error.message(), self->connections.size(), *withheld);
        }
        acceptor.retry.Once(kAcceptRetryPause, [weak, &acceptor] {
          if (const std::shared_ptr<Impl> again = weak.lock()) again->Accept(acceptor);
        });
      });
}

void Server::Impl::BeginLogin(std::unique_ptr<Transport> transport, std::optional<PeerName> known) {
  const PeerName peer = known ? *known : transport->peer();
  if (IsFull(peer.text)) return;  // The destructor closes it.
  auto login = std::make_shared<PendingLogin>(std::move(transport));
  login->peer = peer.text;
  login->local = peer.local;
  login->by_http = peer.by_http;
  // An HTTP session was bounded when it began, and its credentials follow immediately.
  if (!known.has_value()) AddPendingLogin(login);
  login->timer.Once(options.handshake_timeout,
                    [raw = login.get(), limit = options.handshake_timeout] {
                      LogRefusal(raw->peer, fmt::format("no login within {} ms", limit.count()));
                      raw->transport->Close();
                    });
  ReadHandshake(login);
}

// True if no more client may log in; logs that.
bool Server::Impl::IsFull(std::string_view peer) const {
  if (connections.size() < options.max_connections) return false;
  static LogLimit limit;
  if (const std::optional<uint64_t> withheld = limit.Pass()) {
    LogWarn("connection refused host={} connections={} bound={} withheld={}", peer,
            connections.size(), options.max_connections, *withheld);
  }
  return true;
}

void Server::Impl::AddPendingLogin(const std::shared_ptr<PendingLogin>& login) {
  if (pending.size() >= options.max_pending_logins) {
    const std::shared_ptr<PendingLogin> oldest = pending.front();
    static LogLimit limit;
    if (const std::optional<uint64_t> withheld = limit.Pass()) {
      LogWarn("login closed, it is the oldest of too many host={} bound={} withheld={}",
              oldest->peer, options.max_pending_logins, *withheld);
    }
    Disconnect(oldest);
  }
  login->place = pending.insert(pending.end(), login);
}

void Server::Impl::RemovePendingLogin(PendingLogin& login) {
  if (login.place.has_value()) pending.erase(*std::exchange(login.place, std::nullopt));
}

void Server::Impl::Disconnect(const std::shared_ptr<PendingLogin>& login) {
  RemovePendingLogin(*login);
  login->timer.Cancel();
  login->transport->Close();
}

void Server::Impl::ReadHandshake(const std::shared_ptr<PendingLogin>& login) {
  login->transport->AsyncRead(
      std::as_writable_bytes(std::span(login->text)).subspan(login->filled),
      [weak = weak_from_this(), login](const boost::system::error_code& error, size_t bytes) {
        const std::shared_ptr<Impl> self = weak.lock();
        if (self == nullptr) return;
        if (error) return self->Disconnect(login);
        login->filled += bytes;
        if (self->options.http && LooksLikeHttp({login->text.data(), login->filled})) {
          return self->HandToGateway(login);
        }
        const auto end = login->text.begin() + static_cast<std::ptrdiff_t>(login->filled);
        const auto nul = std::find(login->text.begin(), end, '\0');
        if (nul != end) {
          return self->CheckLogin(login, static_cast<size_t>(nul - login->text.begin()));
        }
        if (login->filled == login->text.size()) {
          LogRefusal(login->peer, fmt::format("a login of more than {} bytes", kMaxHandshakeBytes));
          return self->Disconnect(login);
        }
        self->ReadHandshake(login);
      });
}

void Server::Impl::HandToGateway(const std::shared_ptr<PendingLogin>& login) {
  RemovePendingLogin(*login);
  login->timer.Cancel();
  AcceptedHttpClient client;
  client.transport = login->transport->Detach();
  if (client.transport == nullptr) return;
  client.received.assign(login->text.data(), login->filled);
  client.peer = login->peer;
  client.local = login->local;
  if (gateway == nullptr) {
    gateway = std::make_unique<HttpGateway>(
        options.http_options, [weak = weak_from_this(), &loop = loop](
                                  std::unique_ptr<DetachedTransport> end, std::string peer) {
          // A std::function must be copyable.
          const std::shared_ptr<DetachedTransport> shared = std::move(end);
          loop.Post([weak, shared, peer = std::move(peer)] {
            const std::shared_ptr<Impl> self = weak.lock();
            if (self == nullptr || self->handler == nullptr) return;
            std::unique_ptr<Transport> inside = shared->Attach(self->loop);
            if (inside == nullptr) return;
            self->BeginLogin(std::move(inside), PeerName{peer + " by http", true, true});
          });
        });
  }
  gateway->Take(std::move(client));
}

void Server::Impl::CheckLogin(const std::shared_ptr<PendingLogin>& login, size_t nul) {
  if (IsFull(login->peer)) return Disconnect(login);
  Credentials credentials = ParseCredentials({login->text.data(), nul});
  login->message_begin = nul + 1;
  login->user = credentials.user;
  login->capability = std::min(credentials.capability, kOurCapability);
  if (verdicts == nullptr) return Admit(login, nullptr);
  login->timer.Once(options.verdict_timeout,
                    [stream = login->transport.get()] { stream->Close(); });
  const uint64_t number = ++last_checked;
  checked.emplace(number, login);
  options.authenticator->Check(
      {std::move(credentials.user), std::move(credentials.password), login->peer},
      [verdicts = verdicts, number](std::shared_ptr<const ClientRights> rights) {
        verdicts->Deliver(number, std::move(rights));
      });
}

void Server::Impl::Verdicts::Deliver(uint64_t login, std::shared_ptr<const ClientRights> rights) {
  const std::lock_guard lock(mutex);
  if (loop == nullptr) return;
  loop->Post([weak = impl, login, rights = std::move(rights)] {
    if (const std::shared_ptr<Impl> self = weak.lock()) self->OnVerdict(login, rights);
  });
}

void Server::Impl::OnVerdict(uint64_t number, std::shared_ptr<const ClientRights> rights) {
  const auto found = checked.find(number);
  if (found == checked.end() || handler == nullptr) return;
  const std::shared_ptr<PendingLogin> login = std::move(found->second);
  checked.erase(found);
  // Its time may have been over, or its place taken, before the verdict.
  if (rights == nullptr || !login->transport->is_open()) return Disconnect(login);
  if (IsFull(login->peer)) return Disconnect(login);
  Admit(login, std::move(rights));
}

void Server::Impl::Admit(const std::shared_ptr<PendingLogin>& login,
                         std::shared_ptr<const ClientRights> rights) {
  // Sent alone and immediately: some clients insist that their first read returns just this byte.
  const std::span<const std::byte> answer = std::as_bytes(std::span(&login->capability, 1));
  boost::system::error_code error;
  if (login->transport->TryWrite({&answer, 1}, error) != 1) return Disconnect(login);
  RemovePendingLogin(*login);
  login->timer.Cancel();
  std::shared_ptr<Connection> connection =
      Connection::Adopt(std::move(login->transport), login->peer, login->capability, login->local,
                        options.connection, this);
  connection->set_user(login->user);
  connection->set_rights(std::move(rights));
  if (login->by_http) connection->set_by_http();
  connections.emplace(connection->id(), connection);
  handler->OnOpened(*connection);
  connection->Start(std::as_bytes(std::span(login->text))
                        .subspan(login->message_begin, login->filled - login->message_begin));
}

bool Server::Impl::AsksForMetrics(const Connection& connection, const ReceivedMessage& message) {
  if (!connection.by_http() || message.kind != MessageKind::kSync) return false;
  static const ByteBuffer question =
      EncodeMessage(MessageKind::kSync, Value::Symbol(kMetricsQuestion));
  return std::ranges::equal(message.body, question.span().subspan(kHeaderBytes));
}

void Server::Impl::AnswerMetricsQuestion(Connection& connection) {
  const ReplyTicket ticket = connection.TakeTicket();
  const absl::Status may = connection.rights() == nullptr
                               ? absl::OkStatus()
                               : connection.rights()->MayReadMetrics(connection.peer());
  if (may.ok()) {
    connection.Reply(ticket, Value::Boolean(true));
  } else {
    connection.ReplyError(ticket, Message(may));
  }
  connection.Flush();
}

void Server::Impl::CloseOutdated() {
  for (const auto& [id, connection] : connections) {
    if (connection->rights() == nullptr || connection->rights()->is_current()) continue;
    // OnClosed follows from the loop, so this loop's map stays as it is.
    connection->Close(absl::PermissionDeniedError("the rights of its user have changed"));
  }
}

Server::Server(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

absl::StatusOr<std::unique_ptr<Server>> Server::Listen(EventLoop& loop, const Address& address,
                                                       const ServerOptions& options,
                                                       ServerHandler* handler) {
  TS_ASSIGN_OR_RETURN(std::unique_ptr<Listener> listener, loop.network().Listen(loop, address));
  return Adopt(loop, std::move(listener), options, handler);
}

std::unique_ptr<Server> Server::Adopt(EventLoop& loop, std::unique_ptr<Listener> listener,
                                      const ServerOptions& options, ServerHandler* handler) {
  auto impl = std::make_shared<Impl>(loop, options, handler);
  impl->port = listener->port();
  if (options.authenticator != nullptr) {
    impl->verdicts = std::make_shared<Impl::Verdicts>();
    impl->verdicts->loop = &loop;
    impl->verdicts->impl = impl;
    impl->check_rights.Every(kCheckRightsEvery, [raw = impl.get()] { raw->CloseOutdated(); });
  }
  impl->AcceptFrom(std::move(listener));
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::~Server() {
  StopAccepting();
  if (impl_->verdicts != nullptr) {
    const std::lock_guard lock(impl_->verdicts->mutex);
    impl_->verdicts->loop = nullptr;
  }
  impl_->check_rights.Cancel();
  impl_->gateway = nullptr;
  impl_->handler = nullptr;
  impl_->checked.clear();
  for (const std::shared_ptr<Connection>& connection : Connections()) connection->Detach();
}

absl::Status Server::AlsoListen(const Address& address) {
  TS_ASSIGN_OR_RETURN(std::unique_ptr<Listener> listener,
                      impl_->loop.network().Listen(impl_->loop, address));
  AlsoAdopt(std::move(listener));
  return absl::OkStatus();
}

void Server::AlsoAdopt(std::unique_ptr<Listener> listener) {
  impl_->AcceptFrom(std::move(listener));
}

uint16_t Server::port() const { return impl_->port; }

void Server::StopAccepting() {
  for (Impl::Acceptor& acceptor : impl_->acceptors) {
    acceptor.listener = nullptr;
    acceptor.retry.Cancel();
  }
}

std::vector<std::unique_ptr<DetachedListener>> Server::ReleaseListeners() {
  std::vector<std::unique_ptr<DetachedListener>> released;
  for (Impl::Acceptor& acceptor : impl_->acceptors) {
    if (acceptor.listener == nullptr) continue;
    if (auto detached = acceptor.listener->Detach()) released.push_back(std::move(detached));
  }
  StopAccepting();
  return released;
}

std::vector<std::shared_ptr<Connection>> Server::Connections() const {
  std::vector<std::shared_ptr<Connection>> all;
  all.reserve(impl_->connections.size());
  for (const auto& [id, connection] : impl_->connections) all.push_back(connection);
  return all;
}

}  // namespace tickstack::wire
