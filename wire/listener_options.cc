#include "wire/listener_options.h"

#include <utility>

#include "base/status.h"
#include "wire/socket_network.h"

namespace tickstack::wire {
namespace {

bool IsLoopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace

bool AnswersHttp(const ListenerOptions& listener) {
  return listener.http.value_or(IsLoopback(listener.host));
}

absl::StatusOr<std::unique_ptr<Server>> Listen(EventLoop& loop, const ListenerOptions& listener,
                                               const ServerOptions& server_options,
                                               ServerHandler* handler) {
  ServerOptions options = server_options;
  options.http = options.http && AnswersHttp(listener);
  options.http_options.web_socket_origins = listener.http_origins;
  options.http_options.status_loop = &loop;
  std::unique_ptr<Server> server;
  if (listener.listen_fd >= 0) {
    TS_ASSIGN_OR_RETURN(std::unique_ptr<Listener> inherited,
                        AdoptListener(loop, listener.listen_fd));
    server = Server::Adopt(loop, std::move(inherited), options, handler);
  } else {
    if (listener.port < 0 || listener.port > 65535) {
      return InvalidArgument("port {}: expected 0 to 65535", listener.port);
    }
    const Address address{listener.host, static_cast<uint16_t>(listener.port), ""};
    TS_ASSIGN_OR_RETURN(server, Server::Listen(loop, address, options, handler));
  }
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
