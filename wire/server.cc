#include "wire/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <cstring>
#include <list>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "wire/handshake.h"
#include "wire/keep_alive.h"
#include "wire/listen_on.h"
#include "wire/socket_address.h"

namespace tickstack::wire {

namespace asio = boost::asio;
using Protocol = asio::generic::stream_protocol;

namespace {

// A client that has connected and not logged in yet.
struct Newcomer {
  explicit Newcomer(asio::io_context& context) : socket(context), timer(context) {}
  Protocol::socket socket;
  asio::steady_timer timer;
  std::array<char, kMaxHandshakeBytes> text;
  size_t filled = 0;
  std::string peer;
  bool local = false;
  bool by_http = false;
  // Its place in Impl::pending; nullopt if it is not in there.
  std::optional<std::list<std::shared_ptr<Newcomer>>::iterator> place;
};

// Removes the socket file of a dead process: no one listens on it. Keeps files that are not
// sockets, and sockets whose listener merely cannot accept now.
void RemoveStaleSocket(const Address& address, const SocketAddress& bound) {
  struct stat status{};
  if (::lstat(address.unix_path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return;
  const OwnedFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.is_open()) return;
  if (::connect(probe.get(), bound.get(), bound.size()) != 0 && errno == ECONNREFUSED) {
    ::unlink(address.unix_path.c_str());
  }
}

}  // namespace

struct Server::Impl : ConnectionHandler, std::enable_shared_from_this<Server::Impl> {
  struct Listener {
    explicit Listener(asio::io_context& context) : acceptor(context), retry(context) {}
    asio::basic_socket_acceptor<Protocol> acceptor;
    asio::steady_timer retry;
    std::string unlink_path;
  };

  Impl(EventLoop& event_loop, const ServerOptions& opts, ServerHandler* handle)
      : loop(event_loop), options(opts), handler(handle) {}

  absl::Status Bind(const Address& address);
  void Accept(Listener& listener);
  void Welcome(Protocol::socket socket, std::optional<PeerName> known = std::nullopt);
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
  std::list<Listener> listeners;
  std::unordered_map<uint64_t, std::shared_ptr<Connection>> connections;
  std::list<std::shared_ptr<Newcomer>> pending;  // Clients that are logging in, oldest first.
  uint16_t port = 0;
  std::unique_ptr<HttpGateway> gateway;  // Created with the first HTTP client.
};

absl::Status Server::Impl::Bind(const Address& address) {
  TS_ASSIGN_OR_RETURN(const SocketAddress bound, ToSocketAddress(address));
  Listener& listener = listeners.emplace_back(loop.context());
  const auto fail = [&](std::string_view call) {
    absl::Status status = ListenError(address, errno, call);
    listeners.pop_back();
    return status;
  };
  boost::system::error_code error;
  const int descriptor = ::socket(bound.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return fail("socket");
  listener.acceptor.assign(Protocol(bound.family(), 0), descriptor, error);
  const int on = 1;
  if (!address.is_unix()) ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.is_unix() && address.unix_path[0] != '@') RemoveStaleSocket(address, bound);
  if (::bind(descriptor, bound.get(), bound.size()) != 0) return fail("bind");
  if (::listen(descriptor, SOMAXCONN) != 0) return fail("listen");
  if (address.is_unix() && address.unix_path[0] != '@') listener.unlink_path = address.unix_path;
  Accept(listener);
  return absl::OkStatus();
}

void Server::Impl::Accept(Listener& listener) {
  listener.acceptor.async_accept(
      [weak = weak_from_this(), &listener](const boost::system::error_code& error,
                                           Protocol::socket socket) {
        const std::shared_ptr<Impl> self = weak.lock();
        if (self == nullptr || error == asio::error::operation_aborted) return;
        if (error) {
          // Most likely out of descriptors: try again when some may have been closed.
          static LogLimit limit;
          if (const std::optional<uint64_t> withheld = limit.Pass()) {
            LogWarn("no connection can be accepted reason=\"{}\" connections={} withheld={}",
                    error.message(), self->connections.size(), *withheld);
          }
          listener.retry.expires_after(std::chrono::milliseconds(100));
          listener.retry.async_wait([weak, &listener](const boost::system::error_code& cancelled) {
            const std::shared_ptr<Impl> again = weak.lock();
            if (again != nullptr && !cancelled) again->Accept(listener);
          });
          return;
        }
        self->Welcome(std::move(socket));
        self->Accept(listener);
      });
}

void Server::Impl::Welcome(Protocol::socket socket, std::optional<PeerName> known) {
  const PeerName peer = known ? *known : PeerNameOf(socket.native_handle());
  if (IsFull(peer.text)) return;  // The destructor closes it.
  auto newcomer = std::make_shared<Newcomer>(loop.context());
  newcomer->socket = std::move(socket);
  newcomer->peer = peer.text;
  newcomer->local = peer.local;
  newcomer->by_http = peer.by_http;
  const int on = 1;
  ::setsockopt(newcomer->socket.native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  KeepAlive(newcomer->socket.native_handle());
  // An HTTP session was bounded when it began, and its credentials follow immediately.
  if (!known.has_value()) AddPending(newcomer);
  newcomer->timer.expires_after(options.handshake_timeout);
  newcomer->timer.async_wait([newcomer](const boost::system::error_code& error) {
    boost::system::error_code ignored;
    if (!error) newcomer->socket.close(ignored);
  });
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
  boost::system::error_code ignored;
  newcomer->timer.cancel();
  newcomer->socket.close(ignored);
}

void Server::Impl::ReadHandshake(const std::shared_ptr<Newcomer>& newcomer) {
  newcomer->socket.async_read_some(
      asio::buffer(newcomer->text.data() + newcomer->filled,
                   newcomer->text.size() - newcomer->filled),
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
  newcomer->timer.cancel();
  boost::system::error_code error;
  HttpNewcomer client;
  client.socket = OwnedFd(newcomer->socket.release(error));
  if (error) return;
  client.received.assign(newcomer->text.data(), newcomer->filled);
  client.peer = newcomer->peer;
  client.local = newcomer->local;
  if (gateway == nullptr) {
    gateway = std::make_unique<HttpGateway>(
        options.http_options,
        [weak = weak_from_this(), &loop = loop](OwnedFd end, std::string peer) {
          // A std::function must be copyable.
          auto socket = std::make_shared<OwnedFd>(std::move(end));
          loop.Post([weak, socket, peer = std::move(peer)] {
            const std::shared_ptr<Impl> self = weak.lock();
            if (self == nullptr || self->handler == nullptr) return;
            boost::system::error_code failed;
            Protocol::socket inside(self->loop.context());
            inside.assign(Protocol(AF_UNIX, 0), socket->Release(), failed);
            if (!failed) self->Welcome(std::move(inside), PeerName{peer + " by http", true, true});
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
  if (::send(newcomer->socket.native_handle(), &capability, 1, MSG_NOSIGNAL) != 1)
    return Turn(newcomer);
  RemovePending(*newcomer);
  newcomer->timer.cancel();
  boost::system::error_code error;
  const int descriptor = newcomer->socket.release(error);
  if (error) return;
  std::shared_ptr<Connection> connection = Connection::Adopt(
      loop, descriptor, newcomer->peer, capability, newcomer->local, options.connection, this);
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
  auto impl = std::make_shared<Impl>(loop, options, handler);
  TS_RETURN_IF_ERROR(impl->Bind(address));
  impl->port = LocalPortOf(impl->listeners.front().acceptor.native_handle());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

absl::StatusOr<std::unique_ptr<Server>> Server::Adopt(EventLoop& loop, int listening_socket,
                                                      const ServerOptions& options,
                                                      ServerHandler* handler) {
  int listening = 0;
  socklen_t bytes = sizeof listening;
  if (::getsockopt(listening_socket, SOL_SOCKET, SO_ACCEPTCONN, &listening, &bytes) != 0 ||
      listening == 0) {
    return InvalidArgument("descriptor {}: expected a listening socket", listening_socket);
  }
  auto impl = std::make_shared<Impl>(loop, options, handler);
  Impl::Listener& listener = impl->listeners.emplace_back(loop.context());
  boost::system::error_code error;
  listener.acceptor.assign(Protocol(AF_INET, 0), listening_socket, error);
  if (error) return Internal("descriptor {}: {}", listening_socket, error.message());
  impl->port = LocalPortOf(listening_socket);
  impl->Accept(listener);
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::~Server() {
  StopAccepting();
  impl_->gateway = nullptr;
  impl_->handler = nullptr;
  for (const std::shared_ptr<Connection>& connection : Connections()) connection->Detach();
}

absl::Status Server::AlsoListen(const Address& address) { return impl_->Bind(address); }

uint16_t Server::port() const { return impl_->port; }

void Server::StopAccepting() {
  for (Impl::Listener& listener : impl_->listeners) {
    boost::system::error_code ignored;
    listener.acceptor.close(ignored);
    listener.retry.cancel();
    if (!listener.unlink_path.empty()) ::unlink(std::exchange(listener.unlink_path, "").c_str());
  }
}

std::vector<std::shared_ptr<Connection>> Server::Connections() const {
  std::vector<std::shared_ptr<Connection>> all;
  all.reserve(impl_->connections.size());
  for (const auto& [id, connection] : impl_->connections) all.push_back(connection);
  return all;
}

}  // namespace tickstack::wire
