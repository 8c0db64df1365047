#pragma once

// TLS between a connection and its socket: a Transport over another Transport.
//
//   Connection, Server, HttpStream
//   ------------------------------ Transport: plain bytes
//   TlsTransport                   OpenSSL, over two buffers in memory
//   ------------------------------ Transport: encrypted bytes
//   SocketTransport
//
// A listener decides by the first byte whether a client uses TLS: a TLS session begins with 0x16,
// and neither a kdb+ login nor an HTTP request does. So one port serves both, as kdb+'s does.
//
// A connection keeps the encrypted bytes that the socket does not accept at once, about 0.5 MiB at
// most. TryWrite accepts no bytes until they are sent.
//
// Threads: the loop's.

#include <memory>

#include "absl/status/statusor.h"
#include "wire/tls_context.h"
#include "wire/transport.h"

namespace tickstack::wire {

enum class TlsUse : uint8_t {
  kOff,
  kOptional,  // Clients choose.
  kRequired,  // Transport::LacksRequiredTls of other clients is true; the server refuses them.
};

// Returns a listener whose clients may or must use TLS. `use` must not be kOff. Its Detach returns
// the inner listener without TLS, so the process that receives it must add TLS again.
std::unique_ptr<Listener> MakeTlsListener(std::unique_ptr<Listener> inner,
                                          std::shared_ptr<TlsServerContext> context, TlsUse use);

// Connects to an address through `network`, and begins a TLS session as a client. Calls `done` when
// the server's certificate has been verified, or with an error that says what failed.
absl::StatusOr<std::unique_ptr<Transport>> ConnectTls(Network& network, EventLoop& loop,
                                                      const Address& address,
                                                      Transport::Waited done);
// The same with a session that the caller made.
absl::StatusOr<std::unique_ptr<Transport>> ConnectTls(Network& network, EventLoop& loop,
                                                      const Address& address, SslSession session,
                                                      Transport::Waited done);

}  // namespace tickstack::wire
