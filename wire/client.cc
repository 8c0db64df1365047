#include "wire/client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <optional>
#include <utility>

#include "base/status.h"
#include "wire/handshake.h"
#include "wire/keep_alive.h"
#include "wire/socket_address.h"

namespace tickstack::wire {

namespace asio = boost::asio;
using Protocol = asio::generic::stream_protocol;

struct Client::Impl : ConnectionHandler, std::enable_shared_from_this<Client::Impl> {
  Impl(EventLoop& event_loop, Address to, const ClientOptions& opts, ClientHandler* handle)
      : loop(event_loop),
        address(std::move(to)),
        options(opts),
        handler(handle),
        socket(event_loop.context()),
        timer(event_loop.context()),
        pause(opts.first_pause) {}

  void Attempt();
  void SendCredentials();
  void ReadCapability();
  void Established();
  void Failed(absl::Status why);

  void OnMessage(Connection& from, const ReceivedMessage& message) override {
    handler->OnMessage(from, message);
  }
  void OnDrained(Connection& from) override { handler->OnDrained(from); }
  void OnClosed(Connection& closed, const absl::Status& why) override {
    const std::shared_ptr<Connection> keep = std::exchange(connection, nullptr);
    if (stopped) return;
    handler->OnClosed(closed, why);
    if (!stopped && options.reconnect) Wait();
  }
  void Wait() {
    timer.expires_after(pause);
    pause = std::min(2 * pause, options.longest_pause);
    timer.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
      const std::shared_ptr<Impl> self = weak.lock();
      if (self != nullptr && !error && !self->stopped) self->Attempt();
    });
  }

  EventLoop& loop;
  const Address address;
  const ClientOptions options;
  ClientHandler* handler;
  Protocol::socket socket;
  asio::steady_timer timer;
  std::chrono::milliseconds pause;
  std::string credentials;
  std::array<std::byte, 1> answer{};
  std::shared_ptr<Connection> connection;
  bool stopped = false;
  bool timed_out = false;
};

void Client::Impl::Attempt() {
  timed_out = false;
  absl::StatusOr<SocketAddress> to = ToSocketAddress(address);
  if (!to.ok()) return Failed(to.status());
  Protocol::endpoint endpoint(to->get(), to->size());
  boost::system::error_code error;
  socket = Protocol::socket(loop.context());
  socket.open(endpoint.protocol(), error);
  if (error) return Failed(Unavailable("{}: socket: {}", address.ToString(), error.message()));
  timer.expires_after(options.connect_timeout);
  timer.async_wait([weak = weak_from_this()](const boost::system::error_code& cancelled) {
    const std::shared_ptr<Impl> self = weak.lock();
    if (self == nullptr || cancelled) return;
    boost::system::error_code ignored;
    self->timed_out = true;
    self->socket.close(ignored);
  });
  socket.async_connect(
      endpoint, [weak = weak_from_this()](const boost::system::error_code& failed) {
        const std::shared_ptr<Impl> self = weak.lock();
        if (self == nullptr || self->stopped) return;
        if (failed)
          return self->Failed(Unavailable("{}: {}", self->address.ToString(), failed.message()));
        self->SendCredentials();
      });
}

void Client::Impl::SendCredentials() {
  const int on = 1;
  ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  KeepAlive(socket.native_handle());
  credentials = FormatCredentials({options.user, options.password, kOurCapability});
  asio::async_write(socket, asio::buffer(credentials),
                    [weak = weak_from_this()](const boost::system::error_code& failed, size_t) {
                      const std::shared_ptr<Impl> self = weak.lock();
                      if (self == nullptr || self->stopped) return;
                      if (failed) {
                        return self->Failed(Unavailable(
                            "{}: handshake: {}", self->address.ToString(), failed.message()));
                      }
                      self->ReadCapability();
                    });
}

void Client::Impl::ReadCapability() {
  socket.async_read_some(
      asio::buffer(answer.data(), 1),
      [weak = weak_from_this()](const boost::system::error_code& failed, size_t) {
        const std::shared_ptr<Impl> self = weak.lock();
        if (self == nullptr || self->stopped) return;
        if (failed) {
          const bool refused = failed == asio::error::eof && !self->timed_out;
          return self->Failed(Unavailable("{}: handshake: {}", self->address.ToString(),
                                          refused           ? "refused, wrong user or password?"
                                          : self->timed_out ? "timed out"
                                                            : failed.message()));
        }
        self->Established();
      });
}

void Client::Impl::Established() {
  timer.cancel();
  pause = options.first_pause;
  const PeerName peer = PeerNameOf(socket.native_handle());
  boost::system::error_code error;
  const int descriptor = socket.release(error);
  if (error) return Failed(Unavailable("{}: {}", address.ToString(), error.message()));
  const std::string name = address.is_unix() ? address.ToString() : peer.text;
  connection = Connection::Adopt(loop, descriptor, name, std::to_integer<uint8_t>(answer[0]),
                                 peer.local, options.connection, this);
  connection->set_user(options.user);
  handler->OnConnected(*connection);
  if (connection != nullptr) connection->Start();
}

void Client::Impl::Failed(absl::Status why) {
  boost::system::error_code ignored;
  timer.cancel();
  socket.close(ignored);
  if (stopped) return;
  const std::chrono::milliseconds next = pause;
  if (options.reconnect) Wait();
  handler->OnConnectFailed(why, next);
}

Client::Client(EventLoop& loop, Address address, const ClientOptions& options,
               ClientHandler* handler)
    : impl_(std::make_shared<Impl>(loop, std::move(address), options, handler)) {
  asio::post(loop.context(), [weak = std::weak_ptr<Impl>(impl_)] {
    const std::shared_ptr<Impl> self = weak.lock();
    if (self != nullptr && !self->stopped) self->Attempt();
  });
}

Client::~Client() { Stop(); }

Connection* Client::connection() const { return impl_->connection.get(); }
const Address& Client::address() const { return impl_->address; }

void Client::Stop() {
  impl_->stopped = true;
  boost::system::error_code ignored;
  impl_->timer.cancel();
  impl_->socket.close(ignored);
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
