// [gateway] and `tickstack gateway`.

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/status.h"
#include "cli/process_table.h"
#include "cli/shared_options.h"
#include "gateway/gateway_metrics.h"

namespace tickstack::cli {
namespace {

using gateway::GatewayMainOptions;

// By default it asks the rdbs and the hdb of the same file.
absl::Status ReadGateway(const ConfigTable& /*root*/, const ConfigTable& table, StackConfig& config,
                         GatewayMainOptions& options) {
  TS_RETURN_IF_ERROR(table.Read("urgent_rdbs", &options.urgent_rdbs));
  TS_RETURN_IF_ERROR(table.Read("urgent_users", &options.urgent_users));
  for (const rdb::RdbMainOptions& each : config.rdbs) {
    const auto& urgent = options.urgent_rdbs;
    if (std::ranges::find(urgent, each.name) == urgent.end()) options.rdbs.push_back(each.name);
  }
  if (config.hdb) options.hdbs.push_back(config.hdb->name);
  TS_RETURN_IF_ERROR(table.Read("rdbs", &options.rdbs));
  TS_RETURN_IF_ERROR(table.Read("hdbs", &options.hdbs));
  TS_RETURN_IF_ERROR(table.Read("hedge_ms", &options.hedge_ms));
  return ReadQuerySettings(table, options);
}

std::function<void()> AddGatewayFlags(CLI::App& command, StackConfig& /*config*/,
                                      GatewayMainOptions& options) {
  command.add_option("--rdbs", options.rdbs, "Addresses of rdbs with the same tables")
      ->delimiter(',');
  command.add_option("--urgent-rdbs", options.urgent_rdbs, "Addresses of rdbs for urgent users")
      ->delimiter(',');
  command
      .add_option("--urgent-users", options.urgent_users,
                  "Users whose questions go to the urgent rdbs; the others go to the rest")
      ->delimiter(',');
  command.add_option("--hdbs", options.hdbs, "Addresses of hdbs with the same database")
      ->delimiter(',');
  command
      .add_option("--hedge-ms", options.hedge_ms,
                  "Time without an answer after which a second process is asked, too, if the first "
                  "one hangs; 0: never")
      ->capture_default_str();
  AddQueryFlags(command, options);
  return nullptr;
}

void Resolve(const AddressOf& address_of, GatewayMainOptions& options) {
  for (std::string& address : options.rdbs) address = address_of(address);
  for (std::string& address : options.urgent_rdbs) address = address_of(address);
  for (std::string& address : options.hdbs) address = address_of(address);
}

void AddChildFlags(const StackConfig& /*config*/, const GatewayMainOptions& options, Flags& flags) {
  const auto add = [&flags](const char* flag, const std::vector<std::string>& addresses) {
    if (addresses.empty()) return;
    std::string text;
    for (const std::string& address : addresses) text += (text.empty() ? "" : ",") + address;
    flags.insert(flags.end(), {flag, text});
  };
  add("--rdbs", options.rdbs);
  add("--urgent-rdbs", options.urgent_rdbs);
  add("--urgent-users", options.urgent_users);
  add("--hdbs", options.hdbs);
}

}  // namespace

const ProcessHooks<GatewayMainOptions> kGatewayHooks = {
    .read = ReadGateway,
    .add_flags = AddGatewayFlags,
    .run = [](const StackConfig&,
              GatewayMainOptions& options) { return gateway::RunGateway(options); },
    .resolve = Resolve,
    .child_flags = AddChildFlags,
    .metrics = gateway::Metrics,
};

}  // namespace tickstack::cli
