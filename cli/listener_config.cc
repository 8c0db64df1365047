#include "cli/listener_config.h"

#include <CLI/CLI.hpp>
#include <string>

#include "base/status.h"
#include "wire/http_question.h"

namespace tickstack::cli {
namespace {

constexpr size_t kConnectionsMax = 1'000'000;

absl::Status ReadOrigins(const ConfigTable& section, wire::ListenerOptions& listener) {
  TS_RETURN_IF_ERROR(section.Read("http_origins", &listener.http_origins));
  for (const std::string& origin : listener.http_origins) {
    const absl::Status valid = wire::CheckOrigin(origin);
    if (!valid.ok()) return section.ErrorAt("http_origins", Message(valid));
  }
  if (listener.http_origins.empty() || wire::AnswersHttp(listener)) return absl::OkStatus();
  return section.ErrorAt("http_origins",
                         "needs http = true, which is not the default beyond loopback");
}

}  // namespace

absl::Status ReadListener(const ConfigTable& section, wire::ListenerOptions& listener) {
  TS_RETURN_IF_ERROR(section.Read("host", &listener.host));
  TS_RETURN_IF_ERROR(section.Read("port", &listener.port, 0, 65535));
  if (section.Has("http")) TS_RETURN_IF_ERROR(section.Read("http", &listener.http.emplace()));
  TS_RETURN_IF_ERROR(ReadOrigins(section, listener));
  TS_RETURN_IF_ERROR(
      section.Read("max_connections", &listener.max_connections, size_t{1}, kConnectionsMax));
  return section.Read("unix_socket", &listener.unix_socket);
}

void AddListenerFlags(CLI::App& command, wire::ListenerOptions& listener) {
  command.add_option("--host", listener.host, "Address to listen on")->capture_default_str();
  command.add_option("--port", listener.port, "TCP port to listen on; 0 lets the kernel choose")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command
      .add_option("--max-connections", listener.max_connections,
                  "Connections of all clients; more places are kept for administrators and the "
                  "stack's own processes")
      ->check(CLI::Range(size_t{1}, kConnectionsMax))
      ->capture_default_str();
  command.add_flag("--unix-socket", listener.unix_socket,
                   "Also listen on the abstract Unix socket @/tmp/kx.PORT");
  const std::string of_parent = "Passed by the parent process";
  command
      .add_option("--listen-fd", listener.listen_fd,
                  "Descriptor of an inherited listening socket, instead of --port")
      ->group(of_parent);
  command
      .add_option("--ready-fd", listener.ready_fd,
                  "Descriptor to write `ready` to once the process accepts connections")
      ->group(of_parent);
  command
      .add_option("--heartbeat-ms", listener.heartbeat_ms,
                  "Write `alive` to --ready-fd at this interval in ms; 0: never")
      ->check(CLI::Range(0, 3'600'000))
      ->group(of_parent);
}

std::function<void()> AddTakeOverFlag(CLI::App& command, const std::string& role,
                                      const wire::ListenerOptions& listener, bool& take_over) {
  command.add_flag("--take-over", take_over,
                   "Replace the running " + role +
                       " that listens on the port: prepare, receive its sockets, then let it exit");
  return [&listener, &take_over] {
    if (!take_over) return;
    if (listener.listen_fd >= 0) {
      throw CLI::ValidationError("--take-over", "cannot be combined with --listen-fd");
    }
    if (listener.port == 0) {
      throw CLI::ValidationError("--take-over", "needs the --port of the running process");
    }
  };
}

}  // namespace tickstack::cli
