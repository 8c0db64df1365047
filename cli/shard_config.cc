#include "cli/shard_config.h"

#include <algorithm>
#include <memory>
#include <sstream>
#include <utility>

#include "base/status.h"
#include "base/string_map.h"
#include "table/shard_id.h"

namespace tickstack::cli {
namespace {

constexpr int kPortStep = 100;

struct Shard {
  std::string name;
  int port_offset = 0;
  std::string host;  // Where its processes listen; empty: where their templates do.
};

// Turns the options of a template into those of one shard.
class Spreading {
 public:
  Spreading(StackConfig& config, std::vector<Shard> shards)
      : config_(config), shards_(std::move(shards)) {
    for (const ListedProcess& listed : ProcessesOf(config)) {
      if (listed.kind->per_shard) templates_.insert(listed.process->name());
    }
  }

  // True if it is the name of a template, so of several processes.
  bool IsTemplate(const std::string& name) const { return templates_.contains(name); }

  bool HasTemplate(const std::string& addresses) const {
    return Renamed(addresses, shards_.front()) != addresses;
  }

  // Replaces the names of templates in addresses.
  std::string Renamed(const std::string& addresses, const Shard& shard) const {
    std::string renamed;
    std::istringstream list(addresses);
    for (std::string address; std::getline(list, address, ',');) {
      renamed += (renamed.empty() ? "" : ",") + address;
      if (IsTemplate(address)) renamed += "-" + shard.name;
    }
    return renamed;
  }

  std::vector<std::string> Renamed(std::vector<std::string> addresses, const Shard& shard) const {
    for (std::string& address : addresses) address = Renamed(address, shard);
    return addresses;
  }

  // Replaces the options by copies for all shards, each changed by `change`. Options for which
  // `is_template` is false stay as they are.
  template <typename All, typename Change, typename Predicate>
  void Spread(All& all, const Change& change, const Predicate& is_template) {
    All spread;
    for (const auto& one : all) {
      if (!is_template(one)) spread.push_back(one);
    }
    for (const Shard& shard : shards_) {
      for (const auto& one : all) {
        if (!is_template(one)) continue;
        auto options = one;
        change(options, shard);
        options.name += "-" + shard.name;
        if (options.listener.port != 0) options.listener.port += shard.port_offset;
        if (!shard.host.empty()) options.listener.host = shard.host;
        config_.shard_of[options.name] = shard.name;
        spread.push_back(std::move(options));
      }
    }
    all = std::move(spread);
  }
  template <typename All, typename Change>
  void Spread(All& all, const Change& change) {
    Spread(all, change, [](const auto&) { return true; });
  }

  void Run();
  const std::vector<Shard>& shards() const { return shards_; }

 private:
  static void AddFolder(std::string& path, const Shard& shard) {
    if (!path.empty()) path += "/" + shard.name;
  }
  size_t IndexOf(const Shard& shard) const {
    return static_cast<size_t>(std::ranges::find(shards_, shard.name, &Shard::name) -
                               shards_.begin());
  }
  void SetShard(tickerplant::TickerplantMainOptions& options, const Shard& shard) const {
    options.shard = {config_.shard_map, IndexOf(shard), {}};
    options.replication.cluster += "-" + shard.name;
    std::string& topic = options.replication.kafka.topic;
    if (!topic.empty()) topic += "-" + shard.name;
    options.replication.first_leader = Renamed(options.replication.first_leader, shard);
  }

  StackConfig& config_;
  const std::vector<Shard> shards_;
  StringSet templates_;
};

void Spreading::Run() {
  const auto set_shard = [this](auto& options, const Shard& shard) { SetShard(options, shard); };
  Spread(config_.tickerplant.all, set_shard);
  Spread(config_.standbys, set_shard);
  Spread(config_.chained, [this](auto& options, const Shard& shard) {
    options.shard = {config_.shard_map, IndexOf(shard), {}};
    options.upstream = Renamed(options.upstream, shard);
  });
  Spread(config_.rdbs, [this](auto& options, const Shard& shard) {
    options.tickerplant = Renamed(options.tickerplant, shard);
    options.shard = IdOf(config_.shard_map.get(), IndexOf(shard));
    for (rdb::TierConfig& tier : options.tiers) AddFolder(tier.options.path, shard);
    if (!options.end_of_day) return;
    options.end_of_day->hdb = Renamed(options.end_of_day->hdb, shard);
    AddFolder(options.end_of_day->database, shard);
    AddFolder(options.end_of_day->log_folder, shard);
  });
  Spread(config_.hdb.all, [](auto& options, const Shard& shard) {
    AddFolder(options.database, shard);
    if (!options.archive.store.empty()) options.archive.prefix += shard.name + "/";
  });
  Spread(config_.aggengine.all, [this](auto& options, const Shard& shard) {
    options.tickerplant = Renamed(options.tickerplant, shard);
    options.shard = IdOf(config_.shard_map.get(), IndexOf(shard));
    AddFolder(options.state.path, shard);
  });
  // What another stack wrote to Kafka may be rows of all shards, so each shard takes its own.
  Spread(
      config_.bridges,
      [this](auto& options, const Shard& shard) {
        options.tickerplant = Renamed(options.tickerplant, shard);
        options.shard = {config_.shard_map, IndexOf(shard), config_.schemas};
      },
      [this](const bridge::BridgeOptions& options) {
        return options.direction == "from-kafka" && HasTemplate(options.tickerplant);
      });
}

absl::StatusOr<std::vector<Shard>> ReadSections(const std::vector<ConfigTable>& sections,
                                                StackConfig& config) {
  std::vector<Shard> shards;
  std::vector<std::string> names;
  NameMap<std::string> symbols;
  for (const ConfigTable& section : sections) {
    Shard shard{{}, kPortStep * static_cast<int>(shards.size()), {}};
    TS_RETURN_IF_ERROR(ReadName(section, &shard.name));
    if (std::ranges::find(names, shard.name) != names.end()) {
      return section.ErrorAt("name", fmt::format("shard {} is there twice", shard.name));
    }
    TS_RETURN_IF_ERROR(section.Read("port_offset", &shard.port_offset, 0, 65'535));
    TS_RETURN_IF_ERROR(section.Read("host", &shard.host));
    std::vector<std::string> here;
    TS_RETURN_IF_ERROR(section.Read("symbols", &here));
    for (const std::string& symbol : here) {
      const auto [found, is_new] = symbols.try_emplace(symbol, shard.name);
      if (is_new) continue;
      return section.ErrorAt("symbols", fmt::format("{} is in shard {} already: expected each "
                                                    "symbol once",
                                                    symbol, found->second));
    }
    names.push_back(shard.name);
    shards.push_back(std::move(shard));
  }
  TS_ASSIGN_OR_RETURN(ShardMap map, ShardMap::Create(names, symbols));
  config.shard_map = std::make_shared<const ShardMap>(std::move(map));
  return shards;
}

// Checks what would be the same in all shards, or in more than one.
class ShardChecks {
 public:
  ShardChecks(const ConfigTable& root, const StackConfig& config) : root_(root), config_(config) {
    names_.insert(config.tickerplant->name);
    for (const auto& standby : config.standbys) names_.insert(standby.name);
    for (const auto& chained : config.chained) names_.insert(chained.name);
  }

  absl::Status Check() const {
    TS_RETURN_IF_ERROR(CheckTables());
    TS_RETURN_IF_ERROR(CheckRdbs());
    TS_ASSIGN_OR_RETURN(const std::vector<ConfigTable> chained, root_.Tables("chained"));
    for (size_t i = 0; i < chained.size(); ++i) {
      TS_RETURN_IF_ERROR(CheckAddress(chained[i], "upstream", config_.chained[i].upstream));
    }
    if (config_.aggengine) {
      TS_ASSIGN_OR_RETURN(const ConfigTable section, root_.Table("aggengine"));
      TS_RETURN_IF_ERROR(CheckAddress(section, "tickerplant", config_.aggengine->tickerplant));
    }
    TS_RETURN_IF_ERROR(CheckBridges());
    return CheckFeeds();
  }

 private:
  absl::Status CheckAddress(const ConfigTable& section, std::string_view key,
                            const std::string& addresses) const {
    std::istringstream list(addresses);
    for (std::string address; std::getline(list, address, ',');) {
      if (names_.contains(address)) continue;
      return section.ErrorAt(
          key,
          fmt::format("found \"{}\", which the processes of all shards would use: expected the "
                      "name of a [tickerplant], [[standby]] or [[chained]] of this file",
                      address));
    }
    return absl::OkStatus();
  }

  // A row of a keyed table replaces the one of its key, which must be in the same shard.
  absl::Status CheckTables() const {
    for (const Schema& schema : config_.schemas) {
      const int column = ShardColumnOf(schema);
      if (schema.key_columns == 0 || column < static_cast<int>(schema.key_columns)) continue;
      TS_ASSIGN_OR_RETURN(const ConfigTable tables, root_.Table("tables"));
      return tables.ErrorAt(
          schema.table,
          fmt::format("rows of one key could be in several shards: expected {} in the key",
                      schema.columns[static_cast<size_t>(column)].name));
    }
    return absl::OkStatus();
  }

  absl::Status CheckRdbs() const {
    TS_ASSIGN_OR_RETURN(const std::vector<ConfigTable> sections, root_.Tables("rdb"));
    for (size_t i = 0; i < sections.size(); ++i) {
      const rdb::RdbMainOptions& rdb = config_.rdbs[i];
      TS_RETURN_IF_ERROR(CheckAddress(sections[i], "tickerplant", rdb.tickerplant));
      if (!rdb.replay.empty()) {
        return sections[i].ErrorAt("replay", "the rdbs of all shards would replay this log");
      }
      if (rdb.prestress != nullptr) {
        return sections[i].ErrorAt("prestress", "the rdbs of all shards would have all these rows");
      }
      if (!rdb.end_of_day || rdb.end_of_day->hdb.empty()) continue;
      if (config_.hdb && rdb.end_of_day->hdb == config_.hdb->name) continue;
      TS_ASSIGN_OR_RETURN(const ConfigTable eod, root_.Table("eod"));
      return eod.ErrorAt("hdb",
                         fmt::format("found \"{}\", which all shards would use: expected the "
                                     "name of the [hdb] of this file",
                                     rdb.end_of_day->hdb));
    }
    return absl::OkStatus();
  }

  // A bridge from Kafka to other addresses than these names is of one shard.
  absl::Status CheckBridges() const {
    TS_ASSIGN_OR_RETURN(const std::vector<ConfigTable> sections, root_.Tables("bridge"));
    for (size_t i = 0; i < sections.size(); ++i) {
      const bridge::BridgeOptions& options = config_.bridges[i];
      std::istringstream list(options.tickerplant);
      bool is_template = false;
      for (std::string address; std::getline(list, address, ',');) {
        is_template |= names_.contains(address);
      }
      if (options.direction != "from-kafka" || !is_template) continue;
      TS_RETURN_IF_ERROR(CheckAddress(sections[i], "tickerplant", options.tickerplant));
    }
    return absl::OkStatus();
  }

  // A feed to another address than these names is of another stack.
  absl::Status CheckFeeds() const {
    TS_ASSIGN_OR_RETURN(const std::vector<ConfigTable> sections, root_.Tables("feed"));
    for (size_t i = 0; i < sections.size(); ++i) {
      const std::string& address = config_.feeds[i].tickerplant;
      if (address == config_.tickerplant->name || !names_.contains(address)) continue;
      return sections[i].ErrorAt(
          "tickerplant", fmt::format("found \"{}\", expected \"{}\": a feed sends each row to the "
                                     "tickerplant of its shard",
                                     address, config_.tickerplant->name));
    }
    return absl::OkStatus();
  }

  const ConfigTable& root_;
  const StackConfig& config_;
  StringSet names_;  // Names of a shard's tickerplants.
};

// Two processes of one host need two ports.
absl::Status CheckPorts(const std::vector<ConfigTable>& sections, StackConfig& config) {
  constexpr int kPortMax = 65'535;
  NameMap<std::string> taken;
  for (const ListedProcess& listed : ProcessesOf(config)) {
    const wire::ListenerOptions& listener = listed.process->listener();
    if (listener.port == 0) continue;
    if (listener.port > kPortMax) {
      return sections.back().ErrorAt("port_offset",
                                     fmt::format("{} would listen on port {}, at most {}",
                                                 listed.process->name(), listener.port, kPortMax));
    }
    const auto [other, is_new] = taken.try_emplace(
        fmt::format("{}:{}", listener.host, listener.port), listed.process->name());
    if (is_new) continue;
    return sections.back().ErrorAt(
        "port_offset", fmt::format("{} and {} would both listen on port {}: give a shard another "
                                   "port_offset",
                                   other->second, listed.process->name(), listener.port));
  }
  return absl::OkStatus();
}

// Checks the names of the shards that feeds publish to.
absl::Status CheckFeeds(const ConfigTable& root, const StackConfig& config) {
  TS_ASSIGN_OR_RETURN(const std::vector<ConfigTable> sections, root.Tables("feed"));
  for (size_t i = 0; i < config.feeds.size() && i < sections.size(); ++i) {
    for (const std::string& name : config.feeds[i].shards.only) {
      const bool known =
          config.shard_map != nullptr &&
          std::ranges::find(config.shard_map->shards(), name) != config.shard_map->shards().end();
      if (known) continue;
      return sections[i].ErrorAt("shards", fmt::format("there is no shard {}", name));
    }
  }
  return absl::OkStatus();
}

// The processes that a sharded stack has once.
absl::Status ConnectOthers(const ConfigTable& root, const Spreading& spreading,
                           const std::string& tickerplant, StackConfig& config) {
  const Shard& first = spreading.shards().front();
  for (feed::FeedOptions& feed : config.feeds) {
    if (feed.tickerplant != tickerplant) continue;
    feed.shards.map = config.shard_map;
    feed.shards.schemas = config.schemas;
    for (const Shard& shard : spreading.shards()) {
      feed.shards.tickerplants.push_back(spreading.Renamed(tickerplant, shard));
    }
  }
  if (config.gateway) {
    gateway::GatewayMainOptions& options = *config.gateway;
    if (!options.shards.empty()) {
      return root.ErrorAt("gateway", "knows the shards of this file: leave [[gateway.shard]] out");
    }
    const std::pair<const char*, const std::vector<std::string>*> names[] = {
        {"rdbs", &options.rdbs}, {"urgent_rdbs", &options.urgent_rdbs}, {"hdbs", &options.hdbs}};
    for (const auto& [key, processes] : names) {
      for (const std::string& process : *processes) {
        if (spreading.IsTemplate(process)) continue;
        TS_ASSIGN_OR_RETURN(const ConfigTable section, root.Table("gateway"));
        return section.ErrorAt(
            key, fmt::format("each shard has its own: expected names of processes of this file, "
                             "found \"{}\"",
                             process));
      }
    }
    for (const Shard& shard : spreading.shards()) {
      options.shards.push_back({shard.name, spreading.Renamed(options.rdbs, shard),
                                spreading.Renamed(options.urgent_rdbs, shard),
                                spreading.Renamed(options.hdbs, shard)});
    }
    options.shard_symbols = config.shard_map->symbols();
    options.rdbs.clear();
    options.urgent_rdbs.clear();
    options.hdbs.clear();
  }
  for (monitor::MonitorOptions& monitor : config.monitors) {
    monitor.rdb = spreading.Renamed(monitor.rdb, first);
  }
  for (const bridge::BridgeOptions& bridge : config.bridges) {
    if (!spreading.HasTemplate(bridge.tickerplant)) continue;
    return root.ErrorAt("bridge",
                        fmt::format("{}: each shard has a tickerplant: expected the name "
                                    "of one, such as tickerplant = \"{}\", or direction = "
                                    "\"from-kafka\"",
                                    bridge.name, spreading.Renamed(bridge.tickerplant, first)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadShards(const ConfigTable& root, StackConfig& config) {
  TS_ASSIGN_OR_RETURN(const std::vector<ConfigTable> sections, root.Tables("shard"));
  if (sections.empty()) return CheckFeeds(root, config);
  TS_ASSIGN_OR_RETURN(std::vector<Shard> shards, ReadSections(sections, config));
  TS_RETURN_IF_ERROR(CheckFeeds(root, config));
  if (!config.tickerplant)
    return root.ErrorAt("shard", "needs a section [tickerplant], found none");
  const auto advertises = [](const auto& options) {
    return !options.replication.advertise.empty();
  };
  if (advertises(*config.tickerplant) || std::ranges::any_of(config.standbys, advertises)) {
    return root.ErrorAt("shard",
                        "tickerplants of shards have several addresses: leave `advertise` "
                        "out");
  }
  const std::string tickerplant = config.tickerplant->name;
  TS_RETURN_IF_ERROR(ShardChecks(root, config).Check());
  Spreading spreading(config, std::move(shards));
  spreading.Run();
  TS_RETURN_IF_ERROR(CheckPorts(sections, config));
  return ConnectOthers(root, spreading, tickerplant, config);
}

std::string ShardOf(const StackConfig& config, const std::string& process) {
  const auto found = config.shard_of.find(process);
  return found == config.shard_of.end() ? "" : found->second;
}

std::string DataOf(const StackConfig& config, const std::string& process) {
  const std::string shard = ShardOf(config, process);
  return shard.empty() ? config.data : config.data + "/" + shard;
}

std::string ShardMapFlag(const StackConfig& config) {
  return config.shard_map == nullptr ? "none" : DigestText(config.shard_map.get());
}

StackConfig OneShard(const StackConfig& config, const std::string& shard) {
  StackConfig one = config;
  const auto keep = [&](auto& all) {
    std::erase_if(all, [&](const auto& options) { return ShardOf(config, options.name) != shard; });
  };
  keep(one.tickerplant.all);
  keep(one.standbys);
  keep(one.chained);
  keep(one.rdbs);
  keep(one.hdb.all);
  keep(one.aggengine.all);
  one.data += "/" + shard;
  one.shard_of.clear();
  return one;
}

}  // namespace tickstack::cli
