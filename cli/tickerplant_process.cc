// [tickerplant] and `tickstack tickerplant`; [[standby]] and `tickstack standby`; [[chained]] and
// `tickstack chained`.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <tuple>
#include <utility>

#include "base/status.h"
#include "cli/listener_config.h"
#include "cli/process_table.h"
#include "cli/read_word.h"
#include "cli/shared_options.h"
#include "tickerplant/tickerplant_metrics.h"

namespace tickstack::cli {
namespace {

using tickerplant::ChainedOptions;
using tickerplant::StandbyOptions;
using tickerplant::TickerplantMainOptions;

constexpr std::array kFsyncWords = {
    std::pair<std::string_view, tplog::FsyncPolicy>{"none", tplog::FsyncPolicy::kNone},
    std::pair<std::string_view, tplog::FsyncPolicy>{"interval", tplog::FsyncPolicy::kInterval},
    std::pair<std::string_view, tplog::FsyncPolicy>{"batch", tplog::FsyncPolicy::kBatch},
};

tplog::FsyncPolicy FsyncPolicyOf(const std::string& text) {
  for (const auto& [word, policy] : kFsyncWords) {
    if (word == text) return policy;
  }
  throw CLI::ValidationError("--fsync", "expected none, interval or batch");
}

bool HasTable(const std::vector<Schema>& schemas, std::string_view name) {
  return std::ranges::find(schemas, name, &Schema::table) != schemas.end();
}

// Reads the keys of both sections. `options` has its schemas.
absl::Status ReadShared(const ConfigTable& table, const StackConfig& config,
                        TickerplantMainOptions& options) {
  TS_RETURN_IF_ERROR(ReadFromZero(table, "batch_ms", &options.batch_ms));
  if (table.Has("batch_phase_ms")) {
    TS_RETURN_IF_ERROR(ReadFromZero(table, "batch_phase_ms", &options.batch_phase_ms.emplace(0)));
  }
  TS_RETURN_IF_ERROR(table.ReadBytes("batch_bytes", &options.batch_bytes));
  for (const aggengine::BarSpec& bars : config.bars) {
    if (HasTable(options.schemas, bars.name)) options.at_once.push_back(bars.name);
  }
  TS_RETURN_IF_ERROR(table.Read("at_once", &options.at_once));
  for (const std::string& name : options.at_once) {
    if (!HasTable(options.schemas, name)) {
      return table.ErrorAt("at_once", fmt::format("no table \"{}\"", name));
    }
  }
  TS_RETURN_IF_ERROR(table.Read("log_name", &options.log_name));
  TS_RETURN_IF_ERROR(ReadWord(table, "fsync", kFsyncWords, &options.fsync));
  TS_RETURN_IF_ERROR(table.Read("fsync_interval_ms", &options.fsync_interval_ms, 1, 3'600'000));
  TS_RETURN_IF_ERROR(table.ReadBytes("log_cache", &options.log_cache_bytes));
  TS_RETURN_IF_ERROR(table.Read("time_zone", &options.time_zone));
  TS_RETURN_IF_ERROR(table.ReadBytes("live_queue_bytes", &options.live_queue_bytes));
  TS_RETURN_IF_ERROR(table.ReadDuration("stall_max", &options.stall_max_ns));
  TS_RETURN_IF_ERROR(table.ReadBytes("max_queue_bytes", &options.max_queue_bytes));
  TS_RETURN_IF_ERROR(table.ReadBytes("max_message_bytes", &options.max_message_bytes));
  return table.Read("busy_poll", &options.busy_poll);
}

// Parses `kafka:HOST:PORT,HOST:PORT/TOPIC`; nullopt if it has another form.
std::optional<std::pair<std::string, std::string>> ParseTopicLog(std::string_view log) {
  constexpr std::string_view kKafka = "kafka:";
  const size_t slash = log.rfind('/');
  if (!log.starts_with(kKafka) || slash == std::string_view::npos) return std::nullopt;
  const std::string_view brokers = log.substr(kKafka.size(), slash - kKafka.size());
  const std::string_view topic = log.substr(slash + 1);
  constexpr size_t kTopicCharsMax = 249;  // Kafka's.
  const bool is_topic =
      !topic.empty() && topic.size() <= kTopicCharsMax && std::ranges::all_of(topic, [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
      });
  if (!is_topic || brokers.find(':') == std::string_view::npos) return std::nullopt;
  return std::pair(std::string(brokers), std::string(topic));
}

// Reads `log` of a tickerplant. The other members of a file have the same one.
absl::Status ReadTopicLog(const ConfigTable& table, const StackConfig& config,
                          TickerplantMainOptions& options) {
  kafka::KafkaTopicOptions& kafka = options.replication.kafka;
  if (config.tickerplant) kafka = config.tickerplant->replication.kafka;
  if (!table.Has("log")) return absl::OkStatus();
  std::string log;
  TS_RETURN_IF_ERROR(table.Read("log", &log));
  const auto parsed = ParseTopicLog(log);
  if (!parsed) return table.ErrorAt("log", "expected kafka:HOST:PORT,HOST:PORT/TOPIC");
  std::tie(kafka.kafka.brokers, kafka.topic) = *parsed;
  return absl::OkStatus();
}

// Reads how to reach an etcd with TLS and logins.
absl::Status ReadEtcdFiles(const ConfigTable& section, const std::vector<std::string>& urls,
                           tickerplant::EtcdFiles& files) {
  TS_RETURN_IF_ERROR(section.Read("etcd_ca", &files.ca));
  TS_RETURN_IF_ERROR(section.Read("etcd_certificate", &files.certificate));
  TS_RETURN_IF_ERROR(section.Read("etcd_key", &files.key));
  TS_RETURN_IF_ERROR(section.Read("etcd_credentials", &files.credentials));
  if (files.certificate.empty() != files.key.empty()) {
    return section.ErrorAt(files.key.empty() ? "etcd_certificate" : "etcd_key",
                           "expected etcd_certificate and etcd_key together, found one of them");
  }
  if (files.ca.empty() && files.certificate.empty()) return absl::OkStatus();
  for (const std::string& url : urls) {
    if (url.starts_with("https://")) continue;
    return section.ErrorAt(
        "etcd", fmt::format("with certificates, expected https://HOST:PORT, found {}", url));
  }
  return absl::OkStatus();
}

// Reads `[replication]`, and where the other members of the cluster reach this one.
absl::Status ReadReplication(const ConfigTable& root, const ConfigTable& table,
                             const StackConfig& config, TickerplantMainOptions& options) {
  constexpr int64_t kMsMin = 50, kMsMax = 600'000, kNsPerMs = 1'000'000;
  constexpr size_t kAcknowledgeMax = 15;
  constexpr int kReplicasMax = 100;
  TS_RETURN_IF_ERROR(ReadTopicLog(table, config, options));
  tickerplant::ReplicationOptions& replication = options.replication;
  TS_RETURN_IF_ERROR(table.Read("advertise", &replication.advertise));
  if (!root.Has("replication")) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(const ConfigTable section, root.Table("replication"));
  TS_RETURN_IF_ERROR(section.Read("etcd", &replication.etcd));
  const bool has_topic = !replication.kafka.topic.empty();
  if (replication.etcd.empty() && !has_topic) {
    return section.ErrorAt("etcd", "expected URLs such as \"http://127.0.0.1:2379\"");
  }
  if (!replication.etcd.empty() && has_topic) {
    return section.ErrorAt("etcd",
                           "the log is in Kafka, where the leader is elected, too: remove "
                           "etcd or log");
  }
  if (has_topic) {
    for (const char* const key : {"acknowledge", "standby_timeout_ms", "cluster", "etcd_ca",
                                  "etcd_certificate", "etcd_key", "etcd_credentials"}) {
      if (section.Has(key)) {
        return section.ErrorAt(key, "is of standbys with etcd, and the log is in Kafka");
      }
    }
    TS_RETURN_IF_ERROR(section.Read("kafka_settings", &replication.kafka.kafka.settings));
    TS_RETURN_IF_ERROR(
        section.Read("kafka_replicas", &replication.kafka.replication, -1, kReplicasMax));
    if (replication.kafka.replication == 0) {
      return section.ErrorAt("kafka_replicas", "expected -1, or 1 and more");
    }
  }
  TS_RETURN_IF_ERROR(ReadEtcdFiles(section, replication.etcd, replication.etcd_files));
  TS_RETURN_IF_ERROR(section.Read("cluster", &replication.cluster));
  TS_RETURN_IF_ERROR(section.Read("first_leader", &replication.first_leader));
  TS_RETURN_IF_ERROR(
      section.Read("acknowledge", &replication.acknowledge, size_t{0}, kAcknowledgeMax));
  int64_t lease_ms = replication.lease_ns / kNsPerMs;
  int64_t timeout_ms = replication.standby_timeout_ns / kNsPerMs;
  TS_RETURN_IF_ERROR(section.Read("lease_ms", &lease_ms, kMsMin, kMsMax));
  TS_RETURN_IF_ERROR(section.Read("standby_timeout_ms", &timeout_ms, kMsMin, kMsMax));
  replication.lease_ns = lease_ms * kNsPerMs;
  replication.standby_timeout_ns = timeout_ms * kNsPerMs;
  return absl::OkStatus();
}

absl::Status ReadTickerplant(const ConfigTable& root, const ConfigTable& table, StackConfig& config,
                             TickerplantMainOptions& options) {
  options.schemas = config.schemas;
  TS_RETURN_IF_ERROR(ReadShared(table, config, options));
  TS_RETURN_IF_ERROR(ReadReplication(root, table, config, options));
  return table.ReadDuration("roll_offset", &options.roll_offset_ns);
}

// True if another tickerplant of this configuration has logs of this name.
bool IsLogNameTaken(const StackConfig& config, const std::string& log_name) {
  const auto has = [&log_name](const auto& all) {
    return std::ranges::any_of(all, [&](const auto& each) { return each.log_name == log_name; });
  };
  return (config.tickerplant && config.tickerplant->log_name == log_name) || has(config.standbys) ||
         has(config.chained);
}

// Another member of the cluster. The logs of all are in one folder, so the default of log_name is
// the name of the process.
absl::Status ReadStandby(const ConfigTable& root, const ConfigTable& table, StackConfig& config,
                         StandbyOptions& options) {
  options.log_name = options.name;
  TS_RETURN_IF_ERROR(ReadTickerplant(root, table, config, options));
  if (!options.replication.is_member()) {
    return root.ErrorAt("standby",
                        "needs a section [replication] or `log` of [tickerplant], found none");
  }
  if (!IsLogNameTaken(config, options.log_name)) return absl::OkStatus();
  return table.ErrorAt(
      "log_name",
      fmt::format("the log {} is another tickerplant's: give it another name", options.log_name));
}

// Keeps the schemas of these tables; no tables: all. Returns a name that no schema has.
std::optional<std::string> KeepTables(const std::vector<std::string>& tables,
                                      std::vector<Schema>& schemas) {
  if (tables.empty()) return std::nullopt;
  for (const std::string& name : tables) {
    if (!HasTable(schemas, name)) return name;
  }
  std::erase_if(schemas, [&tables](const Schema& schema) {
    return std::ranges::find(tables, schema.table) == tables.end();
  });
  return std::nullopt;
}

// By default, copies the [tickerplant] of the same file. The logs of both are in one folder, so the
// default of log_name is the name of the process.
absl::Status ReadChained(const ConfigTable& /*root*/, const ConfigTable& table, StackConfig& config,
                         ChainedOptions& options) {
  if (config.tickerplant) options.upstream = config.tickerplant->name;
  TS_RETURN_IF_ERROR(table.Read("upstream", &options.upstream));
  if (options.upstream.empty()) {
    return table.ErrorAt("upstream", "expected the name or the address of a tickerplant");
  }
  if (options.upstream == options.name) {
    return table.ErrorAt("upstream", "is this process itself: give one of the two another name");
  }
  std::vector<std::string> tables;
  TS_RETURN_IF_ERROR(table.Read("tables", &tables));
  options.schemas = config.schemas;
  options.all_tables = tables.empty();
  if (const std::optional<std::string> unknown = KeepTables(tables, options.schemas)) {
    return table.ErrorAt("tables", fmt::format("no table \"{}\"", *unknown));
  }
  TS_RETURN_IF_ERROR(table.Read("symbols", &options.symbols));
  TS_RETURN_IF_ERROR(ReadFromZero(table, "poll_ms", &options.poll_ms));
  options.log_name = options.name;
  TS_RETURN_IF_ERROR(ReadShared(table, config, options));
  if (!IsLogNameTaken(config, options.log_name)) return absl::OkStatus();
  return table.ErrorAt(
      "log_name",
      fmt::format("the log {} is another tickerplant's: give it another name", options.log_name));
}

void AddSharedFlags(CLI::App& command, StackConfig& config, TickerplantMainOptions& options) {
  AddDataFlag(command, config);
  command
      .add_option("--batch-ms", options.batch_ms,
                  "Publish interval in ms; 0 publishes every message immediately")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      .add_option("--log-name", options.log_name,
                  "Prefix of the log's file name: DATA/tplog/PREFIXyyyy.mm.dd")
      ->capture_default_str();
  command
      .add_option_function<std::string>(
          "--fsync", [&options](const std::string& text) { options.fsync = FsyncPolicyOf(text); },
          "When to fsync the log: none (the kernel decides), interval, or batch (before its rows "
          "are published)")
      ->default_str("none");
  command
      .add_option("--fsync-interval-ms", options.fsync_interval_ms,
                  "Time between fsyncs in ms, with --fsync interval")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  AddBytesFlag(command, "--log-cache", options.log_cache_bytes,
               "Bytes at the end of the log to keep in the page cache, such as 256MiB");
  AddBytesFlag(
      command, "--live-queue-bytes", options.live_queue_bytes,
      "Serve a subscriber with more unsent bytes than this from the log until it has caught "
      "up; 0: never");
  AddDurationFlag(command, "--stall-max", options.stall_max_ns,
                  "Disconnect a subscriber that is behind and has read nothing for this long, such "
                  "as 10m; 0s: never");
  AddBytesFlag(command, "--max-queue-bytes", options.max_queue_bytes,
               "Close a connection with more unsent bytes than this");
  AddBytesFlag(command, "--max-message-bytes", options.max_message_bytes,
               "Largest message accepted; a larger one closes its connection");
  command.add_flag("--busy-poll", options.busy_poll, "Poll instead of sleeping; occupies one core");
}

void AddAdvertiseFlag(CLI::App& command, TickerplantMainOptions& options) {
  command.add_option("--advertise", options.replication.advertise,
                     "Address at which other members of a cluster reach this one");
}

std::function<void()> AddTickerplantFlags(CLI::App& command, StackConfig& config,
                                          TickerplantMainOptions& options) {
  AddSharedFlags(command, config, options);
  AddAdvertiseFlag(command, options);
  AddDateFlag(command, config, "Use this fixed date for a replay, such as 2013.10.07");
  command
      .add_option("--time-zone", options.time_zone,
                  "Time zone whose midnight starts a new day, such as America/New_York")
      ->capture_default_str();
  AddDurationFlag(command, "--roll-offset", options.roll_offset_ns,
                  "Start days this long after midnight, such as 17h");
  return AddTakeOverFlag(command, "tickerplant", options.listener, options.take_over);
}

std::function<void()> AddStandbyFlags(CLI::App& command, StackConfig& config,
                                      StandbyOptions& options) {
  AddSharedFlags(command, config, options);
  AddAdvertiseFlag(command, options);
  AddDateFlag(command, config, "Use this fixed date for a replay, such as 2013.10.07");
  // CLI11 calls the returned function after it has read all flags.
  return [&options] {
    if (!options.replication.is_member()) {
      throw CLI::ValidationError(
          "--config", "needs a file with a section [replication], or with `log` in [tickerplant]");
    }
  };
}

// The other members reach this one at `advertise`, by default where it listens.
void ResolveAdvertise(const AddressOf& /*address_of*/, TickerplantMainOptions& options) {
  std::string& advertise = options.replication.advertise;
  if (advertise.empty()) advertise = wire::AddressOf(options.listener).ToString();
}

void AddChildFlags(const StackConfig& config, const TickerplantMainOptions& options, Flags& flags) {
  flags.insert(flags.end(), {"--data", config.data});
  const tickerplant::ReplicationOptions& replication = options.replication;
  if (replication.is_member()) {
    flags.insert(flags.end(), {"--advertise", replication.advertise});
  }
  if (config.date) flags.insert(flags.end(), {"--date", *config.date});
}

std::function<void()> AddChainedFlags(CLI::App& command, StackConfig& config,
                                      ChainedOptions& options) {
  AddSharedFlags(command, config, options);
  command.add_option("--upstream", options.upstream, "Address of the tickerplant to copy")
      ->capture_default_str();
  // CLI11 calls the returned function after it has read all flags.
  auto tables = std::make_shared<std::vector<std::string>>();
  command.add_option("--tables", *tables, "Tables to copy, such as trade,quote (default: all)")
      ->delimiter(',');
  command
      .add_option("--symbols", options.symbols, "Symbols to copy, such as AIG,IBM (default: all)")
      ->delimiter(',');
  command
      .add_option("--poll-ms", options.poll_ms,
                  "Pause in ms before the next request at the end of the upstream's log")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  return [tables, &options] {
    if (!tables->empty()) options.all_tables = false;
    if (const std::optional<std::string> unknown = KeepTables(*tables, options.schemas)) {
      throw CLI::ValidationError("--tables", fmt::format("no table \"{}\"", *unknown));
    }
  };
}

// A chained tickerplant has the days of its upstream.
void AddChainedChildFlags(const StackConfig& config, const ChainedOptions& options, Flags& flags) {
  flags.insert(flags.end(), {"--upstream", options.upstream, "--data", config.data});
}

}  // namespace

const ProcessHooks<TickerplantMainOptions> kTickerplantHooks = {
    .read = ReadTickerplant,
    .add_flags = AddTickerplantFlags,
    .run = [](const StackConfig&,
              TickerplantMainOptions& options) { return tickerplant::RunTickerplant(options); },
    .resolve = ResolveAdvertise,
    .child_flags = AddChildFlags,
    .set_date = [](int32_t day, TickerplantMainOptions& options) { options.date = day; },
    .metrics = tickerplant::Metrics,
};

const ProcessHooks<StandbyOptions> kStandbyHooks = {
    .read = ReadStandby,
    .add_flags = AddStandbyFlags,
    .run = [](const StackConfig&,
              StandbyOptions& options) { return tickerplant::RunTickerplant(options); },
    .resolve = [](const AddressOf& address_of,
                  StandbyOptions& options) { ResolveAdvertise(address_of, options); },
    .child_flags = [](const StackConfig& config, const StandbyOptions& options,
                      Flags& flags) { AddChildFlags(config, options, flags); },
    .set_date = [](int32_t day, StandbyOptions& options) { options.date = day; },
    .metrics = tickerplant::StandbyMetrics,
};

const ProcessHooks<ChainedOptions> kChainedHooks = {
    .read = ReadChained,
    .add_flags = AddChainedFlags,
    .run = [](const StackConfig&,
              ChainedOptions& options) { return tickerplant::RunTickerplant(options); },
    .resolve = [](const AddressOf& address_of,
                  ChainedOptions& options) { options.upstream = address_of(options.upstream); },
    .child_flags = AddChainedChildFlags,
    .metrics = tickerplant::ChainedMetrics,
};

}  // namespace tickstack::cli
