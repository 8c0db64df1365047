#pragma once

// What bridges and a log in Kafka need of librdkafka: owners of its objects, clients made of
// settings, and errors as absl::Status.

#include <librdkafka/rdkafka.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kafka/kafka_options.h"

namespace tickstack::kafka {

struct KafkaDeleter {
  // Waits for the client's threads, for at most kCloseMax. After that the client is left to itself:
  // librdkafka 2.0 waits for ever if a topic was deleted from which a consumer reads.
  static constexpr std::chrono::seconds kCloseMax{3};
  void operator()(rd_kafka_t* kafka) const;
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
// kInvalidArgument with the setting and librdkafka's reason. Settings that tickstack makes itself,
// such as transactional.id, are refused: exactly once depends on them.
absl::Status CheckKafkaOptions(const KafkaOptions& options);

// What a producer calls with each record that brokers have taken or refused, while rd_kafka_poll
// runs, and in its thread.
struct KafkaDelivery {
  void (*on_answer)(rd_kafka_t* kafka, const rd_kafka_message_t* message, void* opaque) = nullptr;
  void* opaque = nullptr;
};

// Creates a client; it connects in the background. `own` are settings of the caller, and those of
// `options` are applied before them. kInvalidArgument as for CheckKafkaOptions.
absl::StatusOr<KafkaOwned<rd_kafka_t>> OpenKafka(rd_kafka_type_t type, const KafkaOptions& options,
                                                 const KafkaSettings& own,
                                                 const KafkaDelivery& delivery = {});

// A topic to create.
struct NewKafkaTopic {
  std::string name;
  int partitions = 1;
  int replication = -1;  // -1: the brokers' default.
  KafkaSettings settings = {};
};
// Creates topics. kAlreadyExists if one of them exists: it stays as it is, and the others are
// created. kUnavailable if the brokers refuse one or do not answer. Blocks, for at most some 20 s.
absl::Status CreateTopics(rd_kafka_t* client, const std::vector<NewKafkaTopic>& topics);

// kFailedPrecondition if Kafka compacts the topic, and so removes records that are needed. OK if it
// does not, or does not say (without the right to describe configurations). Blocks, for at most
// `timeout_ms`: kUnavailable after that.
absl::Status CheckKeepsRecords(rd_kafka_t* client, const std::string& topic, int timeout_ms);

// Times for FindOffsets that stand for where a partition's records begin, and for its end.
inline constexpr int64_t kTimeOfBeginning = RD_KAFKA_OFFSET_BEGINNING;
inline constexpr int64_t kTimeOfEnd = RD_KAFKA_OFFSET_END;
// Replaces the time of each partition, its `offset` in ms since 1970, by the offset of the first
// record that was written then or later; -1 if there is none. With `isolation.level` read_committed
// the end is that of the last transaction that has ended. Blocks, for at most `timeout_ms`:
// kUnavailable after that. (rd_kafka_query_watermark_offsets of librdkafka 2.0 takes a limit, too,
// but may wait for a lost broker for ever.)
absl::Status FindOffsets(rd_kafka_t* client, rd_kafka_topic_partition_list_t* partitions,
                         int timeout_ms);

// Returns the error as kUnavailable: `what: ERROR_NAME: text`.
absl::Status KafkaError(rd_kafka_resp_err_t code, std::string_view what);
absl::Status KafkaError(const rd_kafka_error_t* error, std::string_view what);

// Returns the partition that Kafka's Java producer chooses for a record whose key is `symbol`: the
// hash murmur2 of its bytes with its sign bit cleared, modulo the number of partitions.
int32_t PartitionOf(std::string_view symbol, int32_t partitions);

}  // namespace tickstack::kafka
