// [[bridge]] and `tickstack bridge`.

#include <CLI/CLI.hpp>

#include "base/status.h"
#include "bridge/bridge_main.h"
#include "bridge/bridge_metrics.h"
#include "cli/process_table.h"
#include "cli/shared_options.h"

namespace tickstack::cli {
namespace {

using bridge::BridgeOptions;

// It connects to the file's tickerplant unless the file says another.
absl::Status ReadBridge(const ConfigTable& /*root*/, const ConfigTable& table, StackConfig& config,
                        BridgeOptions& options) {
  if (config.tickerplant) options.tickerplant = config.tickerplant->name;
  TS_RETURN_IF_ERROR(table.Read("tickerplant", &options.tickerplant));
  TS_RETURN_IF_ERROR(table.Read("direction", &options.direction));
  TS_RETURN_IF_ERROR(table.Read("brokers", &options.brokers));
  TS_RETURN_IF_ERROR(table.Read("kafka_settings", &options.kafka_settings));
  TS_RETURN_IF_ERROR(table.Read("prefix", &options.prefix));
  TS_RETURN_IF_ERROR(table.Read("tables", &options.tables));
  TS_RETURN_IF_ERROR(table.Read("payload", &options.payload));
  TS_RETURN_IF_ERROR(table.Read("partitions", &options.partitions, 1, 10'000));
  TS_RETURN_IF_ERROR(table.Read("replication", &options.replication, -1, 100));
  TS_RETURN_IF_ERROR(ReadFromZero(table, "linger_ms", &options.linger_ms));
  TS_RETURN_IF_ERROR(table.ReadBytes("batch_bytes", &options.batch_bytes));
  TS_RETURN_IF_ERROR(table.Read("read_log_file", &options.read_log_file));
  TS_RETURN_IF_ERROR(table.ReadBytes("max_message_bytes", &options.max_message_bytes));
  TS_RETURN_IF_ERROR(table.Read("from", &options.from));
  TS_RETURN_IF_ERROR(
      table.Read("window_rows", &options.window_rows, int64_t{0}, int64_t{1'000'000'000'000}));
  if (const absl::Status checked = bridge::CheckBridgeOptions(options); !checked.ok()) {
    const std::string_view message = Message(checked);
    const bool is_setting = message.starts_with("kafka setting");
    const std::string key(is_setting ? "kafka_settings"
                                     : message.substr(0, message.find_first_of(" :")));
    return table.ErrorAt(key, message);
  }
  return absl::OkStatus();
}

std::function<void()> AddBridgeFlags(CLI::App& command, StackConfig& config,
                                     BridgeOptions& options) {
  AddDataFlag(command, config);
  command
      .add_option("--tickerplant", options.tickerplant,
                  "Address of the tickerplant to subscribe or publish to")
      ->capture_default_str();
  command.add_option("--direction", options.direction, "to-kafka or from-kafka")
      ->capture_default_str();
  command
      .add_option("--brokers", options.brokers,
                  "Kafka brokers to begin with, as host:port, separated by commas")
      ->capture_default_str();
  command.add_option("--kafka-setting", options.kafka_settings,
                     "Setting of librdkafka as name=value; may be repeated");
  command.add_option("--prefix", options.prefix, "Prefix of the topics, which are PREFIX.TABLE")
      ->capture_default_str();
  command.add_option("--tables", options.tables, "Tables to pass on; default: all")->delimiter(',');
  command.add_option("--payload", options.payload, "to-kafka: ipc, arrow, json or avro")
      ->capture_default_str();
  command
      .add_option("--partitions", options.partitions,
                  "to-kafka: partitions of a topic that is created")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command
      .add_option("--replication", options.replication,
                  "to-kafka: replicas of a topic that is created; -1: the broker's default")
      ->capture_default_str();
  command
      .add_option("--linger-ms", options.linger_ms,
                  "to-kafka: longest time in ms that rows wait for others while Kafka is idle")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  AddBytesFlag(command, "--batch-bytes", options.batch_bytes,
               "to-kafka: bytes of a full transaction");
  command
      .add_flag("--read-log-file,!--no-read-log-file", options.read_log_file,
                "to-kafka: replay the log from its file if it can be opened, otherwise over the "
                "connection")
      ->capture_default_str();
  command
      .add_option(
          "--from", options.from,
          "from-kafka: where to begin with a partition that was never read: beginning, end, "
          "`offset N`, or a time in UTC such as 2026-11-27T09:30:00")
      ->capture_default_str();
  command
      .add_option(
          "--window-rows", options.window_rows,
          "from-kafka: wait while a subscriber is more than this many rows behind; 0: never")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  return nullptr;
}

}  // namespace

const ProcessHooks<BridgeOptions> kBridgeHooks = {
    .read = ReadBridge,
    .add_flags = AddBridgeFlags,
    .run =
        [](const StackConfig& config, BridgeOptions& options) {
          options.data = config.data;
          return bridge::RunBridge(options);
        },
    .resolve =
        [](const AddressOf& address_of, BridgeOptions& options) {
          options.tickerplant = address_of(options.tickerplant);
        },
    .child_flags =
        [](const StackConfig& config, const BridgeOptions& options, Flags& flags) {
          flags.insert(flags.end(), {"--tickerplant", options.tickerplant, "--data", config.data});
        },
    .metrics = bridge::Metrics,
};

}  // namespace tickstack::cli
