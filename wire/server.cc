#include "wire/server.h"

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <list>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "wire/handshake.h"

namespace tickstack::wire {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::milliseconds kAcceptRetryPause{100};

// A client that has connected and not logged in yet.
struct Newcomer {
  explicit Newcomer(std::unique_ptr<Transport> stream)
      : transport(std::move(stream)), timer(transport->loop()) {}
  std::unique_ptr<Transport> transport;
  Timer timer;
  std::array<char, kMaxHandshakeBytes> text;
  size_t filled = 0;
  std::string peer;
  bool local = false;
  bool by_http = false;
  // Its place in Impl::pending; nullopt if it is not in there.
  std::optional<std::list<std::shared_ptr<Newcomer>>::iterator> place;
};

}  // namespace

struct Server::Impl : ConnectionHandler, std::enable_shared_from_this<Server::Impl> {
  struct Entrance {
    Entrance(EventLoop& loop, std::unique_ptr<Listener> open)
        : listener(std::move(open)), retry(loop) {}
    std::unique_ptr<Listener> listener;  // nullptr: no more clients are accepted.
    Timer retry;
  };

  Impl(EventLoop& event_loop, const ServerOptions& opts, ServerHandler* handle)
      : loop(event_loop), options(opts), handler(handle) {}

  void AcceptFrom(std::unique_ptr<Listener> listener);
  void Accept(Entrance& entrance);
  void Welcome(std::unique_ptr<Transport> transport, std::optional<PeerName> known = std::nullopt);
  void HandToGateway(const std::shared_ptr<Newcomer>& newcomer);
  void ReadHandshake(const std::shared_ptr<Newcomer>& newcomer);
  void Admit(const std::shared_ptr<Newcomer>& newcomer, size_t nul);
  void Turn(const std::shared_ptr<Newcomer>& newcomer);
  bool IsFull(std::string_view peer) const;
  void AddPending(const std::shared_ptr<Newcomer>& newcomer);
  void RemovePending(Newcomer& newcomer);

  void OnMessage(Connection& connection, const ReceivedMessage& message) override {
    if (message.kind != MessageKind::kResponse) handler->OnMessage(connection, message);
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
  std::list<Entrance> entrances;
  std::unordered_map<uint64_t, std::shared_ptr<Connection>> connections;
  std::list<std::shared_ptr<Newcomer>> pending;  // Clients that are logging in, oldest first.
  uint16_t port = 0;
  std::unique_ptr<HttpGateway> gateway;  // Created with the first HTTP client.
};

void Server::Impl::AcceptFrom(std::unique_ptr<Listener> listener) {
  Accept(entrances.emplace_back(loop, std::move(listener)));
}

void Server::Impl::Accept(Entrance& entrance) {
  if (entrance.listener == nullptr) return;
  entrance.listener->AsyncAccept(
      [weak = weak_from_this(), &entrance](const boost::system::error_code& error,
                                           std::unique_ptr<Transport> transport) {
        const std::shared_ptr<Impl> self = weak.lock();
        if (self == nullptr || error == asio::error::operation_aborted) return;
        if (!error) {
          self->Welcome(std::move(transport));
          return self->Accept(entrance);
        }
        // Most likely out of descriptors: try again when some may have been closed.
        static LogLimit limit;
        if (const std::optional<uint64_t> withheld = limit.Pass()) {
          LogWarn("no connection can be accepted reason=\"{}\" connections={} withheld={}",
                  error.message(), self->connections.size(), *withheld);
        }
        entrance.retry.Once(kAcceptRetryPause, [weak, &entrance] {
          if (const std::shared_ptr<Impl> again = weak.lock()) again->Accept(entrance);
        });
      });
}

void Server::Impl::Welcome(std::unique_ptr<Transport> transport, std::optional<PeerName> known) {
  const PeerName peer = known ? *known : transport->peer();
  if (IsFull(peer.text)) return;  // The destructor closes it.
  auto newcomer = std::make_shared<Newcomer>(std::move(transport));
  newcomer->peer = peer.text;
  newcomer->local = peer.local;
  newcomer->by_http = peer.by_http;
  // An HTTP session was bounded when it began, and its credentials follow immediately.
  if (!known.has_value()) AddPending(newcomer);
  newcomer->timer.Once(options.handshake_timeout,
                       [stream = newcomer->transport.get()] { stream->Close(); });
  ReadHandshake(newcomer);
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

void Server::Impl::AddPending(const std::shared_ptr<Newcomer>& newcomer) {
  if (pending.size() >= options.max_pending_logins) {
    const std::shared_ptr<Newcomer> oldest = pending.front();
    static LogLimit limit;
    if (const std::optional<uint64_t> withheld = limit.Pass()) {
      LogWarn("login closed, it is the oldest of too many host={} bound={} withheld={}",
              oldest->peer, options.max_pending_logins, *withheld);
    }
    Turn(oldest);
  }
  newcomer->place = pending.insert(pending.end(), newcomer);
}

void Server::Impl::RemovePending(Newcomer& newcomer) {
  if (newcomer.place.has_value()) pending.erase(*std::exchange(newcomer.place, std::nullopt));
}

void Server::Impl::Turn(const std::shared_ptr<Newcomer>& newcomer) {
  RemovePending(*newcomer);
  newcomer->timer.Cancel();
  newcomer->transport->Close();
}

void Server::Impl::ReadHandshake(const std::shared_ptr<Newcomer>& newcomer) {
  newcomer->transport->AsyncRead(
      std::as_writable_bytes(std::span(newcomer->text)).subspan(newcomer->filled),
      [weak = weak_from_this(), newcomer](const boost::system::error_code& error, size_t bytes) {
        const std::shared_ptr<Impl> self = weak.lock();
        if (self == nullptr) return;
        if (error) return self->Turn(newcomer);
        newcomer->filled += bytes;
        if (self->options.http && LooksLikeHttp({newcomer->text.data(), newcomer->filled})) {
          return self->HandToGateway(newcomer);
        }
        const auto end = newcomer->text.begin() + static_cast<std::ptrdiff_t>(newcomer->filled);
        const auto nul = std::find(newcomer->text.begin(), end, '\0');
        if (nul != end)
          return self->Admit(newcomer, static_cast<size_t>(nul - newcomer->text.begin()));
        if (newcomer->filled == newcomer->text.size()) return self->Turn(newcomer);
        self->ReadHandshake(newcomer);
      });
}

void Server::Impl::HandToGateway(const std::shared_ptr<Newcomer>& newcomer) {
  RemovePending(*newcomer);
  newcomer->timer.Cancel();
  HttpNewcomer client;
  client.transport = newcomer->transport->Detach();
  if (client.transport == nullptr) return;
  client.received.assign(newcomer->text.data(), newcomer->filled);
  client.peer = newcomer->peer;
  client.local = newcomer->local;
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
            self->Welcome(std::move(inside), PeerName{peer + " by http", true, true});
          });
        });
  }
  gateway->Take(std::move(client));
}

void Server::Impl::Admit(const std::shared_ptr<Newcomer>& newcomer, size_t nul) {
  if (IsFull(newcomer->peer)) return Turn(newcomer);
  const Credentials credentials = ParseCredentials({newcomer->text.data(), nul});
  if (options.authenticate && !options.authenticate(credentials.user, credentials.password))
    return Turn(newcomer);
  const uint8_t capability = std::min(credentials.capability, kOurCapability);
  // Sent alone and immediately: some clients insist that their first read returns just this byte.
  const std::span<const std::byte> answer = std::as_bytes(std::span(&capability, 1));
  boost::system::error_code error;
  if (newcomer->transport->TryWrite({&answer, 1}, error) != 1) return Turn(newcomer);
  RemovePending(*newcomer);
  newcomer->timer.Cancel();
  std::shared_ptr<Connection> connection =
      Connection::Adopt(std::move(newcomer->transport), newcomer->peer, capability, newcomer->local,
                        options.connection, this);
  connection->set_user(credentials.user);
  if (newcomer->by_http) connection->set_by_http();
  connections.emplace(connection->id(), connection);
  handler->OnOpened(*connection);
  const size_t behind = nul + 1;
  connection->Start(
      std::as_bytes(std::span(newcomer->text)).subspan(behind, newcomer->filled - behind));
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
  impl->AcceptFrom(std::move(listener));
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::~Server() {
  StopAccepting();
  impl_->gateway = nullptr;
  impl_->handler = nullptr;
  for (const std::shared_ptr<Connection>& connection : Connections()) connection->Detach();
}

absl::Status Server::AlsoListen(const Address& address) {
  TS_ASSIGN_OR_RETURN(std::unique_ptr<Listener> listener,
                      impl_->loop.network().Listen(impl_->loop, address));
  impl_->AcceptFrom(std::move(listener));
  return absl::OkStatus();
}

uint16_t Server::port() const { return impl_->port; }

void Server::StopAccepting() {
  for (Impl::Entrance& entrance : impl_->entrances) {
    entrance.listener = nullptr;
    entrance.retry.Cancel();
  }
}

std::vector<std::shared_ptr<Connection>> Server::Connections() const {
  std::vector<std::shared_ptr<Connection>> all;
  all.reserve(impl_->connections.size());
  for (const auto& [id, connection] : impl_->connections) all.push_back(connection);
  return all;
}

}  // namespace tickstack::wire
