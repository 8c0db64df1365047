// [gateway] and `tickstack gateway`.

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "cli/process_table.h"
#include "cli/shared_options.h"
#include "gateway/gateway_metrics.h"

namespace tickstack::cli {
namespace {

using gateway::GatewayMainOptions;

// Reads [[gateway.shard]].
absl::Status ReadShards(const ConfigTable& table, GatewayMainOptions& options) {
  TS_ASSIGN_OR_RETURN(const std::vector<ConfigTable> shards, table.Tables("shard"));
  NameMap<std::string> shard_of;  // By address.
  for (const ConfigTable& each : shards) {
    gateway::Shard shard;
    TS_RETURN_IF_ERROR(ReadName(each, &shard.name));
    if (std::ranges::find(options.shards, shard.name, &gateway::Shard::name) !=
        options.shards.end()) {
      return each.ErrorAt("name", fmt::format("{} is the name of another shard, too", shard.name));
    }
    const std::pair<const char*, std::vector<std::string>*> addresses[] = {
        {"rdbs", &shard.rdbs}, {"urgent_rdbs", &shard.urgent_rdbs}, {"hdbs", &shard.hdbs}};
    for (const auto& [key, texts] : addresses) {
      TS_RETURN_IF_ERROR(each.Read(key, texts));
      for (const std::string& text : *texts) {
        const auto [found, is_new] = shard_of.emplace(text, shard.name);
        if (is_new || found->second == shard.name) continue;
        return each.ErrorAt(key, fmt::format("{} is a process of shard {}, too: its rows would "
                                             "count twice",
                                             text, found->second));
      }
    }
    options.shards.push_back(shard);
    std::vector<std::string> symbols;
    TS_RETURN_IF_ERROR(each.Read("symbols", &symbols));
    for (const std::string& symbol : symbols) {
      const auto [found, is_new] = options.shard_symbols.emplace(symbol, shard.name);
      if (is_new) continue;
      return each.ErrorAt("symbols",
                          fmt::format("{} is a symbol of shard {}, too", symbol, found->second));
    }
  }
  return absl::OkStatus();
}

// By default it asks the rdbs and the hdb of the same file.
absl::Status ReadGateway(const ConfigTable& /*root*/, const ConfigTable& table, StackConfig& config,
                         GatewayMainOptions& options) {
  TS_RETURN_IF_ERROR(table.Read("urgent_rdbs", &options.urgent_rdbs));
  TS_RETURN_IF_ERROR(table.Read("urgent_users", &options.urgent_users));
  TS_RETURN_IF_ERROR(ReadShards(table, options));
  const bool by_default = options.shards.empty();
  for (const rdb::RdbMainOptions& each : config.rdbs) {
    const auto& urgent = options.urgent_rdbs;
    const bool is_urgent = std::ranges::find(urgent, each.name) != urgent.end();
    if (by_default && !is_urgent) options.rdbs.push_back(each.name);
  }
  if (by_default && config.hdb) options.hdbs.push_back(config.hdb->name);
  TS_RETURN_IF_ERROR(table.Read("rdbs", &options.rdbs));
  TS_RETURN_IF_ERROR(table.Read("hdbs", &options.hdbs));
  const bool both = !by_default && (!options.rdbs.empty() || !options.urgent_rdbs.empty() ||
                                    !options.hdbs.empty());
  if (both) return table.ErrorAt("shard", "leave rdbs, urgent_rdbs and hdbs to each shard");
  TS_RETURN_IF_ERROR(table.Read("hedge_ms", &options.hedge_ms));
  return ReadQuerySettings(table, options);
}

// Replaces addresses of a shard. `texts` are of the form NAME=ADDRESS,ADDRESS.
void SetShards(const char* flag, std::vector<std::string> gateway::Shard::* addresses,
               const std::vector<std::string>& texts, GatewayMainOptions& options) {
  for (const std::string& text : texts) {
    const size_t equals = std::min(text.find('='), text.size());
    const auto shard =
        std::ranges::find(options.shards, text.substr(0, equals), &gateway::Shard::name);
    if (shard == options.shards.end() || equals == text.size()) {
      throw CLI::ValidationError(
          flag,
          "expected NAME=HOST:PORT,... of a shard of the configuration, found \"" + text + "\"");
    }
    (*shard).*addresses = CLI::detail::split(text.substr(equals + 1), ',');
  }
}

constexpr std::array kShardFlags = {
    std::pair{"--shard-rdbs", &gateway::Shard::rdbs},
    std::pair{"--shard-urgent-rdbs", &gateway::Shard::urgent_rdbs},
    std::pair{"--shard-hdbs", &gateway::Shard::hdbs},
};

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
  for (const auto& flag : kShardFlags) {
    command
        .add_option_function<std::vector<std::string>>(
            flag.first,
            [&flag, &options](const std::vector<std::string>& texts) {
              SetShards(flag.first, flag.second, texts, options);
            },
            "Addresses of a shard's processes as NAME=HOST:PORT,...; may be repeated")
        ->allow_extra_args(false);
  }
  AddQueryFlags(command, options);
  return nullptr;
}

void Resolve(const AddressOf& address_of, GatewayMainOptions& options) {
  for (std::string& address : options.rdbs) address = address_of(address);
  for (std::string& address : options.urgent_rdbs) address = address_of(address);
  for (std::string& address : options.hdbs) address = address_of(address);
  for (gateway::Shard& shard : options.shards) {
    for (std::string& address : shard.rdbs) address = address_of(address);
    for (std::string& address : shard.urgent_rdbs) address = address_of(address);
    for (std::string& address : shard.hdbs) address = address_of(address);
  }
}

void AddChildFlags(const StackConfig& /*config*/, const GatewayMainOptions& options, Flags& flags) {
  const auto add = [&flags](const char* flag, const std::vector<std::string>& addresses) {
    if (!addresses.empty()) {
      flags.insert(flags.end(), {flag, fmt::format("{}", fmt::join(addresses, ","))});
    }
  };
  add("--rdbs", options.rdbs);
  add("--urgent-rdbs", options.urgent_rdbs);
  add("--urgent-users", options.urgent_users);
  add("--hdbs", options.hdbs);
  for (const gateway::Shard& shard : options.shards) {
    for (const auto& [flag, addresses] : kShardFlags) {
      if ((shard.*addresses).empty()) continue;
      flags.insert(flags.end(),
                   {flag, fmt::format("{}={}", shard.name, fmt::join(shard.*addresses, ","))});
    }
  }
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
