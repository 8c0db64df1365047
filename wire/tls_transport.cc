#include "wire/tls_transport.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <cstring>
#include <string>
#include <utility>

#include "base/byte_buffer.h"
#include "base/status.h"
#include "wire/event_loop.h"
#include "wire/refusal_log.h"

namespace tickstack::wire {
namespace {

namespace asio = boost::asio;
using ErrorCode = Transport::ErrorCode;

constexpr size_t kReadBytes = size_t{32} << 10;
constexpr size_t kTlsRecordBytes = size_t{16} << 10;  // The most that a record holds.
constexpr size_t kWriteBytesMax = size_t{512} << 10;  // Taken by one TryWrite.
constexpr std::chrono::seconds kLingerMax{10};        // For unsent bytes of a closed connection.
constexpr std::byte kHandshakeRecord{0x16};

// Boost's category has no virtual destructor; nothing destroys one through it.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

// Errors of a session: OpenSSL's reasons from kReasons on, and results of a verification below.
class TlsCategory final : public boost::system::error_category {
 public:
  static constexpr int kReasons = 10'000;
  static constexpr int kPlain = kReasons - 1;
  static constexpr int kPlainServer = kReasons - 2;
  static const TlsCategory& Instance() {
    static const TlsCategory category;
    return category;
  }
  const char* name() const noexcept override { return "tls"; }
  std::string message(int value) const override {
    if (value == kPlain) return "the client does not use TLS, which is required";
    if (value == kPlainServer) {
      return "the server does not use TLS on this port: connect without it, or set listen in its "
             "[tls]";
    }
    if (value == kReasons) return "the session ended unexpectedly";
    const char* const text =
        value < kReasons ? X509_verify_cert_error_string(value)
                         : ERR_reason_error_string(ERR_PACK(ERR_LIB_SSL, 0, value - kReasons));
    return text == nullptr ? fmt::format("error {}", value) : text;
  }
};

#pragma GCC diagnostic pop

// What went wrong in a session's last call.
ErrorCode ErrorOf(SSL* ssl) {
  const long verified = SSL_get_verify_result(ssl);
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  if (verified != X509_V_OK) return {static_cast<int>(verified), TlsCategory::Instance()};
  const int reason = ERR_GET_REASON(error);
  if (SSL_is_server(ssl) == 0 && reason == SSL_R_WRONG_VERSION_NUMBER) {  // It sent other bytes.
    return {TlsCategory::kPlainServer, TlsCategory::Instance()};
  }
  return {TlsCategory::kReasons + reason, TlsCategory::Instance()};
}

// Gives a new session its buffers in memory.
SslSession WithBuffers(SslSession ssl) {
  SSL_set_bio(ssl.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  return ssl;
}

// The state of a connection. Pending operations of the inner transport keep it alive, so that what
// TryWrite took is still sent after the owner has closed the connection. They alone keep what the
// owner waits for, which often holds the owner: so all of it ends with the loop.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  // What the peer speaks.
  enum class Mode : uint8_t {
    kUnknown,  // The client has sent nothing yet.
    kPlain,
    kTls,
  };

  Stream(std::unique_ptr<Transport> inner, SslSession ssl, Mode mode, TlsUse use)
      : inner_(std::move(inner)),
        ssl_(std::move(ssl)),
        linger_(inner_->loop()),
        mode_(mode),
        use_(use) {}

  Transport& inner() { return *inner_; }
  const Transport& inner() const { return *inner_; }

  void Begin(Transport::Waited done = nullptr);
  void Read(std::span<std::byte> into, Transport::Read done);
  size_t Write(std::span<const std::span<const std::byte>> pieces, ErrorCode& error);
  void WaitWritable(Transport::Waited done);
  void WaitReadable(Transport::Waited done);
  bool HasUnread() const;
  bool LacksRequiredTls() const { return use_ == TlsUse::kRequired && mode_ != Mode::kTls; }
  void ShutdownSend();
  void Close();
  void Cancel();

 private:
  friend class DetachedTls;
  // What the owner waits for.
  struct Pending {
    Transport::Waited handshake;
    std::span<std::byte> into;
    Transport::Read read;
    Transport::Waited writable;
  };

  // For whatever will call GoOn, HandShake or FlushLater again.
  std::shared_ptr<Pending> KeepPending() {
    std::shared_ptr<Pending> kept = pending_.lock();
    if (kept == nullptr) pending_ = kept = std::make_shared<Pending>();
    return kept;
  }
  bool IsReady() const { return mode_ == Mode::kTls && SSL_is_init_finished(ssl_.get()) != 0; }
  // True if bytes have been received that were not read.
  bool HasDecrypted() const {
    return SSL_pending(ssl_.get()) > 0 || BytesIn(SSL_get_rbio(ssl_.get())) > 0;
  }
  static int BytesIn(BIO* bio) { return static_cast<int>(BIO_ctrl_pending(bio)); }

  void Post(std::function<void()> function) { inner_->loop().Post(std::move(function)); }
  void GoOn();
  void HandShake();
  void ReadInner();
  void TakeReceived(std::span<const std::byte> bytes);
  ErrorCode Decrypt(std::span<std::byte> into, size_t& bytes);
  void Fail(const ErrorCode& error);
  void EndRead(const ErrorCode& error, size_t bytes);
  void AbortRead();
  void AbortWaits();
  bool Encrypt(std::span<const std::byte> bytes, size_t& taken);
  bool Flush();
  void FlushLater();

  std::unique_ptr<Transport> inner_;
  SslSession ssl_;
  Timer linger_;
  Mode mode_;
  const TlsUse use_;
  const bool is_server_ = SSL_is_server(ssl_.get()) != 0;
  ErrorCode failed_;        // Why no more can be read,
  ErrorCode write_failed_;  // or written.
  ByteBuffer received_;     // By the read of the inner transport that is under way.
  std::string ahead_;       // Plain bytes that were read to learn the mode.
  std::string unsent_;      // Encrypted bytes that the socket has not taken, from unsent_at_ on.
  size_t unsent_at_ = 0;
  bool is_reading_ = false;         // The inner transport reads.
  bool is_flushing_ = false;        // It waits until it is writable, for unsent_.
  bool shuts_down_ = false;         // After unsent_ has left.
  bool is_closing_ = false;         // The owner is gone, or has closed the connection.
  std::weak_ptr<Pending> pending_;  // Kept by operations of the inner transport.
};

// ---- reading

// Begins the session of a client, or finds out what a client of ours speaks.
void Stream::Begin(Transport::Waited done) {
  const std::shared_ptr<Pending> pending = KeepPending();
  pending->handshake = std::move(done);
  if (mode_ == Mode::kTls) return HandShake();
  ReadInner();
}

void Stream::HandShake() {
  ERR_clear_error();
  const int done = SSL_do_handshake(ssl_.get());
  const bool waits = done != 1 && SSL_get_error(ssl_.get(), done) == SSL_ERROR_WANT_READ;
  const ErrorCode error = done == 1 || waits ? ErrorCode() : ErrorOf(ssl_.get());
  Flush();  // Its messages, or an alert.
  if (waits) return ReadInner();
  if (error) return Fail(error);
  const std::shared_ptr<Pending> pending = KeepPending();
  if (pending->handshake) std::exchange(pending->handshake, nullptr)({});
  if (pending->writable && unsent_.empty()) {
    std::exchange(pending->writable, nullptr)({});
  }
  GoOn();
}

void Stream::Read(std::span<std::byte> into, Transport::Read done) {
  const bool is_known = mode_ == Mode::kPlain ? ahead_.empty() : IsReady() && !HasDecrypted();
  const bool must_wait = is_known && !failed_ && !is_closing_;  // Nothing is there already.
  if (must_wait && mode_ == Mode::kPlain) return inner_->AsyncRead(into, std::move(done));
  const std::shared_ptr<Pending> pending = KeepPending();
  pending->into = into;
  pending->read = std::move(done);
  if (must_wait) return ReadInner();
  Post([self = shared_from_this(), pending] { self->GoOn(); });
}

// Ends the read that is pending, if any, as far as the received bytes allow.
void Stream::GoOn() {
  const std::shared_ptr<Pending> pending = pending_.lock();
  if (pending == nullptr || !pending->read || is_closing_) return;
  if (failed_) return EndRead(failed_, 0);
  const std::span<std::byte> into = pending->into;
  if (!ahead_.empty()) {
    const size_t bytes = std::min(ahead_.size(), into.size());
    std::memcpy(into.data(), ahead_.data(), bytes);
    ahead_.erase(0, bytes);
    return EndRead({}, bytes);
  }
  if (mode_ == Mode::kPlain) return inner_->AsyncRead(into, std::exchange(pending->read, nullptr));
  if (!IsReady()) return ReadInner();  // The handshake goes on, and then this does.
  size_t bytes = 0;
  const ErrorCode error = Decrypt(into, bytes);
  Flush();  // Answers to a change of keys.
  if (bytes > 0) return EndRead({}, bytes);
  if (error == asio::error::would_block) return ReadInner();
  EndRead(error, 0);
}

// Fills `into` with what has been received. Sets `bytes` to its size; returns what follows it:
// would_block, the end, or an error.
ErrorCode Stream::Decrypt(std::span<std::byte> into, size_t& bytes) {
  ERR_clear_error();
  while (bytes < into.size()) {
    const size_t room = std::min<size_t>(into.size() - bytes, INT32_MAX);
    const int got = SSL_read(ssl_.get(), into.data() + bytes, static_cast<int>(room));
    if (got > 0) {
      bytes += static_cast<size_t>(got);
      continue;
    }
    switch (SSL_get_error(ssl_.get(), got)) {
      case SSL_ERROR_WANT_READ:
        return asio::error::would_block;
      case SSL_ERROR_ZERO_RETURN:
        return asio::error::eof;
      case SSL_ERROR_SSL:
        return ErrorOf(ssl_.get());
      default:
        return asio::error::connection_reset;
    }
  }
  return {};
}

void Stream::ReadInner() {
  if (is_reading_) return;
  is_reading_ = true;
  received_.resize(kReadBytes);
  inner_->AsyncRead(received_.span(), [self = shared_from_this(), pending = KeepPending()](
                                          const ErrorCode& error, size_t bytes) {
    self->is_reading_ = false;
    if (error) return self->Fail(error);
    self->TakeReceived(self->received_.span().first(bytes));
  });
}

void Stream::TakeReceived(std::span<const std::byte> bytes) {
  if (mode_ == Mode::kUnknown) {
    mode_ = bytes.front() == kHandshakeRecord ? Mode::kTls : Mode::kPlain;
    if (LacksRequiredTls()) {
      LogRefusal(inner_->peer().text, TlsCategory::Instance().message(TlsCategory::kPlain));
    }
  }
  if (mode_ == Mode::kPlain) {
    ahead_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    received_ = ByteBuffer();
    return GoOn();
  }
  BIO_write(SSL_get_rbio(ssl_.get()), bytes.data(), static_cast<int>(bytes.size()));
  IsReady() ? GoOn() : HandShake();
}

// The stream has ended, or the session failed, or the operation was cancelled.
void Stream::Fail(const ErrorCode& error) {
  if (error != asio::error::operation_aborted) {
    failed_ = error;
    // A client that ends before it sent anything may still read.
    if (mode_ == Mode::kUnknown) mode_ = Mode::kPlain;
  }
  if (is_server_ && !IsReady() && error.category() == TlsCategory::Instance()) {
    LogRefusal(inner_->peer().text, error.message());
  }
  const std::shared_ptr<Pending> pending = pending_.lock();
  if (pending == nullptr) return;
  if (pending->handshake) std::exchange(pending->handshake, nullptr)(error);
  if (pending->read) EndRead(error, 0);
  if (pending->writable) std::exchange(pending->writable, nullptr)(error);
}

void Stream::EndRead(const ErrorCode& error, size_t bytes) {
  const std::shared_ptr<Pending> pending = pending_.lock();
  if (pending != nullptr && pending->read) std::exchange(pending->read, nullptr)(error, bytes);
}

void Stream::WaitReadable(Transport::Waited done) {
  if (ahead_.empty() && !HasDecrypted()) return inner_->AsyncWaitReadable(std::move(done));
  Post([done = std::make_shared<Transport::Waited>(std::move(done))] { (*done)({}); });
}

bool Stream::HasUnread() const { return !ahead_.empty() || HasDecrypted() || inner_->HasUnread(); }

// ---- writing

size_t Stream::Write(std::span<const std::span<const std::byte>> pieces, ErrorCode& error) {
  error = {};
  // A client of TLS begins. One that waits for the server does not use it.
  if (mode_ == Mode::kUnknown) mode_ = Mode::kPlain;
  if (mode_ == Mode::kPlain) return inner_->TryWrite(pieces, error);
  if (!IsReady() || !Flush() || write_failed_) {
    error = write_failed_ ? write_failed_ : ErrorCode(asio::error::would_block);
    return 0;
  }
  // Small pieces share a record.
  std::array<std::byte, kTlsRecordBytes> record;
  size_t filled = 0, taken = 0;
  bool goes_on = true;
  for (size_t i = 0; i < pieces.size() && goes_on && taken + filled < kWriteBytesMax; ++i) {
    std::span<const std::byte> piece = pieces[i];
    while (!piece.empty() && goes_on && taken + filled < kWriteBytesMax) {
      if (filled == 0 && piece.size() >= kTlsRecordBytes) {
        size_t here = 0;
        const size_t most = std::min(piece.size(), kWriteBytesMax - taken);
        goes_on = Encrypt(piece.first(most), here);
        taken += here;
        piece = piece.subspan(here);
        continue;
      }
      const size_t part = std::min(piece.size(), kTlsRecordBytes - filled);
      std::memcpy(record.data() + filled, piece.data(), part);
      filled += part;
      piece = piece.subspan(part);
      if (filled == kTlsRecordBytes) {
        goes_on = Encrypt(record, taken);
        filled = 0;
      }
    }
  }
  if (goes_on && filled > 0) goes_on = Encrypt(std::span(record).first(filled), taken);
  Flush();
  if (!goes_on && taken == 0) error = ErrorOf(ssl_.get());
  return taken;
}

// Adds the bytes that were encrypted to `taken`. False if the session cannot go on.
bool Stream::Encrypt(std::span<const std::byte> bytes, size_t& taken) {
  ERR_clear_error();
  while (!bytes.empty()) {
    const int done = SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
    if (done <= 0) return false;
    taken += static_cast<size_t>(done);
    bytes = bytes.subspan(static_cast<size_t>(done));
  }
  return true;
}

// Sends what is encrypted. False if some of it has not left; then it follows by itself.
bool Stream::Flush() {
  BIO* const out = SSL_get_wbio(ssl_.get());
  if (const int pending = BytesIn(out); pending > 0) {
    const size_t before = unsent_.size();
    unsent_.resize(before + static_cast<size_t>(pending));
    BIO_read(out, unsent_.data() + before, pending);
  }
  while (unsent_at_ < unsent_.size()) {
    const std::span<const std::byte> rest = std::as_bytes(std::span(unsent_)).subspan(unsent_at_);
    ErrorCode error;
    const size_t sent = inner_->TryWrite({&rest, 1}, error);
    unsent_at_ += sent;
    if (error == asio::error::would_block || (!error && sent == 0)) break;
    if (error) {  // The next write reports it.
      write_failed_ = error;
      unsent_at_ = unsent_.size();
      break;
    }
  }
  if (unsent_at_ < unsent_.size()) {
    FlushLater();
    return false;
  }
  unsent_.clear();
  unsent_at_ = 0;
  if (std::exchange(shuts_down_, false)) inner_->ShutdownSend();
  return true;
}

void Stream::FlushLater() {
  if (std::exchange(is_flushing_, true)) return;
  inner_->AsyncWaitWritable(
      [self = shared_from_this(), pending = KeepPending()](const ErrorCode& error) {
        self->is_flushing_ = false;
        if (error == asio::error::operation_aborted && self->inner_->is_open()) {
          self->FlushLater();  // Another operation was cancelled.
          return;
        }
        const bool is_flushed = !error && self->Flush();
        if (self->is_closing_) {
          if (is_flushed || error) self->inner_->Close();
          return;
        }
        if ((is_flushed || error) && pending->writable) {
          std::exchange(pending->writable, nullptr)(error);
        }
      });
}

void Stream::WaitWritable(Transport::Waited done) {
  if (mode_ == Mode::kPlain) return inner_->AsyncWaitWritable(std::move(done));
  const bool waits = !IsReady() || !Flush();
  if (!waits) return inner_->AsyncWaitWritable(std::move(done));
  const std::shared_ptr<Pending> pending = KeepPending();
  pending->writable = std::move(done);
  if (!is_flushing_) ReadInner();  // The handshake goes on.
}

// ---- the end

void Stream::ShutdownSend() {
  if (mode_ != Mode::kTls) return inner_->ShutdownSend();
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
  shuts_down_ = true;
  Flush();
}

void Stream::Cancel() {
  inner_->Cancel();
  if (!is_reading_) AbortRead();
  AbortWaits();
}

void Stream::AbortRead() {
  const std::shared_ptr<Pending> pending = pending_.lock();
  if (pending == nullptr || !pending->read) return;
  Post([done = std::make_shared<Transport::Read>(std::exchange(pending->read, nullptr))] {
    (*done)(asio::error::operation_aborted, 0);
  });
}

void Stream::AbortWaits() {
  const std::shared_ptr<Pending> pending = pending_.lock();
  if (pending == nullptr) return;
  for (Transport::Waited* const waited : {&pending->handshake, &pending->writable}) {
    if (!*waited) continue;
    Post([done = std::make_shared<Transport::Waited>(std::exchange(*waited, nullptr))] {
      (*done)(asio::error::operation_aborted);
    });
  }
}

void Stream::Close() {
  if (std::exchange(is_closing_, true)) return;
  const std::shared_ptr<Stream> self = shared_from_this();
  if (mode_ == Mode::kTls && inner_->is_open()) {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
    if (!Flush()) {
      // Only the flush goes on.
      inner_->Cancel();
      linger_.Once(kLingerMax, [weak = weak_from_this()] {
        if (const std::shared_ptr<Stream> late = weak.lock()) late->inner_->Close();
      });
    }
  }
  if (!is_flushing_) inner_->Close();
  AbortWaits();
  if (!is_reading_) AbortRead();
}

// ---- as a transport

class TlsTransport final : public Transport {
 public:
  explicit TlsTransport(std::shared_ptr<Stream> stream) : stream_(std::move(stream)) {}
  ~TlsTransport() override {
    if (stream_ != nullptr) stream_->Close();
  }

  void AsyncRead(std::span<std::byte> into, Read done) override {
    stream_->Read(into, std::move(done));
  }
  size_t TryWrite(std::span<const std::span<const std::byte>> pieces, ErrorCode& error) override {
    return stream_->Write(pieces, error);
  }
  void AsyncWaitWritable(Waited done) override { stream_->WaitWritable(std::move(done)); }
  void AsyncWaitReadable(Waited done) override { stream_->WaitReadable(std::move(done)); }
  void Cancel() override { stream_->Cancel(); }
  bool HasUnread() const override { return stream_->HasUnread(); }
  bool PeerHasClosed() const override { return stream_->inner().PeerHasClosed(); }
  void SetUnacknowledgedMax(std::chrono::milliseconds at_most) override {
    stream_->inner().SetUnacknowledgedMax(at_most);
  }
  void ShutdownSend() override { stream_->ShutdownSend(); }
  void Close() override { stream_->Close(); }
  bool LacksRequiredTls() const override { return stream_->LacksRequiredTls(); }
  bool is_open() const override { return stream_ != nullptr && stream_->inner().is_open(); }
  PeerName peer() const override { return stream_->inner().peer(); }
  EventLoop& loop() override { return stream_->inner().loop(); }
  std::unique_ptr<DetachedTransport> Detach() override;

 private:
  std::shared_ptr<Stream> stream_;
};

class DetachedTls final : public DetachedTransport {
 public:
  explicit DetachedTls(Stream& stream)
      : ssl_(std::move(stream.ssl_)),
        mode_(stream.mode_),
        use_(stream.use_),
        ahead_(std::move(stream.ahead_)),
        unsent_(stream.unsent_.substr(stream.unsent_at_)),
        inner_(stream.inner_->Detach()) {}

  bool is_valid() const { return inner_ != nullptr; }

  std::unique_ptr<Transport> Attach(EventLoop& loop) override {
    std::unique_ptr<Transport> inner = inner_->Attach(loop);
    if (inner == nullptr) return nullptr;
    // The session keeps its buffers.
    auto stream = std::make_shared<Stream>(std::move(inner), std::move(ssl_), mode_, use_);
    stream->ahead_ = std::move(ahead_);
    stream->unsent_ = std::move(unsent_);
    stream->Flush();
    return std::make_unique<TlsTransport>(std::move(stream));
  }

 private:
  SslSession ssl_;
  const Stream::Mode mode_;
  const TlsUse use_;
  std::string ahead_, unsent_;
  std::unique_ptr<DetachedTransport> inner_;
};

std::unique_ptr<DetachedTransport> TlsTransport::Detach() {
  if (!is_open()) return nullptr;
  auto detached = std::make_unique<DetachedTls>(*stream_);
  stream_ = nullptr;
  if (!detached->is_valid()) return nullptr;
  return detached;
}

// ---- listening and connecting

class TlsListener final : public Listener {
 public:
  TlsListener(std::unique_ptr<Listener> inner, std::shared_ptr<TlsServerContext> context,
              TlsUse use)
      : inner_(std::move(inner)), context_(std::move(context)), use_(use) {}

  void AsyncAccept(Accepted done) override {
    inner_->AsyncAccept([context = context_, use = use_, done = std::move(done)](
                            const ErrorCode& error, std::unique_ptr<Transport> transport) mutable {
      if (error) return done(error, nullptr);
      SslSession session = context->NewSession();
      if (session == nullptr) return done(asio::error::no_memory, nullptr);
      auto stream = std::make_shared<Stream>(std::move(transport), WithBuffers(std::move(session)),
                                             Stream::Mode::kUnknown, use);
      stream->Begin();
      done(error, std::make_unique<TlsTransport>(std::move(stream)));
    });
  }
  uint16_t port() const override { return inner_->port(); }
  std::unique_ptr<DetachedListener> Detach() override { return inner_->Detach(); }

 private:
  const std::unique_ptr<Listener> inner_;
  const std::shared_ptr<TlsServerContext> context_;
  const TlsUse use_;
};

}  // namespace

std::unique_ptr<Listener> MakeTlsListener(std::unique_ptr<Listener> inner,
                                          std::shared_ptr<TlsServerContext> context, TlsUse use) {
  return std::make_unique<TlsListener>(std::move(inner), std::move(context), use);
}

absl::StatusOr<std::unique_ptr<Transport>> ConnectTls(Network& network, EventLoop& loop,
                                                      const Address& address,
                                                      Transport::Waited done) {
  TS_ASSIGN_OR_RETURN(SslSession session, NewTlsClientSession(address.host));
  return ConnectTls(network, loop, address, std::move(session), std::move(done));
}

absl::StatusOr<std::unique_ptr<Transport>> ConnectTls(Network& network, EventLoop& loop,
                                                      const Address& address, SslSession session,
                                                      Transport::Waited done) {
  // The stream exists once the inner transport does, which calls back later.
  const auto later = std::make_shared<std::weak_ptr<Stream>>();
  Address plain = address;
  plain.tls = false;
  TS_ASSIGN_OR_RETURN(
      std::unique_ptr<Transport> inner,
      network.Connect(loop, plain, [later, done = std::move(done)](const ErrorCode& error) mutable {
        const std::shared_ptr<Stream> stream = later->lock();
        if (error || stream == nullptr) {
          return done(error ? error : ErrorCode(asio::error::operation_aborted));
        }
        stream->Begin(std::move(done));
      }));
  auto stream = std::make_shared<Stream>(std::move(inner), WithBuffers(std::move(session)),
                                         Stream::Mode::kTls, TlsUse::kRequired);
  *later = stream;
  return std::make_unique<TlsTransport>(std::move(stream));
}

}  // namespace tickstack::wire
