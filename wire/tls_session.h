#pragma once

// A TLS session, and the encrypted bytes on their way between it and a socket.
//
//   socket --> received --> OpenSSL --> plain bytes
//   socket <--  unsent  <-- OpenSSL <-- plain bytes
//
// OpenSSL reads and writes both buffers directly, through a BIO of our own. OpenSSL's BIO in memory
// would clear and copy each byte once more in either direction.
//
// Threads: one owner.

#include <cstddef>
#include <memory>
#include <span>

#include "base/byte_buffer.h"
#include "wire/tls_context.h"

namespace tickstack::wire {

class TlsSession {
 public:
  static constexpr size_t kReceiveBytesMin = size_t{32} << 10;
  static constexpr size_t kReceiveBytesMax = size_t{256} << 10;

  // `ssl` must be new.
  explicit TlsSession(SslSession ssl);
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  ssl_st* ssl() const { return ssl_.get(); }

  // Returns where the socket's next bytes go. It has room for kReceiveBytesMin bytes at first, and
  // for twice as many each time that the last read filled it, up to kReceiveBytesMax. The span is
  // valid until the next call of this function or of DropReceived.
  std::span<std::byte> ReceiveRoom();
  // The socket has put `bytes` bytes there.
  void OnReceived(size_t bytes) { received_end_ += bytes; }
  // Returns the received bytes that OpenSSL has not read.
  std::span<const std::byte> received() const {
    return received_.span().subspan(received_at_, received_end_ - received_at_);
  }
  // Drops the received bytes and frees their memory, because the peer does not use TLS.
  void DropReceived();

  // Returns the bytes that OpenSSL has encrypted and the socket has not taken.
  std::span<const std::byte> unsent() const { return unsent_.span().subspan(unsent_at_); }
  // The socket has taken the first `bytes` of them.
  void OnSent(size_t bytes);

 private:
  friend struct TlsSessionBio;

  SslSession ssl_;
  ByteBuffer received_;      // All of it is room; [received_at_, received_end_) has bytes.
  size_t received_at_ = 0;   // Up to here OpenSSL has read.
  size_t received_end_ = 0;  // Up to here the socket has filled.
  size_t room_bytes_ = 0;    // Size of the last ReceiveRoom.
  ByteBuffer unsent_;
  size_t unsent_at_ = 0;
};

}  // namespace tickstack::wire
