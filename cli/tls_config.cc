#include "cli/tls_config.h"

#include <array>
#include <string>

#include "base/status.h"
#include "cli/read_word.h"
#include "wire/tls_transport.h"

namespace tickstack::cli {
namespace {

constexpr std::array kUses = {
    std::pair<std::string_view, wire::TlsUse>{"off", wire::TlsUse::kOff},
    std::pair<std::string_view, wire::TlsUse>{"optional", wire::TlsUse::kOptional},
    std::pair<std::string_view, wire::TlsUse>{"required", wire::TlsUse::kRequired},
};

}  // namespace

absl::Status ReadTls(const ConfigTable& root, StackConfig& config) {
  TS_ASSIGN_OR_RETURN(const ConfigTable table, root.Table("tls"));
  wire::TlsUse use = wire::TlsUse::kOff;
  wire::TlsServerOptions files;
  wire::TlsClientOptions& client = config.tls_client;
  TS_RETURN_IF_ERROR(ReadWord(table, "listen", kUses, &use));
  TS_RETURN_IF_ERROR(table.Read("certificate", &files.certificate));
  TS_RETURN_IF_ERROR(table.Read("key", &files.key));
  TS_RETURN_IF_ERROR(table.Read("client_ca", &files.client_ca));
  TS_RETURN_IF_ERROR(table.Read("ca", &client.ca));
  TS_RETURN_IF_ERROR(table.Read("server_name", &client.server_name));
  if (files.certificate.empty() != files.key.empty()) {
    return table.ErrorAt(files.key.empty() ? "certificate" : "key",
                         "expected certificate and key together, found one of them");
  }
  if (use != wire::TlsUse::kOff && files.certificate.empty()) {
    return table.ErrorAt("listen", "needs a certificate and its key, found none");
  }
  if (use == wire::TlsUse::kOff && !files.client_ca.empty()) {
    return table.ErrorAt("client_ca", "needs listen = \"optional\" or \"required\"");
  }
  // Processes show their own certificate to those that ask for one.
  client.certificate = files.certificate;
  client.key = files.key;
  if (use == wire::TlsUse::kOff) return absl::OkStatus();
  for (const ListedProcess& listed : ProcessesOf(config)) {
    wire::ListenerOptions& listener = listed.process->listener();
    listener.tls = use;
    listener.tls_files = files;
  }
  return absl::OkStatus();
}

absl::Status UseTls(const StackConfig& config) {
  if (!config.tls_client.is_set()) return absl::OkStatus();
  return wire::SetTlsClientOptions(config.tls_client);
}

}  // namespace tickstack::cli
