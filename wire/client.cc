#include "wire/client.h"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/status.h"
#include "wire/handshake.h"
#include "wire/ipc.h"
#include "wire/link_credentials.h"
#include "wire/protocol.h"
#include "wire/transport.h"
#include "wire/upd.h"

namespace tickstack::wire {

namespace asio = boost::asio;

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kAliveEvery{protocol::kAliveEveryMs};
constexpr int kSilentTicksMax = 4;       // Of kAliveEvery.
constexpr size_t kAliveBytesMax = 64;    // No longer message is looked at.
constexpr auto kConnectTimeoutMax = 1s;  // If there is another address to try.

}  // namespace

struct Client::Impl : ConnectionHandler, std::enable_shared_from_this<Client::Impl> {
  Impl(EventLoop& event_loop, Address to, const ClientOptions& opts, ClientHandler* handle)
      : loop(event_loop),
        address(std::move(to)),
        addresses(AllOf(address)),
        options(opts),
        handler(handle),
        timer(event_loop),
        watch_timer(event_loop),
        pause(opts.first_pause) {}

  static std::vector<Address> AllOf(const Address& address) {
    std::vector<Address> all = {address};
    all.front().others.clear();
    all.insert(all.end(), address.others.begin(), address.others.end());
    return all;
  }
  const Address& current() const { return addresses[at]; }
  bool has_others() const { return addresses.size() > 1; }

  void Attempt();
  void SendCredentials();
  void Established(uint8_t capability);
  void CloseTransport() {
    if (transport != nullptr) transport->Close();
  }
  void Failed(absl::Status why);

  void OnMessage(Connection& from, const ReceivedMessage& message) override {
    const bool is_alive = has_others() && message.kind == MessageKind::kAsync &&
                          message.body.size() <= kAliveBytesMax &&
                          PeekVerb(message.body) == protocol::kAlive;
    if (is_alive) return Watch();
    handler->OnMessage(from, message);
  }
  void OnDrained(Connection& from) override { handler->OnDrained(from); }
  void OnClosed(Connection& closed, const absl::Status& why) override {
    const std::shared_ptr<Connection> keep = std::exchange(connection, nullptr);
    watch_timer.Cancel();
    is_watched = false;
    if (stopped) return;
    handler->OnClosed(closed, why);
    if (!stopped && options.reconnect) Wait();
  }
  // Checks from now on that the server sends something.
  void Watch() {
    if (std::exchange(is_watched, true)) return;
    silent_ticks = 0;
    watch_timer.Every(kAliveEvery, [this] { CheckSilence(); });
  }
  // Counts ticks, and not time: if this loop was busy, one tick follows, and then what has arrived
  // meanwhile is read.
  void CheckSilence() {
    if (connection == nullptr) return;
    const uint64_t received = connection->received_bytes();
    const bool is_silent =
        std::exchange(received_bytes, received) == received && !connection->is_paused();
    silent_ticks = is_silent ? silent_ticks + 1 : 0;
    if (silent_ticks < kSilentTicksMax) return;
    connection->Close(Unavailable("silent for {} ms", kSilentTicksMax * protocol::kAliveEveryMs));
  }
  void Wait() {
    at = (at + 1) % addresses.size();
    timer.Once(pause, [weak = weak_from_this()] {
      const std::shared_ptr<Impl> self = weak.lock();
      if (self != nullptr && !self->stopped) self->Attempt();
    });
    pause = std::min(2 * pause, options.longest_pause);
  }

  EventLoop& loop;
  const Address address;
  const std::vector<Address> addresses;
  size_t at = 0;  // Index of the address that it is connected to, or tries next.
  const ClientOptions options;
  ClientHandler* handler;
  std::shared_ptr<Transport> transport;  // Until the handshake is done.
  Timer timer;                           // Ends an attempt, or a pause.
  Timer watch_timer;
  bool is_watched = false;
  int silent_ticks = 0;         // Ticks of watch_timer without a byte.
  uint64_t received_bytes = 0;  // Those of the connection, at the last tick.
  std::chrono::milliseconds pause;
  std::shared_ptr<Connection> connection;
  std::string user;  // As which it logged in last.
  bool stopped = false;
  bool timed_out = false;
};

void Client::Impl::Attempt() {
  timed_out = false;
  absl::StatusOr<std::unique_ptr<Transport>> connecting = loop.network().Connect(
      loop, current(), [weak = weak_from_this()](const boost::system::error_code& failed) {
        const std::shared_ptr<Impl> self = weak.lock();
        if (self == nullptr || self->stopped) return;
        if (failed)
          return self->Failed(Unavailable("{}: {}", self->current().ToString(), failed.message()));
        self->SendCredentials();
      });
  if (!connecting.ok()) return Failed(connecting.status());
  transport = *std::move(connecting);
  std::chrono::milliseconds at_most = options.connect_timeout;
  if (has_others()) at_most = std::min<std::chrono::milliseconds>(at_most, kConnectTimeoutMax);
  timer.Once(at_most, [this] {
    timed_out = true;
    CloseTransport();
  });
}

void Client::Impl::SendCredentials() {
  Credentials credentials{options.user, options.password, kOurCapability};
  if (options.is_link) {
    // Without credentials, the name still tells a server without users whose place this is.
    if (credentials.user.empty()) credentials.user = kStackUser;
    if (std::optional<Credentials> own = LinkCredentials()) credentials = *std::move(own);
    credentials.capability = kOurCapability;
  }
  user = credentials.user;
  LogIn(transport, credentials,
        [weak = weak_from_this()](const boost::system::error_code& failed, uint8_t capability,
                                  const std::string& refusal) {
          const std::shared_ptr<Impl> self = weak.lock();
          if (self == nullptr || self->stopped) return;
          if (!failed) return self->Established(capability);
          if (!refusal.empty()) {
            return self->Failed(Unavailable("{}: {}", self->current().ToString(), refusal));
          }
          const bool refused = failed == asio::error::eof && !self->timed_out;
          self->Failed(Unavailable(
              "{}: handshake: {}", self->current().ToString(),
              refused ? "refused, wrong user or password? Or too many connections: its log says why"
              : self->timed_out ? "timed out"
                                : failed.message()));
        });
  Wipe(credentials.password);
}

void Client::Impl::Established(uint8_t capability) {
  timer.Cancel();
  pause = options.first_pause;
  const PeerName peer = transport->peer();
  const std::string name = current().is_unix() ? current().ToString() : peer.text;
  connection = Connection::Adopt(std::move(transport), name, capability, peer.local,
                                 options.connection, this);
  connection->set_user(user);
  handler->OnConnected(*connection);
  if (connection == nullptr) return;
  if (has_others()) {
    connection->SendAsync(Value::List({Value::Symbol(protocol::kAlive), Value()}));
  }
  connection->Start();
}

void Client::Impl::Failed(absl::Status why) {
  timer.Cancel();
  CloseTransport();
  if (stopped) return;
  const std::chrono::milliseconds next = pause;
  if (options.reconnect) Wait();
  handler->OnConnectFailed(why, next);
}

Client::Client(EventLoop& loop, Address address, const ClientOptions& options,
               ClientHandler* handler)
    : impl_(std::make_shared<Impl>(loop, std::move(address), options, handler)) {
  loop.Post([weak = std::weak_ptr<Impl>(impl_)] {
    const std::shared_ptr<Impl> self = weak.lock();
    if (self != nullptr && !self->stopped) self->Attempt();
  });
}

Client::~Client() { Stop(); }

Connection* Client::connection() const { return impl_->connection.get(); }
const Address& Client::address() const { return impl_->address; }

Address Client::current_address() const {
  const std::vector<Address>& all = impl_->addresses;
  Address address = impl_->current();
  for (size_t i = 1; i < all.size(); ++i) {
    address.others.push_back(all[(impl_->at + i) % all.size()]);
  }
  return address;
}

void Client::Stop() {
  impl_->stopped = true;
  impl_->timer.Cancel();
  impl_->watch_timer.Cancel();
  impl_->CloseTransport();
  if (const std::shared_ptr<Connection> connection = std::exchange(impl_->connection, nullptr)) {
    connection->Detach();
  }
}

namespace {

// Sends one request and keeps the answer.
class Question final : public ClientHandler {
 public:
  explicit Question(const Value& request) : request_(request) {}
  void OnConnected(Connection& connection) override {
    connection.Call(request_,
                    [this](absl::StatusOr<Value> answer) { answer_ = std::move(answer); });
  }
  void OnMessage(Connection&, const ReceivedMessage&) override {}
  void OnClosed(Connection&, const absl::Status& why) override {
    if (!answer_) answer_ = why.ok() ? absl::UnavailableError("closed before it answered") : why;
  }
  void OnConnectFailed(const absl::Status& why, std::chrono::milliseconds) override {
    answer_ = why;
  }
  std::optional<absl::StatusOr<Value>>& answer() { return answer_; }

 private:
  const Value& request_;
  std::optional<absl::StatusOr<Value>> answer_;
};

}  // namespace

absl::StatusOr<Value> Ask(const Address& address, const Value& request,
                          std::chrono::milliseconds timeout, const ClientOptions& options) {
  EventLoop loop;
  Question question(request);
  ClientOptions once = options;
  once.reconnect = false;
  once.connect_timeout = std::min(once.connect_timeout, timeout);
  Client client(loop, address, once, &question);
  if (!loop.RunUntil([&] { return question.answer().has_value(); }, timeout)) {
    return Unavailable("{}: no answer within {} ms", address.ToString(), timeout.count());
  }
  return *std::move(question.answer());
}

}  // namespace tickstack::wire
