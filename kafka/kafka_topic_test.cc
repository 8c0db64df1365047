// A topic of librdkafka's mock cluster; kafka_log_test.py has a real one.

#include "kafka/kafka_topic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librdkafka/rdkafka_mock.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "base/logging.h"
#include "base/status.h"

namespace tickstack::kafka {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::chrono::milliseconds kAtMost = 30s;

class KafkaTopicTest : public testing::Test {
 protected:
  KafkaTopicTest() {
    InitLogging("test", std::getenv("TICKSTACK_DEBUG") ? LogLevel::kInfo : LogLevel::kOff);
    kafka_ = *OpenKafka(RD_KAFKA_PRODUCER, {}, {});
    cluster_ = rd_kafka_mock_cluster_new(kafka_.get(), 1);
    rd_kafka_mock_topic_create(cluster_, "log", 1, 1);
    rd_kafka_mock_topic_create(cluster_, "wide", 2, 1);
  }
  ~KafkaTopicTest() override { rd_kafka_mock_cluster_destroy(cluster_); }

  struct Opened {
    std::string identity;
    std::vector<int64_t> offsets;
    int readable = 0;
    absl::Status failed;
    std::unique_ptr<KafkaTopic> topic;
  };
  void Open(Opened& opened, std::string name = "log") {
    KafkaTopicOptions options{.kafka = {.brokers = rd_kafka_mock_cluster_bootstraps(cluster_)},
                              .topic = std::move(name)};
    opened.topic = *KafkaTopic::Open(
        loop_, std::move(options),
        {.opened = [&](std::string identity) { opened.identity = std::move(identity); },
         .readable = [&] { ++opened.readable; },
         .appended = [&](absl::StatusOr<int64_t> at) { opened.offsets.push_back(at.value_or(-1)); },
         .failed = [&](absl::Status why) { opened.failed = std::move(why); },
         .may_create = may_create_},
        /*checks_policy=*/false);
    ASSERT_TRUE(Until([&] {
      return !opened.identity.empty() || !opened.failed.ok() || !opened.topic->problem().ok();
    }));
  }
  // Also asks again if nothing happens in the loop.
  bool Until(const std::function<bool()>& done) {
    for (auto left = kAtMost; left > 0s; left -= 50ms) {
      if (loop_.RunUntil(done, 50ms)) return true;
    }
    return false;
  }
  static void Append(Opened& opened, std::string_view text) { opened.topic->Append(AsBytes(text)); }
  // Takes records until there are `count`.
  std::vector<std::string> Take(Opened& opened, size_t count) {
    std::vector<std::string> taken;
    const bool done = Until([&] {
      while (taken.size() < count) {
        const absl::StatusOr<std::optional<RecordTopic::Taken>> one = opened.topic->Take();
        if (!one.ok() || !*one) break;
        taken.emplace_back(AsText((*one)->record));
      }
      return taken.size() == count;
    });
    EXPECT_TRUE(done);
    return taken;
  }

  wire::EventLoop loop_;
  KafkaOwned<rd_kafka_t> kafka_;
  rd_kafka_mock_cluster_t* cluster_ = nullptr;
  std::function<absl::Status(const std::string&)> may_create_;
};

TEST_F(KafkaTopicTest, GivesRecordsOffsetsInTheirOrder) {
  Opened opened;
  Open(opened);
  EXPECT_THAT(opened.identity, HasSubstr("/log"));
  for (const char* const text : {"a", "b", "c"}) Append(opened, text);
  ASSERT_TRUE(Until([&] { return opened.offsets.size() == 3; }));
  EXPECT_THAT(opened.offsets, ElementsAre(0, 1, 2));
  opened.topic->Read(RecordTopic::kOldest);
  EXPECT_THAT(Take(opened, 3), ElementsAre("a", "b", "c"));
  ASSERT_TRUE(Until([&] { return opened.topic->at_end(); }));
  EXPECT_EQ(opened.topic->oldest(), 0);
  opened.topic->Read(2);
  EXPECT_THAT(Take(opened, 1), ElementsAre("c"));
}

// Goal: a reader that stopped in the middle, with an event on its way, is told again.
TEST_F(KafkaTopicTest, TellsOfRecordsAfterEachRead) {
  Opened writer, reader;
  Open(writer);
  Open(reader);
  constexpr int kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    Append(writer, "a");
    Append(writer, "b");
    ASSERT_TRUE(Until([&] { return static_cast<int>(writer.offsets.size()) == 2 * (round + 1); }));
    reader.readable = 0;
    reader.topic->Read(2 * round);
    ASSERT_TRUE(Until([&] { return reader.readable > 0; }));
    ASSERT_EQ(Take(reader, 1).size(), 1u);
    // More arrives, perhaps, and nobody takes it.
    Append(writer, "c");
    loop_.RunUntil([] { return false; }, std::chrono::milliseconds(round));
    reader.topic->StopReading();
    ASSERT_TRUE(
        Until([&] { return static_cast<int>(writer.offsets.size()) == 2 * (round + 1) + 1; }));
    writer.offsets.pop_back();
    reader.readable = 0;
    reader.topic->Read(0);
    ASSERT_TRUE(Until([&] { return reader.readable > 0; })) << round;
    reader.topic->StopReading();
  }
}

TEST_F(KafkaTopicTest, RecordsThatAreNotThereAreAnError) {
  Opened opened;
  Open(opened);
  Append(opened, "a");
  ASSERT_TRUE(Until([&] { return opened.offsets.size() == 1; }));
  opened.topic->Read(5);
  absl::Status error;
  ASSERT_TRUE(Until([&] {
    error = opened.topic->Take().status();
    return !error.ok();
  }));
  EXPECT_TRUE(absl::IsDataLoss(error)) << error;
  EXPECT_THAT(std::string(error.message()), HasSubstr("does not have the record to read, after 5"));
  opened.topic->Read(0);  // It can be read again.
  EXPECT_THAT(Take(opened, 1), ElementsAre("a"));
}

TEST_F(KafkaTopicTest, ATopicWithSeveralPartitionsIsRefused) {
  Opened opened;
  Open(opened, "wide");
  EXPECT_THAT(opened.topic->problem().ToString(), HasSubstr("has 2 partitions, expected 1"));
  EXPECT_EQ(opened.failed, absl::OkStatus());
}

// Goal: a log of another topic creates none. kafka_log_test.py has one that is created.
TEST_F(KafkaTopicTest, ATopicIsCreatedOnlyIfItMayBe) {
  may_create_ = [](const std::string& identity) {
    return FailedPrecondition("another than {}", identity);
  };
  Opened refused, existing;
  Open(refused, "missing");
  EXPECT_THAT(refused.failed.ToString(), HasSubstr("another than"));
  EXPECT_THAT(refused.failed.ToString(), HasSubstr("/missing"));
  EXPECT_EQ(refused.topic->problem(), absl::OkStatus());
  Open(existing);
  EXPECT_THAT(existing.identity, HasSubstr("/log"));
  EXPECT_EQ(existing.failed, absl::OkStatus());
}

TEST_F(KafkaTopicTest, KnowsADamagedRecord) {
  Opened opened;
  Open(opened);
  Append(opened, "a");
  ASSERT_TRUE(Until([&] { return opened.offsets.size() == 1; }));
  // As it is after a flipped bit: with the checksum of what was appended. One without is taken.
  const KafkaOwned<rd_kafka_t> producer =
      *OpenKafka(RD_KAFKA_PRODUCER, {.brokers = rd_kafka_mock_cluster_bootstraps(cluster_)}, {});
  for (const char* const crc : {"00000000", ""}) {
    rd_kafka_headers_t* const headers = rd_kafka_headers_new(1);
    if (*crc != 0) rd_kafka_header_add(headers, "crc", -1, crc, -1);
    ASSERT_EQ(
        rd_kafka_producev(producer.get(), RD_KAFKA_V_TOPIC("log"), RD_KAFKA_V_PARTITION(0),
                          RD_KAFKA_V_VALUE(const_cast<char*>("b"), 1), RD_KAFKA_V_HEADERS(headers),
                          RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END),
        RD_KAFKA_RESP_ERR_NO_ERROR);
  }
  ASSERT_EQ(rd_kafka_flush(producer.get(), 20'000), RD_KAFKA_RESP_ERR_NO_ERROR);
  opened.topic->Read(RecordTopic::kOldest);
  std::vector<bool> damaged;
  ASSERT_TRUE(Until([&] {
    for (;;) {
      const auto one = opened.topic->Take();
      if (!one.ok() || !*one) return damaged.size() == 3;
      damaged.push_back((*one)->is_damaged);
    }
  }));
  EXPECT_THAT(damaged, ElementsAre(false, true, false));
}

TEST_F(KafkaTopicTest, SaysWhichSettingIsWrong) {
  const KafkaTopicOptions options{
      .kafka = {.brokers = "127.0.0.1:9",
                .settings = {"security.protocol=SSL", "ssl.ca.location=/not/there"}},
      .topic = "log"};
  const absl::Status opened = KafkaTopic::Open(loop_, options, {}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(opened)) << opened;
}

}  // namespace
}  // namespace tickstack::kafka
