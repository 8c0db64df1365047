#include "wire/server.h"

#include <string.h>  // explicit_bzero

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "wire/codec.h"
#include "wire/connection_counts.h"
#include "wire/foreign_protocol.h"
#include "wire/handshake.h"
#include "wire/link_credentials.h"
#include "wire/places.h"
#include "wire/refusal_log.h"
#include "wire/unfinished_messages.h"

namespace tickstack::wire {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::milliseconds kAcceptRetryPause{100};
// The longest time until a connection whose user has other rights is closed.
constexpr std::chrono::seconds kCheckRightsEvery{1};

// Time that a refused client has to read why.
constexpr std::chrono::milliseconds kFarewell{1'000};
constexpr size_t kFarewellBytesMax = size_t{64} << 10;  // Dropped meanwhile.
// A larger request of a user without rights closes the connection instead of being dropped.
constexpr uint64_t kDroppedRequestMax = uint64_t{64} << 20;
constexpr std::string_view kNeedsTls = "handshake refused: the port requires TLS";

std::string_view NameOfRight(LargeMessages right) {
  switch (right) {
    case LargeMessages::kPublishers:
      return "publish";
    case LargeMessages::kQueriers:
      return "query";
    case LargeMessages::kAdministrators:
      return "administer";
  }
  return "";
}

// A client that has connected and not logged in yet.
struct PendingLogin : std::enable_shared_from_this<PendingLogin> {
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
  std::string address;
  bool by_http = false;
  bool is_checked = false;  // The authenticator has its credentials.
  bool is_refused = false;  // It may read why, and what it sends is dropped.
  size_t dropped = 0;
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

  // A client that has logged in.
  struct Client {
    std::shared_ptr<Connection> connection;
    PlaceHolder holder;
  };

  Impl(EventLoop& event_loop, const ServerOptions& opts, ServerHandler* handle)
      : loop(event_loop),
        options(WithUnfinished(opts)),
        handler(handle),
        places(opts.max_connections),
        check_rights(event_loop) {}
  static ServerOptions WithUnfinished(ServerOptions options);

  void AcceptFrom(std::unique_ptr<Listener> listener);
  void Accept(Acceptor& acceptor);
  void BeginLogin(std::unique_ptr<Transport> transport,
                  std::optional<PeerName> known = std::nullopt);
  void HandToGateway(const std::shared_ptr<PendingLogin>& login);
  void ReadHandshake(const std::shared_ptr<PendingLogin>& login);
  void OnHandshakeBytes(const std::shared_ptr<PendingLogin>& login);
  void OnForeign(const std::shared_ptr<PendingLogin>& login, ForeignProtocol protocol);
  void OnLoginDeadline(const std::shared_ptr<PendingLogin>& login);
  std::string ExpectedLine(std::string_view found) const;
  void Refuse(const std::shared_ptr<PendingLogin>& login, std::string_view farewell);
  void DropReceived(const std::shared_ptr<PendingLogin>& login, size_t bytes);
  void CheckLogin(const std::shared_ptr<PendingLogin>& login, size_t nul);
  void OnVerdict(uint64_t number, std::shared_ptr<const ClientRights> rights);
  void Admit(const std::shared_ptr<PendingLogin>& login,
             std::shared_ptr<const ClientRights> rights);
  static bool AsksForMetrics(const Connection& connection, const ReceivedMessage& message);
  static void AnswerMetricsQuestion(Connection& connection);
  void CloseOutdated();
  void Release(const PlaceHolder& holder);
  void Disconnect(const std::shared_ptr<PendingLogin>& login);
  PlaceHolder HolderOf(const PendingLogin& login, const ClientRights* rights) const;
  bool MaySendLarge(const PlaceHolder& holder, const ClientRights* rights) const;
  void RefuseForNoPlace(const std::shared_ptr<PendingLogin>& login, std::string_view reason);
  void AddPendingLogin(const std::shared_ptr<PendingLogin>& login);
  std::shared_ptr<PendingLogin> PendingToClose() const;
  void RemovePendingLogin(PendingLogin& login);

  void OnMessage(Connection& connection, const ReceivedMessage& message) override {
    if (message.kind == MessageKind::kResponse) return;
    if (AsksForMetrics(connection, message)) return AnswerMetricsQuestion(connection);
    handler->OnMessage(connection, message);
  }
  void OnDrained(Connection& connection) override { handler->OnDrained(connection); }
  bool OnTooLarge(Connection& connection, MessageKind kind, uint64_t bytes) override {
    if (handler->OnTooLarge(connection, kind, bytes)) return true;
    return RefuseTooLarge(connection, kind, bytes);
  }
  bool RefuseTooLarge(Connection& connection, MessageKind kind, uint64_t bytes) const;
  void OnSent(Connection& connection) override { handler->OnSent(connection); }
  void OnClosed(Connection& connection, const absl::Status& why) override {
    const std::shared_ptr<Connection> keep = connection.shared_from_this();
    if (const auto found = connections.find(connection.id()); found != connections.end()) {
      Release(found->second.holder);
      connections.erase(found);
    }
    if (handler != nullptr) handler->OnClosed(connection, why);
  }

  EventLoop& loop;
  const ServerOptions options;
  ServerHandler* handler;
  std::list<Acceptor> acceptors;
  std::unordered_map<uint64_t, Client> connections;
  Places places;
  std::list<std::shared_ptr<PendingLogin>> pending;  // Clients that are logging in, oldest first.
  StringMap<size_t> pending_by_address;
  // Logins that the authenticator checks, by number.
  std::unordered_map<uint64_t, std::shared_ptr<PendingLogin>> checked;
  uint64_t last_checked = 0;
  std::shared_ptr<Verdicts> verdicts;  // nullptr: there is no authenticator.
  Timer check_rights;
  uint16_t port = 0;
  std::unique_ptr<HttpGateway> gateway;  // Created with the first HTTP client.
};

ServerOptions Server::Impl::WithUnfinished(ServerOptions options) {
  size_t& most = options.max_unfinished_bytes;
  if (most == 0) most = std::max(size_t{256} << 20, 2 * options.connection.max_message_bytes);
  options.connection.unfinished = std::make_shared<UnfinishedMessages>(most);
  return options;
}

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
  auto login = std::make_shared<PendingLogin>(std::move(transport));
  login->peer = peer.text;
  login->address = AddressInPeer(peer.text);
  login->local = peer.local;
  login->by_http = peer.by_http;
  // An HTTP session was bounded when it began, and its credentials follow immediately.
  if (!known.has_value()) AddPendingLogin(login);
  login->timer.Once(options.handshake_timeout, [weak = weak_from_this(), raw = login.get()] {
    const std::shared_ptr<PendingLogin> late = raw->shared_from_this();
    if (const std::shared_ptr<Impl> self = weak.lock()) return self->OnLoginDeadline(late);
    late->transport->Close();
  });
  ReadHandshake(login);
}

// Many clients of other protocols wait for the server's first bytes.
void Server::Impl::OnLoginDeadline(const std::shared_ptr<PendingLogin>& login) {
  LogRefusal(login->peer, fmt::format("no login within {} ms", options.handshake_timeout.count()));
  ConnectionCounts::OfProcess().CountRefused(RefusedFor::kNoKdbLogin);
  if (login->filled > 0) return login->transport->Close();
  Refuse(login, RefusalIn(ForeignProtocol::kMySql,
                          login->transport->LacksRequiredTls()
                              ? std::string(kNeedsTls)
                              : ExpectedLine(fmt::format("nothing within {} ms",
                                                         options.handshake_timeout.count()))));
}

void Server::Impl::AddPendingLogin(const std::shared_ptr<PendingLogin>& login) {
  if (pending.size() >= options.max_pending_logins) {
    const std::shared_ptr<PendingLogin> closed = PendingToClose();
    ConnectionCounts::OfProcess().CountRefused(RefusedFor::kOldestLogin);
    static LogLimit limit;
    if (const std::optional<uint64_t> withheld = limit.Pass()) {
      LogWarn("login closed, it is the oldest of too many host={} bound={} withheld={}",
              closed->peer, options.max_pending_logins, *withheld);
    }
    Disconnect(closed);
  }
  login->place = pending.insert(pending.end(), login);
  ++pending_by_address[login->address];
  ++ConnectionCounts::OfProcess().logging_in;
}

std::shared_ptr<PendingLogin> Server::Impl::PendingToClose() const {
  const auto most = std::ranges::max_element(pending_by_address, {},
                                             [](const auto& entry) { return entry.second; });
  std::shared_ptr<PendingLogin> oldest;
  for (const std::shared_ptr<PendingLogin>& login : pending) {
    if (login->address != most->first) continue;
    if (!login->is_checked) return login;
    if (oldest == nullptr) oldest = login;
  }
  return oldest;
}

void Server::Impl::RemovePendingLogin(PendingLogin& login) {
  if (!login.place.has_value()) return;
  pending.erase(*std::exchange(login.place, std::nullopt));
  const auto count = pending_by_address.find(login.address);
  if (--count->second == 0) pending_by_address.erase(count);
  --ConnectionCounts::OfProcess().logging_in;
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
        if (login->is_refused) return self->DropReceived(login, bytes);
        login->filled += bytes;
        self->OnHandshakeBytes(login);
      });
}

void Server::Impl::OnHandshakeBytes(const std::shared_ptr<PendingLogin>& login) {
  const std::string_view received(login->text.data(), login->filled);
  const size_t nul = received.find('\0');
  if (const std::optional<ForeignProtocol> foreign = ForeignProtocolIn(received)) {
    return OnForeign(login, *foreign);
  }
  if (nul != std::string_view::npos) {
    if (login->transport->LacksRequiredTls()) return OnForeign(login, ForeignProtocol::kKdb);
    return CheckLogin(login, nul);
  }
  if (login->filled == login->text.size()) {
    LogRefusal(login->peer, fmt::format("a login of more than {} bytes", kMaxHandshakeBytes));
    ConnectionCounts::OfProcess().CountRefused(RefusedFor::kNoKdbLogin);
    return Disconnect(login);
  }
  ReadHandshake(login);
}

std::string Server::Impl::ExpectedLine(std::string_view found) const {
  return fmt::format(
      "tickstack: expected kdb+ IPC{} on this port, found {}: connect with a kdb+ client, "
      "`tickstack query`{}",
      options.http ? " or HTTP" : "", found, options.http ? " or a browser" : "");
}

void Server::Impl::OnForeign(const std::shared_ptr<PendingLogin>& login, ForeignProtocol protocol) {
  if (protocol == ForeignProtocol::kPostgresTls) {
    const std::string no = RefusalIn(protocol, "");
    const std::span<const std::byte> bytes = AsBytes(no);
    boost::system::error_code error;
    login->transport->TryWrite({&bytes, 1}, error);
    // Its next message begins like a first one.
    login->filled -= kPostgresQuestionBytes;
    std::memmove(login->text.data(), login->text.data() + kPostgresQuestionBytes, login->filled);
    return login->filled == 0 ? ReadHandshake(login) : OnHandshakeBytes(login);
  }
  if (login->transport->LacksRequiredTls()) {  // Which is in the log already.
    ConnectionCounts::OfProcess().CountRefused(RefusedFor::kNoKdbLogin);
    return Refuse(login, RefusalIn(protocol, kNeedsTls));
  }
  if (protocol == ForeignProtocol::kHttp && options.http) return HandToGateway(login);
  std::string line;
  if (protocol == ForeignProtocol::kHttp) {
    line =
        "tickstack: this port does not answer HTTP: set http = true for this process, or connect "
        "with a kdb+ client";
  } else if (protocol == ForeignProtocol::kTls) {
    line =
        "tickstack: this port does not use TLS: connect without it, or set listen = \"optional\" "
        "in [tls]";
  } else {
    line = ExpectedLine(NameOf(protocol));
  }
  LogRefusal(login->peer, fmt::format("expected kdb+ IPC{}, found {}",
                                      options.http ? " or HTTP" : "", NameOf(protocol)));
  ConnectionCounts::OfProcess().CountRefused(RefusedFor::kNoKdbLogin);
  Refuse(login, RefusalIn(protocol, line));
}

// Sends the last bytes. Closing a socket with unread bytes would discard them, so what the client
// still sends is dropped for a while.
void Server::Impl::Refuse(const std::shared_ptr<PendingLogin>& login, std::string_view farewell) {
  const bool is_reading = login->filled == 0;  // A read is under way.
  const std::span<const std::byte> bytes = AsBytes(farewell);
  boost::system::error_code error;
  login->transport->TryWrite({&bytes, 1}, error);
  if (error) return Disconnect(login);
  login->transport->ShutdownSend();
  login->is_refused = true;
  ::explicit_bzero(login->text.data(), login->text.size());
  login->filled = 0;
  login->timer.Once(kFarewell, [stream = login->transport.get()] { stream->Close(); });
  if (!is_reading) ReadHandshake(login);
}

void Server::Impl::DropReceived(const std::shared_ptr<PendingLogin>& login, size_t bytes) {
  login->dropped += bytes;
  if (login->dropped > kFarewellBytesMax) return Disconnect(login);
  ReadHandshake(login);
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
    HttpOptions http_options = options.http_options;
    http_options.checks_logins = options.authenticator != nullptr;
    gateway = std::make_unique<HttpGateway>(
        http_options, [weak = weak_from_this(), &loop = loop](
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
  Credentials credentials = ParseCredentials({login->text.data(), nul});
  login->message_begin = nul + 1;
  login->user = credentials.user;
  login->capability = std::min(credentials.capability, kOurCapability);
  if (verdicts == nullptr) return Admit(login, nullptr);
  login->is_checked = true;
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
  Admit(login, std::move(rights));
}

PlaceHolder Server::Impl::HolderOf(const PendingLogin& login, const ClientRights* rights) const {
  PlaceHolder holder{.user = login.user, .address = login.address};
  if (rights != nullptr) {
    holder.place = rights->place();
    holder.places_max = rights->max_connections();
  } else if (login.user == kStackUser) {
    holder.place = PlaceClass::kStack;  // Everyone may claim this if everyone may log in.
  }
  return holder;
}

bool Server::Impl::MaySendLarge(const PlaceHolder& holder, const ClientRights* rights) const {
  if (holder.place != PlaceClass::kUser || rights == nullptr) return true;
  switch (options.large_messages) {
    case LargeMessages::kPublishers:
      return rights->PublishesAnything();
    case LargeMessages::kQueriers:
      return rights->QueriesAnything() || rights->PublishesAnything();
    case LargeMessages::kAdministrators:
      break;
  }
  return false;
}

void Server::Impl::RefuseForNoPlace(const std::shared_ptr<PendingLogin>& login,
                                    std::string_view reason) {
  ConnectionCounts::OfProcess().CountRefused(RefusedFor::kNoPlace);
  static LogLimit limit;
  if (const std::optional<uint64_t> withheld = limit.Pass()) {
    LogWarn("connection refused host={} user={} reason=\"{}\" withheld={}", login->peer,
            login->user, reason, *withheld);
  }
  // Clients of kdb+ know no refusal with a reason.
  if (!login->by_http) return Disconnect(login);
  Refuse(login, RefusalIn(ForeignProtocol::kKdb, reason));
}

void Server::Impl::Admit(const std::shared_ptr<PendingLogin>& login,
                         std::shared_ptr<const ClientRights> rights) {
  if (login->transport->LacksRequiredTls()) return Disconnect(login);
  PlaceHolder holder = HolderOf(*login, rights.get());
  if (const std::optional<std::string> reason = places.Take(holder)) {
    return RefuseForNoPlace(login, *reason);
  }
  const bool may_send_large = MaySendLarge(holder, rights.get());
  // Sent alone and immediately: some clients insist that their first read returns just this byte.
  const auto answer = static_cast<std::byte>(
      login->by_http ? InsideLogin{login->capability, holder.place, may_send_large}.ToByte()
                     : login->capability);
  const std::span<const std::byte> bytes(&answer, 1);
  boost::system::error_code error;
  if (login->transport->TryWrite({&bytes, 1}, error) != 1) {
    places.Release(holder);
    return Disconnect(login);
  }
  ++ConnectionCounts::OfProcess().open[static_cast<size_t>(holder.place)];
  RemovePendingLogin(*login);
  login->timer.Cancel();
  std::shared_ptr<Connection> connection =
      Connection::Adopt(std::move(login->transport), login->peer, login->capability, login->local,
                        options.connection, this);
  connection->set_user(login->user);
  connection->set_rights(std::move(rights));
  connection->set_place(holder.place);
  if (!may_send_large) connection->set_max_message_bytes(options.small_message_bytes);
  if (login->by_http) connection->set_by_http();
  connections.emplace(connection->id(), Client{connection, std::move(holder)});
  handler->OnOpened(*connection);
  connection->Start(std::as_bytes(std::span(login->text))
                        .subspan(login->message_begin, login->filled - login->message_begin));
}

void Server::Impl::Release(const PlaceHolder& holder) {
  places.Release(holder);
  --ConnectionCounts::OfProcess().open[static_cast<size_t>(holder.place)];
}

// True if the message is dropped and answered; false closes its connection.
bool Server::Impl::RefuseTooLarge(Connection& connection, MessageKind kind, uint64_t bytes) const {
  if (connection.max_message_bytes() == options.connection.max_message_bytes) return false;
  static LogLimit limit;
  if (const std::optional<uint64_t> withheld = limit.Pass()) {
    LogWarn("request refused host={} user={} bytes={} bound={} withheld={}", connection.peer(),
            connection.user(), bytes, connection.max_message_bytes(), *withheld);
  }
  if (kind != MessageKind::kSync || bytes > kDroppedRequestMax) return false;
  connection.ReplyError(
      connection.TakeTicket(),
      fmt::format("limit: message of {} bytes, at most {}: larger ones need the "
                  "right to {}",
                  bytes, connection.max_message_bytes(), NameOfRight(options.large_messages)));
  return true;
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
  for (const auto& [id, client] : connections) {
    const std::shared_ptr<Connection>& connection = client.connection;
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
  for (const auto& [id, client] : impl_->connections) impl_->Release(client.holder);
  impl_->connections.clear();
  ConnectionCounts::OfProcess().logging_in -= static_cast<int64_t>(impl_->pending.size());
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
  for (const auto& [id, client] : impl_->connections) all.push_back(client.connection);
  return all;
}

}  // namespace tickstack::wire
