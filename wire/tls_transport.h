#pragma once

// TLS between a connection and its stream: a Transport over another one.
//
//   Connection, Server, HttpStream
//   ------------------------------ Transport: plain bytes
//   TlsTransport                   OpenSSL, over two buffers in memory
//   ------------------------------ Transport: encrypted bytes
//   SocketTransport
//
// A listener knows by the first byte what a client speaks: a TLS session begins with 0x16, which no
// kdb+ login and no HTTP request begins with. So one port serves both, as kdb+'s does.
//
// Encrypted bytes that the socket does not take at once wait here, at most 1 MiB of them for a
// connection; until they have left, TryWrite takes nothing.
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
  kRequired,  // Clients that do not begin a TLS session are disconnected.
};

// Returns a listener whose clients may or must use TLS. `use` is not kOff. Detach returns the inner
// listener's, so a successor adds TLS again.
std::unique_ptr<Listener> MakeTlsListener(std::unique_ptr<Listener> inner,
                                          std::shared_ptr<TlsServerContext> context, TlsUse use);

// Connects by `network` to an address, and begins a session as its client. `done` is called when
// the server's certificate has been verified; its error says what is wrong with it.
absl::StatusOr<std::unique_ptr<Transport>> ConnectTls(Network& network, EventLoop& loop,
                                                      const Address& address,
                                                      Transport::Waited done);

}  // namespace tickstack::wire
