// The writer and the reader with librdkafka's mock cluster. The mock knows transactions but not
// their isolation; kafka_bridge_test.py has a real broker.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "bridge/bridge_main.h"
#include "bridge/bridge_metrics.h"
#include "bridge/start_file.h"
#include "bridge/topic_reader.h"
#include "bridge/topic_writer.h"
#include "wire/codec.h"
#include "wire/event_loop.h"

namespace tickstack::bridge {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto kAtMost = 30s;

class MockKafka : public testing::Test {
 protected:
  MockKafka() {
    kafka_ = *OpenKafka(RD_KAFKA_PRODUCER, {}, {});
    cluster_ = rd_kafka_mock_cluster_new(kafka_.get(), 1);
    options_.brokers = rd_kafka_mock_cluster_bootstraps(cluster_);
    rd_kafka_mock_topic_create(cluster_, "p.trade", 2, 1);
    rd_kafka_mock_topic_create(cluster_, "p.positions", 1, 1);
  }
  ~MockKafka() override { rd_kafka_mock_cluster_destroy(cluster_); }

  struct Writing {
    std::optional<OpenedTopics> opened;
    int committed = 0;
    absl::Status ended;
    TopicWriterCounters counters;
    std::unique_ptr<TopicWriter> writer;
  };
  void Open(Writing& writing) {
    writing.writer = std::make_unique<TopicWriter>(
        loop_, TopicWriterOptions{.kafka = options_, .prefix = "p", .instance = "test"},
        std::vector<std::string>{"trade"}, &writing.counters,
        TopicWriter::Events{
            .opened = [&](OpenedTopics opened) { writing.opened = std::move(opened); },
            .committed = [&] { ++writing.committed; },
            .ended = [&](const absl::Status& why) { writing.ended = why; }});
  }
  OutgoingBatch Batch(int64_t number) {
    OutgoingBatch batch;
    batch.records.push_back(
        {.table = "trade",
         .partition = static_cast<int32_t>(number % 2),
         .first_row = number / 2,
         .rows = 1,
         .schema = "s",
         .ended_day = {},
         .payload = wire::EncodeMessage(wire::MessageKind::kAsync,
                                        Value::Table({"size"}, {Value::Longs({number})}))});
    batch.after.batch = number + 1;
    batch.after.tables["trade"] = {number + 1, {1, 2}};
    batch.log_name = "sym2013.10.07";
    batch.rows = 1;
    batch.bytes = 8;
    return batch;
  }

  KafkaOwned<rd_kafka_t> kafka_;
  rd_kafka_mock_cluster_t* cluster_ = nullptr;
  KafkaOptions options_;
  wire::EventLoop loop_;
};

TEST_F(MockKafka, AnotherWriterResumesAtTheLastPosition) {
  for (int64_t life = 0; life < 2; ++life) {
    Writing writing;
    Open(writing);
    ASSERT_TRUE(loop_.RunUntil([&] { return writing.opened.has_value(); }, kAtMost));
    EXPECT_EQ(writing.opened->partitions.at("trade"), 2);
    EXPECT_EQ(writing.opened->last.has_value(), life > 0);
    if (life > 0) {
      EXPECT_EQ(writing.opened->last->batch, 3);
      EXPECT_EQ(writing.opened->last->writer, "test");
    }
    for (int64_t i = 0; i < 3; ++i) writing.writer->Put(Batch(3 * life + i));
    ASSERT_TRUE(loop_.RunUntil([&] { return writing.committed == 3; }, kAtMost));
    EXPECT_EQ(writing.counters.rows.load(), 3U);
  }
}

TEST_F(MockKafka, AFailedTransactionIsWrittenAgain) {
  Writing writing;
  Open(writing);
  ASSERT_TRUE(loop_.RunUntil([&] { return writing.opened.has_value(); }, kAtMost));
  constexpr int16_t kAddPartitionsToTxn = 24;
  rd_kafka_mock_push_request_errors(cluster_, kAddPartitionsToTxn, 1,
                                    RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
  writing.writer->Put(Batch(0));
  ASSERT_TRUE(loop_.RunUntil([&] { return writing.committed == 1; }, kAtMost));
  EXPECT_EQ(writing.counters.aborts.load(), 1U);
}

TEST_F(MockKafka, AFencedWriterEnds) {
  Writing writing;
  Open(writing);
  ASSERT_TRUE(loop_.RunUntil([&] { return writing.opened.has_value(); }, kAtMost));
  constexpr int16_t kEndTxn = 26;
  rd_kafka_mock_push_request_errors(cluster_, kEndTxn, 1, RD_KAFKA_RESP_ERR_PRODUCER_FENCED);
  writing.writer->Put(Batch(0));
  ASSERT_TRUE(loop_.RunUntil([&] { return !writing.ended.ok(); }, kAtMost));
  EXPECT_EQ(writing.ended.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(writing.committed, 0);
}

TEST_F(MockKafka, ReadsRecordsFromAnOffset) {
  Writing writing;
  Open(writing);
  for (int64_t i = 0; i < 6; ++i) writing.writer->Put(Batch(i));
  ASSERT_TRUE(loop_.RunUntil([&] { return writing.committed == 6; }, kAtMost));

  std::vector<TopicPartition> found;
  TopicReader reader(loop_, options_, "group",
                     {.found = [&](std::vector<TopicPartition> partitions,
                                   const std::string&) { found = std::move(partitions); },
                      .records = [] {},
                      .ended = [](const absl::Status&) {}});
  reader.Find("p", {"trade", "quote"}, {});
  ASSERT_TRUE(loop_.RunUntil([&] { return found.size() == 2; }, kAtMost));
  EXPECT_EQ(found[0].start, 0);
  // Both partitions: the second from its second record on.
  for (int turn = 0; turn < 2; ++turn) {
    reader.Read(found, {0, 1});
    std::vector<std::string> rows;
    const auto all = [&] {
      while (std::optional<ReadRecord> record = reader.Take()) {
        EXPECT_TRUE(record->headers.ok()) << record->headers.status();
        rows.push_back(fmt::format("{}:{}", record->partition, record->headers->first_row));
        EXPECT_EQ(record->headers->table, "trade");
        EXPECT_EQ(record->headers->log, "sym2013.10.07");
      }
      return rows.size() >= 5;
    };
    ASSERT_TRUE(loop_.RunUntil(all, kAtMost));
    EXPECT_THAT(rows, testing::UnorderedElementsAre("0:0", "0:1", "0:2", "1:1", "1:2"));
  }
}

TEST(ReadStart, IsParsedOrAnErrorByName) {
  EXPECT_EQ(ParseReadStart("beginning")->kind, ReadStart::Kind::kBeginning);
  EXPECT_EQ(ParseReadStart("end")->kind, ReadStart::Kind::kEnd);
  EXPECT_EQ(ParseReadStart("offset 17")->offset, 17);
  EXPECT_EQ(ParseReadStart("1970-01-02T00:00:01")->time_ms, 86'401'000);
  EXPECT_EQ(ParseReadStart("2000-01-01")->time_ms, 946'684'800'000);
  for (const char* const wrong :
       {"", "offset", "offset -1", "2000-01-01T25:00:00", "2000.01.01", "2000-13-01", "start"}) {
    EXPECT_THAT(ParseReadStart(wrong).status().ToString(), HasSubstr("expected beginning"))
        << wrong;
  }
}

TEST(StartFile, KeepsWhatWasSaved) {
  const std::string folder = testing::TempDir() + "bridge_start_file";
  std::filesystem::remove_all(folder);
  const std::string path = folder + "/a/b.starts";
  ASSERT_TRUE(StartFile::Load(path).ok());
  StartFile file;
  file.cluster = "c";
  file.partitions[{"p.trade", 0}] = {.start = 5, .base = 17, .next_offset = 9, .next_row = 40};
  file.partitions[{"p.trade", 1}] = {.start = 5, .base = std::nullopt};
  ASSERT_EQ(file.Save(path), absl::OkStatus());
  const absl::StatusOr<StartFile> loaded = StartFile::Load(path);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->cluster, "c");
  EXPECT_EQ(loaded->partitions, file.partitions);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 2);
  EXPECT_THAT(StartFile::Load(path).status().ToString(), HasSubstr("b.starts:3"));
  std::filesystem::remove_all(folder);
}

TEST(BridgeOptions, ErrorsNameTheOption) {
  BridgeOptions options;
  EXPECT_EQ(CheckBridgeOptions(options), absl::OkStatus());
  options.kafka_settings = {"security.protocol=plaintext", "compression.type=lz4"};
  EXPECT_EQ(CheckBridgeOptions(options), absl::OkStatus());
  const auto error = [&](auto change) {
    BridgeOptions changed = options;
    change(changed);
    return std::string(Message(CheckBridgeOptions(changed)));
  };
  EXPECT_THAT(error([](auto& o) { o.direction = "x"; }), HasSubstr("direction x"));
  EXPECT_THAT(error([](auto& o) { o.prefix = "a b"; }), HasSubstr("prefix"));
  EXPECT_THAT(error([](auto& o) { o.payload = "avro"; }), HasSubstr("payload avro"));
  EXPECT_THAT(error([](auto& o) { o.from = "x"; }), HasSubstr("from 'x'"));
  EXPECT_THAT(error([](auto& o) { o.kafka_settings = {"nonsense=1"}; }), HasSubstr("nonsense"));
  EXPECT_THAT(error([](auto& o) { o.kafka_settings = {"novalue"}; }), HasSubstr("name=value"));
  EXPECT_THAT(error([](auto& o) { o.kafka_settings = {"transactional.id=x"}; }),
              HasSubstr("sets it itself"));
}

serve::Reasons ReasonsWith(bool live, std::string_view state, std::string_view error, double lag) {
  return ReasonsOf(FactsOf(Value::Dict(Value::Symbols({"live", "state", "error", "lag_ms"}),
                                       Value::List({Value::Boolean(live), Value::Symbol(state),
                                                    Value::String(error), Value::Float(lag)}))),
                   {});
}

TEST(BridgeReasons, ALiveBridgeIsReady) {
  EXPECT_THAT(ReasonsWith(true, "subscribed", "", 10), IsEmpty());
  EXPECT_THAT(ReasonsWith(false, "opening", "", 0), ElementsAre("it is not live yet: opening"));
  EXPECT_THAT(ReasonsWith(true, "subscribed", "kafka: commit: x", 0),
              ElementsAre("kafka: commit: x"));
  EXPECT_THAT(ReasonsWith(false, "failed", "why", 0), ElementsAre("the bridge is failed: why"));
  EXPECT_THAT(ReasonsWith(true, "subscribed", "", 60'000),
              ElementsAre(HasSubstr("rows wait for Kafka")));
}

}  // namespace
}  // namespace tickstack::bridge
