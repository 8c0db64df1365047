#include "wire/tls_session.h"

#include <openssl/bio.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>

namespace tickstack::wire {

// OpenSSL's side of the buffers.
struct TlsSessionBio {
  static TlsSession& SessionOf(BIO* bio) { return *static_cast<TlsSession*>(BIO_get_data(bio)); }

  static int Read(BIO* bio, char* into, int room) {
    TlsSession& session = SessionOf(bio);
    BIO_clear_retry_flags(bio);
    const std::span<const std::byte> received = session.received();
    if (room <= 0) return 0;
    if (received.empty()) {
      BIO_set_retry_read(bio);
      return -1;
    }
    const size_t bytes = std::min(received.size(), static_cast<size_t>(room));
    std::memcpy(into, received.data(), bytes);
    session.received_at_ += bytes;
    return static_cast<int>(bytes);
  }

  static int Write(BIO* bio, const char* from, int bytes) {
    BIO_clear_retry_flags(bio);
    if (bytes <= 0) return 0;
    SessionOf(bio).unsent_.Append(std::as_bytes(std::span(from, static_cast<size_t>(bytes))));
    return bytes;
  }

  static long Control(BIO* bio, int command, long /*number*/, void* /*pointer*/) {
    switch (command) {
      case BIO_CTRL_FLUSH:
        return 1;
      case BIO_CTRL_PENDING:
        return static_cast<long>(std::min<size_t>(SessionOf(bio).received().size(), INT_MAX));
      case BIO_CTRL_WPENDING:
        return static_cast<long>(std::min<size_t>(SessionOf(bio).unsent().size(), INT_MAX));
      default:
        return 0;
    }
  }

  static const BIO_METHOD* Method() {
    static const std::unique_ptr<BIO_METHOD, decltype(&BIO_meth_free)> method = [] {
      std::unique_ptr<BIO_METHOD, decltype(&BIO_meth_free)> made(
          BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "tickstack buffers"),
          BIO_meth_free);
      BIO_meth_set_read(made.get(), &Read);
      BIO_meth_set_write(made.get(), &Write);
      BIO_meth_set_ctrl(made.get(), &Control);
      return made;
    }();
    return method.get();
  }
};

TlsSession::TlsSession(SslSession ssl) : ssl_(std::move(ssl)) {
  BIO* const bio = BIO_new(TlsSessionBio::Method());
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);  // Takes the one reference for both directions.
}

std::span<std::byte> TlsSession::ReceiveRoom() {
  const bool was_filled = room_bytes_ > 0 && received_end_ == received_.size();
  room_bytes_ = was_filled ? std::min(2 * room_bytes_, kReceiveBytesMax)
                           : std::max(room_bytes_, kReceiveBytesMin);
  const size_t unread = received_end_ - received_at_;
  if (unread > 0 && received_at_ > 0) {
    std::memmove(received_.data(), received_.data() + received_at_, unread);
  }
  received_at_ = 0;
  received_end_ = unread;
  received_.resize(unread + room_bytes_);
  return received_.span().subspan(unread);
}

void TlsSession::DropReceived() {
  received_ = ByteBuffer();
  received_at_ = received_end_ = room_bytes_ = 0;
}

void TlsSession::OnSent(size_t bytes) {
  unsent_at_ += bytes;
  if (unsent_at_ < unsent_.size()) return;
  unsent_.clear();
  unsent_at_ = 0;
}

}  // namespace tickstack::wire
