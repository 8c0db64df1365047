#pragma once

// Reads the committed records of a partition, such as that in which a bridge keeps positions or
// schemas.

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kafka/kafka_client.h"

namespace tickstack::bridge {

// Threads: one. Calls block until Kafka answers, for 30 s at most.
class CommittedRecords {
 public:
  // Connects, and asks for the first and the end offset. `group` is the client's group.id, under
  // which nothing is committed. kUnavailable if Kafka does not say the offsets.
  static absl::StatusOr<CommittedRecords> Open(const kafka::KafkaOptions& kafka, std::string topic,
                                               const std::string& group, int32_t partition = 0);

  int64_t begin() const { return begin_; }  // Offset of the first record.
  int64_t end() const { return end_; }      // Offset after the last record at the time of Open.

  // Calls `take` with each record from offset `from` to end(). kCancelled as soon as `stopping` is
  // true; kUnavailable if the end is not reached in time; and errors of `take`.
  absl::Status Read(int64_t from, const std::function<bool()>& stopping,
                    const std::function<absl::Status(const rd_kafka_message_t&)>& take);

 private:
  CommittedRecords(kafka::KafkaOwned<rd_kafka_t> consumer, std::string topic, int32_t partition)
      : consumer_(std::move(consumer)), topic_(std::move(topic)), partition_(partition) {}

  kafka::KafkaOwned<rd_kafka_t> consumer_;
  std::string topic_;
  int32_t partition_;
  int64_t begin_ = 0, end_ = 0;
};

}  // namespace tickstack::bridge
