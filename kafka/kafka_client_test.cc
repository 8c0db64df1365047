// Offsets from librdkafka's mock cluster.

#include "kafka/kafka_client.h"

#include <gtest/gtest.h>
#include <librdkafka/rdkafka_mock.h>

#include "base/logging.h"

namespace tickstack::kafka {
namespace {

class FindOffsetsTest : public testing::Test {
 protected:
  FindOffsetsTest() {
    InitLogging("test", LogLevel::kOff);
    host_ = *OpenKafka(RD_KAFKA_PRODUCER, {}, {});
    cluster_ = rd_kafka_mock_cluster_new(host_.get(), 1);
    rd_kafka_mock_topic_create(cluster_, "t", 2, 1);
    client_ = *OpenKafka(RD_KAFKA_CONSUMER, {.brokers = rd_kafka_mock_cluster_bootstraps(cluster_)},
                         {{"group.id", "g"}});
  }
  ~FindOffsetsTest() override { rd_kafka_mock_cluster_destroy(cluster_); }

  void Write(int32_t partition, int records) {
    const KafkaOwned<rd_kafka_t> writer =
        *OpenKafka(RD_KAFKA_PRODUCER, {.brokers = rd_kafka_mock_cluster_bootstraps(cluster_)}, {});
    for (int i = 0; i < records; ++i) {
      ASSERT_EQ(rd_kafka_producev(writer.get(), RD_KAFKA_V_TOPIC("t"),
                                  RD_KAFKA_V_PARTITION(partition), RD_KAFKA_V_END),
                RD_KAFKA_RESP_ERR_NO_ERROR);
    }
    ASSERT_EQ(rd_kafka_flush(writer.get(), kAnswerMs), RD_KAFKA_RESP_ERR_NO_ERROR);
  }
  // Of partition 1 and 0, in this order.
  absl::StatusOr<std::pair<int64_t, int64_t>> Find(int64_t time_ms, int timeout_ms) {
    const KafkaOwned<rd_kafka_topic_partition_list_t> list(rd_kafka_topic_partition_list_new(2));
    for (const int32_t partition : {1, 0}) {
      rd_kafka_topic_partition_list_add(list.get(), "t", partition)->offset = time_ms;
    }
    absl::Status found = FindOffsets(client_.get(), list.get(), timeout_ms);
    if (!found.ok()) return found;
    return std::pair(list->elems[0].offset, list->elems[1].offset);
  }

  static constexpr int kAnswerMs = 30'000;
  KafkaOwned<rd_kafka_t> host_;
  rd_kafka_mock_cluster_t* cluster_ = nullptr;
  KafkaOwned<rd_kafka_t> client_;
};

TEST_F(FindOffsetsTest, FindsTheBeginningAndTheEnd) {
  Write(0, 3);
  Write(1, 5);
  const auto begin = Find(kTimeOfBeginning, kAnswerMs), end = Find(kTimeOfEnd, kAnswerMs);
  ASSERT_TRUE(begin.ok() && end.ok()) << begin.status() << end.status();
  EXPECT_EQ(*begin, std::pair(int64_t{0}, int64_t{0}));
  EXPECT_EQ(*end, std::pair(int64_t{5}, int64_t{3}));
}

// Goal: a broker that accepts the question and never answers is not waited for.
TEST_F(FindOffsetsTest, ABrokerThatDoesNotAnswerIsAnErrorAfterTheTimeout) {
  ASSERT_TRUE(Find(kTimeOfEnd, kAnswerMs).ok());  // The client knows the partitions' leader.
  constexpr int kNeverMs = 3'600'000;
  rd_kafka_mock_broker_set_rtt(cluster_, 1, kNeverMs);
  constexpr int kShortMs = 200;
  const absl::Status found = Find(kTimeOfEnd, kShortMs).status();
  EXPECT_TRUE(absl::IsUnavailable(found)) << found;
  rd_kafka_mock_broker_set_rtt(cluster_, 1, 0);
}

}  // namespace
}  // namespace tickstack::kafka
