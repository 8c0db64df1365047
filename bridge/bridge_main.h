#pragma once

// The process of a bridge to or from Kafka: its options, and the function that the command line
// calls.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bridge/rows_of_shard.h"
#include "serve/health.h"
#include "wire/listener_options.h"

namespace tickstack::bridge {

struct BridgeOptions {
  std::string name = "bridge";
  wire::ListenerOptions listener;  // For `.bridge.stats[]`.
  serve::HealthLimits health;
  std::string data = "data";  // A from-kafka bridge keeps DATA/bridge/NAME.starts there.
  std::string tickerplant = "127.0.0.1:5010";
  std::string direction = "to-kafka";       // Or from-kafka.
  std::string brokers = "127.0.0.1:9092";   // host:port, separated by commas.
  std::vector<std::string> kafka_settings;  // Settings of librdkafka, each as `name=value`.
  std::string prefix = "tickstack";         // Topics are PREFIX.TABLE.
  std::vector<std::string> tables;          // Empty: all.
  size_t max_message_bytes = size_t{256} << 20;

  // To Kafka.
  std::string payload = "ipc";  // Or arrow, json, or avro.
  int partitions = 4;           // Partitions of a topic that is created.
  int replication = -1;         // Replicas of a topic that is created; -1: the broker's default.
  double linger_ms = 1;         // Longest time that rows wait for others while Kafka is idle.
  size_t batch_bytes = size_t{8} << 20;  // Bytes of a full transaction.
  bool read_log_file = true;             // False: the log is streamed over a connection.

  // From Kafka.
  BridgeShard shard;               // The tickerplant gets the rows of this shard only.
  std::string from = "beginning";  // Where to begin with a partition; see ParseReadStart.
  // Waits while a subscriber of the tickerplant is more than this many rows behind; 0: never.
  int64_t window_rows = 1'000'000;
};

// Checks options that need no network. kInvalidArgument names the option.
absl::Status CheckBridgeOptions(const BridgeOptions& options);

// Runs until SIGTERM or SIGINT and returns 0; 1 if an option is wrong, if it could not listen, or
// if another process writes under its prefix. Blocks. Uses the calling thread, one for Kafka, and
// those of librdkafka.
int RunBridge(const BridgeOptions& options);

}  // namespace tickstack::bridge
