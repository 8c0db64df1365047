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

  // Replaces the options by copies for all shards, each changed by `change`.
  template <typename All, typename Change>
  void Spread(All& all, const Change& change) {
    All spread;
    for (const Shard& shard : shards_) {
      for (const auto& one : all) {
        auto options = one;
        change(options, shard);
        options.name += "-" + shard.name;
        if (options.listener.port != 0) options.listener.port += shard.port_offset;
        config_.shard_of[options.name] = shard.name;
        spread.push_back(std::move(options));
      }
    }
    all = std::move(spread);
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
}

absl::StatusOr<std::vector<Shard>> ReadSections(const std::vector<ConfigTable>& sections,
                                                StackConfig& config) {
  std::vector<Shard> shards;
  std::vector<std::string> names;
  NameMap<std::string> symbols;
  for (const ConfigTable& section : sections) {
    Shard shard{{}, kPortStep * static_cast<int>(shards.size())};
    TS_RETURN_IF_ERROR(ReadName(section, &shard.name));
    if (std::ranges::find(names, shard.name) != names.end()) {
      return section.ErrorAt("name", fmt::format("shard {} is there twice", shard.name));
    }
    TS_RETURN_IF_ERROR(section.Read("port_offset", &shard.port_offset, 0, 65'535));
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
    return root.ErrorAt("gateway", "a gateway cannot be used with [[shard]] yet");
  }
  for (monitor::MonitorOptions& monitor : config.monitors) {
    monitor.rdb = spreading.Renamed(monitor.rdb, first);
  }
  for (const bridge::BridgeOptions& bridge : config.bridges) {
    if (!spreading.IsTemplate(bridge.tickerplant)) continue;
    return root.ErrorAt("bridge",
                        fmt::format("{}: each shard has a tickerplant: expected the name "
                                    "of one, such as tickerplant = \"{}\"",
                                    bridge.name, spreading.Renamed(bridge.tickerplant, first)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadShards(const ConfigTable& root, StackConfig& config) {
  TS_ASSIGN_OR_RETURN(const std::vector<ConfigTable> sections, root.Tables("shard"));
  if (sections.empty()) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(std::vector<Shard> shards, ReadSections(sections, config));
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
  Spreading spreading(config, std::move(shards));
  spreading.Run();
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
