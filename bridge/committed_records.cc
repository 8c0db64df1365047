#include "bridge/committed_records.h"

#include <utility>

#include "base/status.h"
#include "base/time.h"

namespace tickstack::bridge {
namespace {

constexpr int kOffsetsMs = 5000;
constexpr int kCommitPollMs = 100;
constexpr int64_t kReadNs = 30 * kNsPerSecond;

}  // namespace

absl::StatusOr<CommittedRecords> CommittedRecords::Open(const kafka::KafkaOptions& kafka,
                                                        std::string topic, const std::string& group,
                                                        int32_t partition) {
  TS_ASSIGN_OR_RETURN(kafka::KafkaOwned<rd_kafka_t> consumer,
                      kafka::OpenKafka(RD_KAFKA_CONSUMER, kafka,
                                       {{"group.id", group},
                                        {"isolation.level", "read_committed"},
                                        {"enable.auto.commit", "false"},
                                        {"enable.partition.eof", "true"},
                                        {"auto.offset.reset", "earliest"}}));
  CommittedRecords records(std::move(consumer), std::move(topic), partition);
  const auto find = [&](int64_t time_ms) -> absl::StatusOr<int64_t> {
    const kafka::KafkaOwned<rd_kafka_topic_partition_list_t> list(
        rd_kafka_topic_partition_list_new(1));
    rd_kafka_topic_partition_list_add(list.get(), records.topic_.c_str(), partition)->offset =
        time_ms;
    TS_RETURN_IF_ERROR(kafka::FindOffsets(records.consumer_.get(), list.get(), kOffsetsMs));
    return list->elems[0].offset;
  };
  TS_ASSIGN_OR_RETURN(records.begin_, find(kafka::kTimeOfBeginning));
  TS_ASSIGN_OR_RETURN(records.end_, find(kafka::kTimeOfEnd));
  return records;
}

absl::Status CommittedRecords::Read(
    int64_t from, const std::function<bool()>& stopping,
    const std::function<absl::Status(const rd_kafka_message_t&)>& take) {
  if (from >= end_) return absl::OkStatus();
  const kafka::KafkaOwned<rd_kafka_topic_partition_list_t> list(
      rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(list.get(), topic_.c_str(), partition_)->offset = from;
  if (const rd_kafka_resp_err_t code = rd_kafka_assign(consumer_.get(), list.get())) {
    return kafka::KafkaError(code, fmt::format("kafka: read {}", topic_));
  }
  const int64_t deadline_ns = MonotonicNs() + kReadNs;
  for (;;) {
    if (stopping()) return absl::CancelledError("stopped");
    if (MonotonicNs() > deadline_ns) return Unavailable("kafka: read {}: no end in 30 s", topic_);
    const kafka::KafkaOwned<rd_kafka_message_t> message(
        rd_kafka_consumer_poll(consumer_.get(), kCommitPollMs));
    if (message == nullptr) continue;
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      TS_RETURN_IF_ERROR(take(*message));
    } else if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF && message->offset >= end_) {
      // A broker that has just become the leader may still name an earlier end.
      return absl::OkStatus();
    }
  }
}

}  // namespace tickstack::bridge
