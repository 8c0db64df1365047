#pragma once

// What the bridge needs of librdkafka: owners of its objects, clients made of settings, and errors
// as absl::Status.

#include <librdkafka/rdkafka.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tickstack::bridge {

struct KafkaOptions {
  std::string brokers = "127.0.0.1:9092";  // host:port, separated by commas.
  // Settings of librdkafka, each as `name=value`, such as `security.protocol=SSL`.
  std::vector<std::string> settings = {};
};

struct KafkaDeleter {
  void operator()(rd_kafka_t* kafka) const { rd_kafka_destroy(kafka); }
  void operator()(rd_kafka_message_t* message) const { rd_kafka_message_destroy(message); }
  void operator()(rd_kafka_topic_partition_list_t* list) const {
    rd_kafka_topic_partition_list_destroy(list);
  }
  void operator()(rd_kafka_error_t* error) const { rd_kafka_error_destroy(error); }
  void operator()(const rd_kafka_metadata_t* metadata) const {
    rd_kafka_metadata_destroy(metadata);
  }
};
template <typename T>
using KafkaOwned = std::unique_ptr<T, KafkaDeleter>;

using KafkaSettings = std::vector<std::pair<std::string, std::string>>;

// Checks that each text is `name=value`, and that librdkafka knows the name and takes the value.
// kInvalidArgument with the setting and librdkafka's reason. The bridge's own settings, such as
// transactional.id, are refused: exactly once depends on them.
absl::Status CheckKafkaOptions(const KafkaOptions& options);

// Creates a client; it connects in the background. `own` are the bridge's settings, and those of
// `options` are applied before them. kInvalidArgument as for CheckKafkaOptions.
absl::StatusOr<KafkaOwned<rd_kafka_t>> OpenKafka(rd_kafka_type_t type, const KafkaOptions& options,
                                                 const KafkaSettings& own);

// Returns the error as kUnavailable: `what: ERROR_NAME: text`.
absl::Status KafkaError(rd_kafka_resp_err_t code, std::string_view what);
absl::Status KafkaError(const rd_kafka_error_t* error, std::string_view what);

// Returns the partition that Kafka's Java producer chooses for a record whose key is `symbol`: the
// hash murmur2 of its bytes with its sign bit cleared, modulo the number of partitions.
int32_t PartitionOf(std::string_view symbol, int32_t partitions);

}  // namespace tickstack::bridge
