#include "wire/web_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <charconv>
#include <optional>
#include <utility>

#include "base/status.h"
#include "wire/http_stream.h"
#include "wire/tls_transport.h"
#include "wire/transport.h"

namespace tickstack::wire {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;

constexpr std::string_view kUserAgent = "tickstack/" TICKSTACK_VERSION;
constexpr size_t kReasonBytesMax = 200;  // Bytes of a server's text that an error has.

uint16_t PortOfScheme(std::string_view scheme) {
  return scheme == "wss" || scheme == "https" ? 443 : 80;
}

// Connects with or without TLS.
absl::StatusOr<std::unique_ptr<Transport>> ConnectTo(EventLoop& loop, const WebAddress& address,
                                                     const TlsClientContext* tls,
                                                     Transport::Waited done) {
  const Address to{address.host, address.port, "", address.tls()};
  if (!address.tls()) return loop.network().Connect(loop, to, std::move(done));
  TS_ASSIGN_OR_RETURN(SslSession session, tls->NewSession(address.host));
  return ConnectTls(loop.network(), loop, to, std::move(session), std::move(done));
}

std::string StatusText(http::status status, unsigned number, beast::string_view reason) {
  const beast::string_view text = reason.empty() ? http::obsolete_reason(status) : reason;
  return fmt::format("{} {}", number,
                     std::string_view(text.data(), std::min(text.size(), kReasonBytesMax)));
}

}  // namespace

// ---- addresses

std::string WebAddress::Host() const {
  const std::string name = host.find(':') == std::string::npos ? host : fmt::format("[{}]", host);
  return port == PortOfScheme(scheme) ? name : fmt::format("{}:{}", name, port);
}

std::string WebAddress::ToString() const {
  return fmt::format("{}://{}{}", scheme, Host(), target);
}

std::string WebAddress::Name() const {
  return fmt::format("{}://{}{}", scheme, Host(), target.substr(0, target.find('?')));
}

absl::StatusOr<WebAddress> ParseWebAddress(std::string_view text) {
  const auto bad = [&] {
    return InvalidArgument("expected an address such as wss://host:port/path, found \"{}\"", text);
  };
  WebAddress address;
  const size_t colon = text.find("://");
  if (colon == std::string_view::npos) return bad();
  address.scheme = text.substr(0, colon);
  const std::string_view schemes[] = {"ws", "wss", "http", "https"};
  if (std::ranges::find(schemes, address.scheme) == std::end(schemes)) return bad();
  if (std::ranges::any_of(text, [](char c) { return c <= ' ' || c > '~' || c == '#'; })) {
    return bad();
  }
  std::string_view rest = text.substr(colon + 3);
  const size_t target = std::min(rest.find_first_of("/?"), rest.size());
  address.target = rest.substr(target);
  if (!address.target.starts_with('/')) address.target.insert(0, "/");
  rest = rest.substr(0, target);
  std::string_view port;
  if (rest.starts_with('[')) {
    const size_t end = rest.find(']');
    if (end == std::string_view::npos) return bad();
    address.host = rest.substr(1, end - 1);
    rest = rest.substr(end + 1);
    if (!rest.empty() && rest[0] != ':') return bad();
    if (!rest.empty()) port = rest.substr(1);
    if (!rest.empty() && port.empty()) return bad();
  } else {
    const size_t at = rest.find(':');
    address.host = rest.substr(0, at);
    if (at != std::string_view::npos) port = rest.substr(at + 1);
    if (at != std::string_view::npos && port.empty()) return bad();
  }
  if (address.host.empty() || address.host.find('@') != std::string::npos) return bad();
  address.port = PortOfScheme(address.scheme);
  if (port.empty()) return address;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size() || address.port == 0) return bad();
  return address;
}

// ---- WebSockets

namespace {

// What a session tells its client. The client detaches from a session before it is destroyed.
class WebSessionOwner {
 public:
  virtual ~WebSessionOwner() = default;
  virtual void OnOpen() = 0;
  virtual void OnMessage(std::string_view message) = 0;
  virtual void OnFailed(absl::Status why) = 0;
};

// One connection, from the attempt to its end. Pending operations keep it alive.
class WebClientSession final : public std::enable_shared_from_this<WebClientSession> {
 public:
  WebClientSession(const WebAddress& address, const WebSocketClientOptions& options,
                   WebSessionOwner* owner)
      : address_(address), options_(options), owner_(owner) {}

  void Begin(EventLoop& loop, const TlsClientContext* tls) {
    absl::StatusOr<std::unique_ptr<Transport>> connecting =
        ConnectTo(loop, address_, tls, [self = shared_from_this()](const beast::error_code& error) {
          error ? self->Fail("connect", error) : self->Upgrade();
        });
    if (!connecting.ok()) {
      return loop.Post([self = shared_from_this(), why = connecting.status()] {
        self->Tell(Unavailable("{}: {}", self->address_.Name(), Message(why)));
      });
    }
    connecting_ = *std::move(connecting);
  }

  // Ends the session without another call of its owner.
  void Abandon() {
    owner_ = nullptr;
    Close();
  }
  // The owner's time for connecting is over.
  void TimeOut() {
    Tell(Unavailable("{}: no connection within {} ms", address_.Name(),
                     options_.connect_timeout.count()));
  }
  void SetPaused(bool is_paused) {
    is_paused_ = is_paused;
    if (is_open_) Read();
  }

 private:
  void Close() {
    if (connecting_ != nullptr) connecting_->Close();
    if (socket_) socket_->next_layer().Close();
  }

  void Tell(absl::Status why) {
    WebSessionOwner* const owner = std::exchange(owner_, nullptr);
    Close();
    if (owner != nullptr) owner->OnFailed(std::move(why));
  }

  void Fail(std::string_view step, const beast::error_code& error) {
    if (owner_ != nullptr) Tell(Unavailable("{}: {}: {}", address_.Name(), step, TextOf(error)));
  }

  std::string TextOf(const beast::error_code& error) const {
    if (error == websocket::error::closed) {
      const websocket::close_reason& reason = socket_->reason();
      return fmt::format("the server closed the connection: {} {}",
                         static_cast<unsigned>(reason.code),
                         std::string_view(reason.reason.data(), reason.reason.size()));
    }
    if (error == websocket::error::upgrade_declined) {
      return fmt::format(
          "expected 101 Switching Protocols, found {}",
          StatusText(response_.result(), response_.result_int(), response_.reason()));
    }
    if (error == websocket::error::message_too_big) {
      return fmt::format("a message has more than {} bytes", options_.message_bytes_max);
    }
    if (error == beast::error::timeout && is_open_) {
      return fmt::format("nothing was received for {} ms", options_.silence_max.count());
    }
    if (error == asio::error::eof) return "the server closed the connection";
    return error.message();
  }

  void Upgrade() {
    if (owner_ == nullptr) return;
    socket_.emplace(HttpStream(std::move(connecting_)));
    websocket::stream_base::timeout timeout{};
    timeout.handshake_timeout = options_.connect_timeout;
    timeout.idle_timeout = options_.silence_max;
    timeout.keep_alive_pings = true;
    socket_->set_option(timeout);
    websocket::permessage_deflate deflate;
    deflate.client_enable = true;
    socket_->set_option(deflate);
    socket_->set_option(websocket::stream_base::decorator([](websocket::request_type& request) {
      request.set(http::field::user_agent,
                  beast::string_view(kUserAgent.data(), kUserAgent.size()));
    }));
    socket_->read_message_max(options_.message_bytes_max);
    socket_->async_handshake(response_, address_.Host(), address_.target,
                             [self = shared_from_this()](const beast::error_code& error) {
                               if (error) return self->Fail("upgrade", error);
                               if (self->owner_ == nullptr) return;
                               self->is_open_ = true;
                               self->owner_->OnOpen();
                               self->Write();
                               self->Read();
                             });
  }

  // Sends the next of the first messages.
  void Write() {
    std::string_view line;
    while (line.empty()) {
      if (owner_ == nullptr || sent_ >= options_.first_messages.size()) return;
      const std::string_view rest = std::string_view(options_.first_messages).substr(sent_);
      line = rest.substr(0, rest.find('\n'));
      sent_ += line.size() + 1;
    }
    socket_->text(true);
    socket_->async_write(asio::buffer(line.data(), line.size()),
                         [self = shared_from_this()](const beast::error_code& error, size_t) {
                           error ? self->Fail("write", error) : self->Write();
                         });
  }

  void Read() {
    if (owner_ == nullptr || is_paused_ || std::exchange(is_reading_, true)) return;
    socket_->async_read(
        buffer_, [self = shared_from_this()](const beast::error_code& error, size_t) {
          self->is_reading_ = false;
          if (error) return self->Fail("read", error);
          if (self->owner_ == nullptr) return;
          const auto bytes = self->buffer_.cdata();
          self->owner_->OnMessage({static_cast<const char*>(bytes.data()), bytes.size()});
          self->buffer_.clear();
          self->Read();
        });
  }

  const WebAddress address_;
  const WebSocketClientOptions options_;
  WebSessionOwner* owner_;  // nullptr: the session is over.
  std::unique_ptr<Transport> connecting_;
  std::optional<websocket::stream<HttpStream>> socket_;
  websocket::response_type response_;
  beast::flat_buffer buffer_;
  size_t sent_ = 0;  // Bytes of first_messages.
  bool is_open_ = false;
  bool is_reading_ = false;
  bool is_paused_ = false;
};

}  // namespace

struct WebSocketClient::Impl final : WebSessionOwner {
  Impl(EventLoop& event_loop, WebAddress to, std::shared_ptr<const TlsClientContext> tls_context,
       WebSocketClientOptions opts, WebSocketClientHandler* handle)
      : loop(event_loop),
        address(std::move(to)),
        tls(std::move(tls_context)),
        options(std::move(opts)),
        handler(handle),
        timer(event_loop),
        pause(options.first_pause) {}

  // Connects after `wait`.
  void Schedule(std::chrono::nanoseconds wait) {
    timer.Once(wait, [this] { Attempt(); });
  }
  void Attempt() {
    session = std::make_shared<WebClientSession>(address, options, this);
    session->SetPaused(is_paused);
    timer.Once(options.connect_timeout, [this] {
      const std::shared_ptr<WebClientSession> late = session;
      late->TimeOut();
    });
    session->Begin(loop, tls.get());
  }
  void Abandon() {
    timer.Cancel();
    if (const auto old = std::exchange(session, nullptr)) old->Abandon();
    is_open = false;
  }

  void OnOpen() override {
    timer.Cancel();
    is_open = true;
    opened_ns = loop.clock().MonotonicNs();
    handler->OnConnected();
  }
  void OnMessage(std::string_view message) override { handler->OnMessage(message); }
  // A server that accepts and refuses at once is not asked more and more often.
  void OnFailed(absl::Status why) override {
    const bool was_open = is_open;
    const std::chrono::nanoseconds lasted(was_open ? loop.clock().MonotonicNs() - opened_ns : 0);
    if (lasted >= options.longest_pause) pause = options.first_pause;
    Abandon();
    const std::chrono::milliseconds wait = pause;
    pause = std::min(2 * pause, options.longest_pause);
    Schedule(wait);
    handler->OnClosed(was_open, why, wait);
  }

  EventLoop& loop;
  const WebAddress address;
  const std::shared_ptr<const TlsClientContext> tls;
  const WebSocketClientOptions options;
  WebSocketClientHandler* const handler;
  Timer timer;  // Ends an attempt, or a pause.
  std::shared_ptr<WebClientSession> session;
  std::chrono::milliseconds pause;
  int64_t opened_ns = 0;  // Monotonic.
  bool is_open = false;
  bool is_paused = false;
  bool is_suspended = false;
};

WebSocketClient::WebSocketClient(EventLoop& loop, WebAddress address,
                                 std::shared_ptr<const TlsClientContext> tls,
                                 WebSocketClientOptions options, WebSocketClientHandler* handler)
    : impl_(std::make_shared<Impl>(loop, std::move(address), std::move(tls), std::move(options),
                                   handler)) {
  impl_->Schedule(std::chrono::nanoseconds(0));
}

WebSocketClient::~WebSocketClient() { impl_->Abandon(); }

void WebSocketClient::PauseReading() {
  impl_->is_paused = true;
  if (impl_->session != nullptr) impl_->session->SetPaused(true);
}

void WebSocketClient::ResumeReading() {
  impl_->is_paused = false;
  if (impl_->session != nullptr) impl_->session->SetPaused(false);
}

void WebSocketClient::Reconnect(const absl::Status& why) {
  if (impl_->is_open) impl_->OnFailed(why);
}

void WebSocketClient::Suspend() {
  impl_->is_suspended = true;
  impl_->Abandon();
}

void WebSocketClient::Resume() {
  if (std::exchange(impl_->is_suspended, false)) impl_->Schedule(std::chrono::nanoseconds(0));
}

// ---- requests

struct WebFetch::Impl final : std::enable_shared_from_this<WebFetch::Impl> {
  Impl(EventLoop& event_loop, WebAddress to, const Options& opts, Done call)
      : loop(event_loop),
        address(std::move(to)),
        options(opts),
        done(std::move(call)),
        timer(event_loop) {}

  void Begin(const TlsClientContext* tls) {
    timer.Once(options.timeout, [this] {
      End(Unavailable("{}: no answer within {} ms", address.Name(), options.timeout.count()));
    });
    absl::StatusOr<std::unique_ptr<Transport>> connection =
        ConnectTo(loop, address, tls, [self = shared_from_this()](const beast::error_code& error) {
          error ? self->Fail("connect", error) : self->Send();
        });
    if (!connection.ok()) {
      return loop.Post([self = shared_from_this(), why = connection.status()] {
        self->End(Unavailable("{}: {}", self->address.Name(), Message(why)));
      });
    }
    connecting = *std::move(connection);
  }

  void Send() {
    if (!done) return;
    stream.emplace(std::move(connecting));
    request.method(http::verb::get);
    request.target(address.target);
    request.version(11);
    request.set(http::field::host, address.Host());
    request.set(http::field::user_agent, beast::string_view(kUserAgent.data(), kUserAgent.size()));
    request.set(http::field::accept, "application/json");
    request.set(http::field::connection, "close");
    http::async_write(*stream, request,
                      [self = shared_from_this()](const beast::error_code& error, size_t) {
                        error ? self->Fail("write", error) : self->Receive();
                      });
  }

  void Receive() {
    if (!done) return;
    parser.body_limit(options.body_bytes_max);
    http::async_read(*stream, buffer, parser,
                     [self = shared_from_this()](const beast::error_code& error, size_t) {
                       error ? self->Fail("read", error) : self->Finish();
                     });
  }

  void Finish() {
    const auto& response = parser.get();
    if (response.result() != http::status::ok) {
      return End(
          Unavailable("{}: expected 200 OK, found {}", address.Name(),
                      StatusText(response.result(), response.result_int(), response.reason())));
    }
    End(std::move(parser.get().body()));
  }

  void Fail(std::string_view step, const beast::error_code& error) {
    const std::string text =
        error == http::error::body_limit
            ? fmt::format("the answer has more than {} bytes", options.body_bytes_max)
            : error.message();
    End(Unavailable("{}: {}: {}", address.Name(), step, text));
  }

  void End(absl::StatusOr<std::string> result) {
    Close();
    // The call may destroy the WebFetch, but not this object.
    const std::shared_ptr<Impl> self = shared_from_this();
    if (const Done call = std::exchange(done, nullptr)) call(std::move(result));
  }
  void Close() {
    timer.Cancel();
    if (connecting != nullptr) connecting->Close();
    if (stream) stream->Close();
  }

  EventLoop& loop;
  const WebAddress address;
  const Options options;
  Done done;  // Empty: it was called, or the owner is gone.
  Timer timer;
  std::unique_ptr<Transport> connecting;
  std::optional<HttpStream> stream;
  http::request<http::empty_body> request;
  http::response_parser<http::string_body> parser;
  beast::flat_buffer buffer;
};

WebFetch::WebFetch(EventLoop& loop, WebAddress address, std::shared_ptr<const TlsClientContext> tls,
                   const Options& options, Done done)
    : impl_(std::make_shared<Impl>(loop, std::move(address), options, std::move(done))) {
  impl_->Begin(tls.get());
}

WebFetch::~WebFetch() {
  impl_->done = nullptr;
  impl_->Close();
}

}  // namespace tickstack::wire
