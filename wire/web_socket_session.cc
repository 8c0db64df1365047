// A client that speaks WebSocket: http_gateway.h says what its frames are.

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <chrono>
#include <cstring>
#include <deque>
#include <optional>
#include <utility>

#include "base/status.h"
#include "table/element_text.h"
#include "table/format_value.h"
#include "wire/codec.h"
#include "wire/compress.h"
#include "wire/error_position.h"
#include "wire/http_sessions.h"

namespace tickstack::wire {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;

constexpr std::chrono::seconds kLastFrame{5};  // Time for a last frame when a session ends.
constexpr size_t kAnswersOwedMax = 64;         // At this number, no further frame is read.
constexpr size_t kIdBytesMax = 256;            // Bytes of an ID that an answer carries.
// Unread bytes at which reading from the process pauses and resumes. While it is paused, the
// process's own limit for slow readers applies.
constexpr size_t kPauseBytes = size_t{16} << 20, kResumeBytes = size_t{4} << 20;

// Returns item i of a vector or list.
Value ItemAt(const Value& items, size_t i) {
  if (items.is_list()) return items.items()[i];
  if (items.is(Type::kSymbol)) return Value::Symbol(items.symbols()[i]);
  return Value::AtomFromBytes(items.type(), ElementAt(items, i));
}

// Returns the value of a symbol key of a dictionary, nullopt if it is not a key. c.js sends the
// keys as a list of symbols, others as a vector.
std::optional<Value> ValueOf(const Value& dictionary, std::string_view key) {
  const Value &keys = dictionary.keys(), &values = dictionary.values();
  const auto has_items = [](const Value& value) { return value.is_vector() || value.is_list(); };
  if (!has_items(keys) || !has_items(values)) return std::nullopt;
  const Value wanted = Value::Symbol(key);
  for (size_t i = 0; i < keys.count(); ++i) {
    if (ItemAt(keys, i) == wanted) return ItemAt(values, i);
  }
  return std::nullopt;
}

class WebSocketSession final : public HttpClientSession {
 public:
  WebSocketSession(HttpSessions& sessions, HttpStream stream, HttpRequest request,
                   const std::string& peer)
      : HttpClientSession(sessions, peer),
        socket_(std::move(stream)),
        write_timer_(sessions.loop),
        request_(std::move(request)),
        peer_(peer) {}

  ~WebSocketSession() override { sessions_.unsent_bytes -= unsent_bytes_; }

  void Begin() {
    sessions_.Open(CredentialsOf(request_), peer_, this,
                   [self = Self()](absl::StatusOr<std::shared_ptr<Connection>> opened) {
                     if (!opened.ok()) return self->Refuse(opened.status());
                     self->inside_ = *std::move(opened);
                     const absl::Status busy = self->sessions_.MakeBusy(*self);
                     busy.ok() ? self->Accept() : self->Refuse(busy);
                   });
  }

  void Abort() override {
    socket_.next_layer().Close();
    Finish();
  }

  // Receives an answer, or a message that the process publishes.
  void OnMessage(Connection& connection, const ReceivedMessage& message) override {
    if (message.kind == MessageKind::kSync) return;
    OwedAnswer owed;
    if (message.kind == MessageKind::kResponse) {
      if (owed_.empty()) return;
      owed = std::move(owed_.front());
      owed_.pop_front();
    }
    // The unread bytes of all clients are bounded together. A client whose answer would exceed the
    // bound is disconnected.
    if (!sessions_.HasRoom(unsent_bytes_, message.body.size())) {
      return End(websocket::close_code::try_again_later, "too much is unread, here or by others");
    }
    Send(FrameOf(owed, message));
    if (unsent_bytes_ > kPauseBytes) connection.PauseReading();
    ReadFrame();
  }
  void OnClosed(Connection&, const absl::Status& why) override {
    inside_ = nullptr;
    End(websocket::close_code::internal_error, why.ok() ? "the process closed" : Message(why));
  }

 private:
  // How to send the answer to a question.
  struct OwedAnswer {
    bool as_text = false;
    std::string id = {};  // The encoded ID of the question, if it has one.
  };
  struct Frame {
    bool text;
    std::string bytes;
  };

  std::shared_ptr<WebSocketSession> Self() {
    return std::static_pointer_cast<WebSocketSession>(shared_from_this());
  }

  void Refuse(const absl::Status& why) {
    const bool denied = absl::IsPermissionDenied(why);
    refusal_.result(denied ? http::status::unauthorized : http::status::service_unavailable);
    if (denied) refusal_.set(http::field::www_authenticate, "Basic realm=\"tickstack\"");
    refusal_.set(http::field::content_type, "text/plain; charset=utf-8");
    refusal_.body() = fmt::format("'{}\n", Message(why));
    refusal_.keep_alive(false);
    FinishResponse(request_, refusal_);
    http::async_write(socket_.next_layer(), refusal_,
                      [self = Self()](const beast::error_code&, size_t) {});
  }

  void Accept() {
    websocket::stream_base::timeout timeout =
        websocket::stream_base::timeout::suggested(beast::role_type::server);
    socket_.set_option(timeout);  // Pings a silent client, and ends a session without a reply.
    socket_.read_message_max(login_->may_send_large ? sessions_.options.max_request_bytes
                                                    : sessions_.options.small_request_bytes);
    socket_.async_accept(request_, [self = Self()](const beast::error_code& error) {
      if (error) return self->DisconnectFromProcess();
      self->accepted_ = true;
      self->alive_ = self;
      self->WriteNext();
      self->ReadFrame();
    });
  }

  // The client is gone, or is to go: when the pending operations have ended, so does the session.
  void Finish() {
    ended_ = true;
    write_timer_.Cancel();
    DisconnectFromProcess();
    alive_.reset();
  }

  void ReadFrame() {
    if (reading_ || !accepted_ || ended_ || owed_.size() >= kAnswersOwedMax) return;
    reading_ = true;
    socket_.async_read(buffer_, [self = Self()](const beast::error_code& error, size_t) {
      self->reading_ = false;
      if (error) return self->Finish();
      self->OnFrame();
    });
  }

  void OnFrame() {
    const auto data = buffer_.data();
    const std::span<const std::byte> bytes(static_cast<const std::byte*>(data.data()), data.size());
    const absl::Status taken = inside_ == nullptr   ? Unavailable("the process closed")
                               : socket_.got_text() ? TakeText(AsText(bytes))
                                                    : TakeMessage(bytes);
    buffer_.clear();
    if (!taken.ok()) return End(websocket::close_code::protocol_error, Message(taken));
    ReadFrame();
  }

  absl::Status TakeText(std::string_view text) {
    owed_.push_back({.as_text = true});
    inside_->Send(EncodeMessage(MessageKind::kSync, Value::String(text)));
    return absl::OkStatus();
  }

  // Handles an async message as c.js serialises it; its sender expects an answer nevertheless.
  absl::Status TakeMessage(std::span<const std::byte> bytes) {
    if (bytes.size() < kHeaderBytes) return InvalidArgument("a frame of {} bytes", bytes.size());
    TS_ASSIGN_OR_RETURN(const Header header, ParseHeader(bytes.first<kHeaderBytes>()));
    if (header.kind == MessageKind::kResponse) {
      return InvalidArgument("expected an async or sync message, found a response");
    }
    if (header.total_bytes != bytes.size()) {
      return InvalidArgument("expected one message in a frame of {} bytes, found one of {}",
                             bytes.size(), header.total_bytes);
    }
    ByteBuffer message(bytes);
    if (header.compressed) {
      TS_ASSIGN_OR_RETURN(message, Decompress(bytes, sessions_.options.max_request_bytes));
    }
    const std::span<std::byte> body(message.data() + kHeaderBytes, message.size() - kHeaderBytes);
    if (!header.little_endian) TS_RETURN_IF_ERROR(ToLittleEndian(body));
    if (body[0] == static_cast<std::byte>(Type::kDict)) {
      TS_ASSIGN_OR_RETURN(const bool taken, TakeQuestionWithId(body));
      if (taken) return absl::OkStatus();
    }
    WriteHeader(message.data(), MessageKind::kSync, message.size());
    owed_.push_back({});
    inside_->Send(std::move(message));
    return absl::OkStatus();
  }

  // Returns false if `body` is a dictionary of another kind.
  absl::StatusOr<bool> TakeQuestionWithId(std::span<const std::byte> body) {
    TS_ASSIGN_OR_RETURN(const Value asked, Decode(body));
    const std::optional<Value> question = ValueOf(asked, "i"), id = ValueOf(asked, "ID");
    if (!question || !id) return false;
    const ByteBuffer encoded = EncodeMessage(MessageKind::kAsync, *id);
    if (!id->is_atom() || encoded.size() > kHeaderBytes + kIdBytesMax) {
      return InvalidArgument("expected an ID that is an atom of at most {} bytes", kIdBytesMax);
    }
    owed_.push_back({.id = std::string(AsText(encoded.span().subspan(kHeaderBytes)))});
    inside_->Send(EncodeMessage(MessageKind::kSync, *question));
    return true;
  }

  static Frame FrameOf(const OwedAnswer& owed, const ReceivedMessage& message) {
    if (owed.as_text) return TextFrame(message);
    return owed.id.empty() ? BinaryFrame(message) : FrameWithId(message, owed.id);
  }

  // Returns `o`ID!(answer;id), from the bytes of both.
  static Frame FrameWithId(const ReceivedMessage& message, std::string_view id) {
    const Frame answer = BinaryFrame(message);
    // A dictionary of two symbols and a list of two.
    constexpr std::string_view kBegin("\x63\x0b\x00\x02\x00\x00\x00o\0ID\0\x00\x00\x02\x00\x00\x00",
                                      18);
    std::string frame(kHeaderBytes, '\0');
    frame += kBegin;
    frame += std::string_view(answer.bytes).substr(kHeaderBytes);
    frame += id;
    WriteHeader(reinterpret_cast<std::byte*>(frame.data()), MessageKind::kAsync, frame.size());
    return {false, std::move(frame)};
  }

  static Frame TextFrame(const ReceivedMessage& message) {
    const absl::StatusOr<Value> answer = Decode(message.body);
    if (!answer.ok()) return {true, "{\"error\":\"the answer could not be read\"}"};
    if (!answer->is_error()) return {true, FormatJson(*answer)};
    return {true, fmt::format("{{\"error\":{}}}",
                              FormatJson(Value::String(SplitPosition(answer->text()).text)))};
  }

  // An error becomes a symbol after a quote, as handlers of q's .z.ws send it: -8! has no errors.
  static Frame BinaryFrame(const ReceivedMessage& message) {
    constexpr auto kError = std::byte{0x80};
    if (!message.body.empty() && message.body[0] == kError) {
      const absl::StatusOr<Value> error = Decode(message.body);
      const Value quoted = Value::Symbol(fmt::format(
          "'{}", error.ok() ? SplitPosition(error->text()).text : std::string_view("error")));
      return {false, std::string(AsText(EncodeMessage(MessageKind::kAsync, quoted).span()))};
    }
    std::string frame(kHeaderBytes, '\0');
    WriteHeader(reinterpret_cast<std::byte*>(frame.data()), message.kind,
                kHeaderBytes + message.body.size());
    frame += AsText(message.body);
    return {false, std::move(frame)};
  }

  void Send(Frame frame) {
    unsent_bytes_ += frame.bytes.size();
    sessions_.unsent_bytes += frame.bytes.size();
    frames_.push_back(std::move(frame));
    WriteNext();
  }

  void WriteNext() {
    if (writing_ || !accepted_ || frames_.empty() || ended_) return;
    writing_ = true;
    // Pings do not detect a client that reads nothing, because its browser answers them. This timer
    // ends such sessions.
    write_timer_.Once(sessions_.TimeToTake(frames_.front().bytes.size()), [this] { Abort(); });
    socket_.text(frames_.front().text);
    socket_.async_write(
        asio::buffer(frames_.front().bytes),
        [self = Self()](const beast::error_code& error, size_t) { self->OnWritten(error); });
  }

  void OnWritten(const beast::error_code& error) {
    writing_ = false;
    write_timer_.Cancel();
    Forget(frames_.front());
    frames_.pop_front();
    if (error) return Finish();
    if (inside_ != nullptr && unsent_bytes_ < kResumeBytes) inside_->ResumeReading();
    WriteNext();
    if (closing_ && !writing_) Close();
  }

  // Sends the reason after the frame that is being written, and closes.
  void End(websocket::close_code code, std::string_view why) {
    if (closing_ || !accepted_) return;
    closing_ = true;
    reason_ = websocket::close_reason(
        code, beast::string_view(why.data(), std::min<size_t>(why.size(), 100)));
    DisconnectFromProcess();
    // Drops unread frames, except the one that is being written.
    while (frames_.size() > (writing_ ? 1u : 0u)) {
      Forget(frames_.back());
      frames_.pop_back();
    }
    if (!writing_) return Close();
    write_timer_.Once(kLastFrame, [this] { Abort(); });
  }

  void Forget(const Frame& frame) {
    unsent_bytes_ -= frame.bytes.size();
    sessions_.unsent_bytes -= frame.bytes.size();
  }

  void Close() {
    ended_ = true;
    socket_.async_close(reason_, [self = Self()](const beast::error_code&) { self->Finish(); });
  }

  websocket::stream<HttpStream> socket_;
  Timer write_timer_;
  HttpRequest request_;
  HttpResponse refusal_;
  const std::string peer_;
  beast::flat_buffer buffer_;
  // Keeps the session alive while nothing is read or written: the process may still publish.
  std::shared_ptr<WebSocketSession> alive_;
  std::deque<OwedAnswer> owed_;  // Answers that the process owes, oldest first.
  std::deque<Frame> frames_;
  size_t unsent_bytes_ = 0;
  bool accepted_ = false, reading_ = false, writing_ = false;
  bool closing_ = false, ended_ = false;
  websocket::close_reason reason_;
};

}  // namespace

void RunWebSocketSession(HttpSessions& sessions, HttpStream stream, HttpRequest request,
                         const std::string& peer) {
  std::make_shared<WebSocketSession>(sessions, std::move(stream), std::move(request), peer)
      ->Begin();
}

}  // namespace tickstack::wire
