#include "wire/listener_options.h"

#include <utility>

#include "base/status.h"
#include "wire/socket_address.h"
#include "wire/socket_network.h"

namespace tickstack::wire {

// `127.` alone would also be the beginning of a name such as 127.evil.example, whose address may be
// any.
bool IsLoopback(std::string_view host) {
  if (host == "localhost" || host == "::1") return true;
  return host.starts_with("127.") &&
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

namespace {

absl::StatusOr<std::unique_ptr<Listener>> Open(EventLoop& loop, const ListenerOptions& listener) {
  if (listener.listen_fd >= 0) return AdoptListener(loop, listener.listen_fd);
  if (listener.port < 0 || listener.port > 65535) {
    return InvalidArgument("port {}: expected 0 to 65535", listener.port);
  }
  return loop.network().Listen(loop, {listener.host, static_cast<uint16_t>(listener.port), ""});
}

}  // namespace

// An inherited socket replaces the host.
absl::Status CheckReach(const ListenerOptions& listener) {
  if (listener.authenticator != nullptr || listener.insecure) return absl::OkStatus();
  const bool loopback =
      listener.listen_fd >= 0 ? IsOnLoopback(listener.listen_fd) : IsLoopback(listener.host);
  const bool knows_clients =
      listener.tls == TlsUse::kRequired && !listener.tls_files.client_ca.empty();
  if (loopback || knows_clients) return absl::OkStatus();
  return FailedPrecondition(
      "{}: other machines could connect, and everyone may log in: set users in [security] or "
      "client_ca in [tls], listen on 127.0.0.1, or set insecure = true in [security]",
      listener.listen_fd >= 0 ? "the inherited socket" : listener.host);
}

bool AnswersHttp(const ListenerOptions& listener) {
  return listener.http.value_or(IsLoopback(listener.host));
}

Address AddressOf(const ListenerOptions& listener) {
  // Connecting to "all addresses" reaches this machine, but no certificate has that name.
  const std::string host = listener.host == "0.0.0.0"                         ? "127.0.0.1"
                           : listener.host == "::" || listener.host == "[::]" ? "::1"
                                                                              : listener.host;
  return {host, static_cast<uint16_t>(listener.port), "", listener.tls == TlsUse::kRequired};
}

absl::StatusOr<std::unique_ptr<Server>> Listen(EventLoop& loop, const ListenerOptions& listener,
                                               const ServerOptions& server_options,
                                               ServerHandler* handler) {
  TS_RETURN_IF_ERROR(CheckReach(listener));
  ServerOptions options = server_options;
  options.authenticator = listener.authenticator;
  options.max_connections = listener.max_connections;
  options.http = options.http && AnswersHttp(listener);
  options.http_options.web_socket_origins = listener.http_origins;
  options.http_options.status_loop = &loop;
  TS_ASSIGN_OR_RETURN(std::unique_ptr<Listener> open, Open(loop, listener));
  if (listener.tls != TlsUse::kOff) {
    TS_ASSIGN_OR_RETURN(std::shared_ptr<TlsServerContext> context,
                        TlsServerContext::Load(listener.tls_files));
    open = MakeTlsListener(std::move(open), std::move(context), listener.tls);
  }
  std::unique_ptr<Server> server = Server::Adopt(loop, std::move(open), options, handler);
  if (listener.unix_listen_fd >= 0) {
    TS_ASSIGN_OR_RETURN(std::unique_ptr<Listener> inherited,
                        AdoptListener(loop, listener.unix_listen_fd));
    server->AlsoAdopt(std::move(inherited));
  } else if (listener.unix_socket && server->port() != 0) {
    TS_RETURN_IF_ERROR(server->AlsoListen({"", 0, fmt::format("@/tmp/kx.{}", server->port())}));
  }
  return server;
}

}  // namespace tickstack::wire
