#pragma once

// The interface between connections and the streams that carry their bytes. A Transport is a
// connected byte stream; a Network connects and accepts them. Everything above this header, from
// Connection to the WebSocket sessions, sees no descriptor and makes no socket call.
//
//   Connection, Client, Server, HttpStream
//   ------------------------------------------- Transport, Listener, Network
//   wire/socket_network: TCP and Unix sockets over Asio
//
// Costs a virtual call per read or write, never one per message or row.
//
// Threads: everything belongs to the thread of its loop, except DetachedTransport.

#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "wire/address.h"

namespace tickstack::wire {

class EventLoop;
class Transport;

struct PeerName {
  std::string text;    // For logs: `127.0.0.1:50123` or `unix`.
  bool local = false;  // True if the peer is on this machine.
  bool by_http = false;
};

// A connected stream that belongs to no loop, for example on its way from one thread to another.
// Destroying it closes the stream.
class DetachedTransport {
 public:
  virtual ~DetachedTransport() = default;
  // Called once, on the loop's thread. nullptr if the loop cannot take one more stream.
  virtual std::unique_ptr<Transport> Attach(EventLoop& loop) = 0;
};

// Callbacks are called from the loop, never from inside of the call that starts an operation. When
// a transport is closed or destroyed, pending operations end with asio::error::operation_aborted.
class Transport {
 public:
  using ErrorCode = boost::system::error_code;
  using Waited = absl::AnyInvocable<void(const ErrorCode&)>;
  using Read = absl::AnyInvocable<void(const ErrorCode&, size_t bytes)>;

  // Closes the stream. Bytes that TryWrite took are still delivered.
  virtual ~Transport() = default;

  // Reads at least one byte; asio::error::eof when the peer has closed its side and all of its
  // bytes were read. One read at a time; `into` must live until the callback.
  virtual void AsyncRead(std::span<std::byte> into, Read done) = 0;
  // Writes as many bytes of `pieces`, in order, as the stream takes without blocking, and returns
  // their number. 0 with asio::error::would_block: wait until it is writable.
  virtual size_t TryWrite(std::span<const std::span<const std::byte>> pieces, ErrorCode& error) = 0;
  virtual void AsyncWaitWritable(Waited done) = 0;
  // Waits until a read would not block: bytes have arrived or the peer has closed its side.
  virtual void AsyncWaitReadable(Waited done) = 0;
  // Ends all pending operations with asio::error::operation_aborted; the stream stays open.
  virtual void Cancel() = 0;

  // True if bytes have arrived that were not read. Cost: one system call.
  virtual bool HasUnread() const = 0;
  // True if the peer has closed its side, even if some of its bytes were not read. Cost: one system
  // call.
  virtual bool PeerHasClosed() const = 0;
  // See Connection::SetUnacknowledgedMax.
  virtual void SetUnacknowledgedMax(std::chrono::milliseconds at_most) = 0;

  virtual void ShutdownSend() = 0;  // Tells the peer that no more bytes follow.
  virtual void Close() = 0;
  // True if the listener requires TLS and the peer does not use it. The peer must not be served.
  virtual bool LacksRequiredTls() const { return false; }
  virtual bool is_open() const = 0;
  virtual PeerName peer() const = 0;
  virtual EventLoop& loop() = 0;

  // Takes the stream from its loop; no operation may be pending. The transport is closed
  // afterwards. nullptr if it was closed already.
  virtual std::unique_ptr<DetachedTransport> Detach() = 0;
};

// A listener that belongs to no loop, for example on its way to another process. Clients that
// connect wait in its queue. Destroying it stops listening, unless another process has it too.
class DetachedListener {
 public:
  virtual ~DetachedListener() = default;
};

class Listener {
 public:
  using Accepted =
      absl::AnyInvocable<void(const Transport::ErrorCode&, std::unique_ptr<Transport>)>;

  // Stops listening and removes the file of a Unix socket.
  virtual ~Listener() = default;
  // Accepts one client. One call at a time. A pending one ends with
  // asio::error::operation_aborted when the listener is destroyed.
  virtual void AsyncAccept(Accepted done) = 0;
  virtual uint16_t port() const = 0;  // 0 if it has none.
  // Takes the listener from its loop; a pending AsyncAccept ends with
  // asio::error::operation_aborted. Only destroying it is allowed afterwards. nullptr if it cannot
  // be detached.
  virtual std::unique_ptr<DetachedListener> Detach() { return nullptr; }
};

class Network {
 public:
  virtual ~Network() = default;
  // kUnavailable, with the address, if it cannot be bound; kNotFound if there is no such host.
  virtual absl::StatusOr<std::unique_ptr<Listener>> Listen(EventLoop& loop,
                                                           const Address& address) = 0;
  // Starts connecting. The transport may be used once `done` was called with success; closing or
  // destroying it before that ends the attempt. kNotFound if there is no such host.
  virtual absl::StatusOr<std::unique_ptr<Transport>> Connect(EventLoop& loop,
                                                             const Address& address,
                                                             Transport::Waited done) = 0;
};

}  // namespace tickstack::wire
