#include "wire/listener_options.h"

#include <utility>

#include "base/status.h"
#include "wire/socket_network.h"

namespace tickstack::wire {
namespace {

bool IsLoopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

absl::StatusOr<std::unique_ptr<Listener>> Open(EventLoop& loop, const ListenerOptions& listener) {
  if (listener.listen_fd >= 0) return AdoptListener(loop, listener.listen_fd);
  if (listener.port < 0 || listener.port > 65535) {
    return InvalidArgument("port {}: expected 0 to 65535", listener.port);
  }
  return loop.network().Listen(loop, {listener.host, static_cast<uint16_t>(listener.port), ""});
}

}  // namespace

bool AnswersHttp(const ListenerOptions& listener) {
  return listener.http.value_or(IsLoopback(listener.host));
}

Address AddressOf(const ListenerOptions& listener) {
  return {listener.host, static_cast<uint16_t>(listener.port), "",
          listener.tls == TlsUse::kRequired};
}

absl::StatusOr<std::unique_ptr<Server>> Listen(EventLoop& loop, const ListenerOptions& listener,
                                               const ServerOptions& server_options,
                                               ServerHandler* handler) {
  ServerOptions options = server_options;
  options.http = options.http && AnswersHttp(listener);
  options.http_options.web_socket_origins = listener.http_origins;
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
