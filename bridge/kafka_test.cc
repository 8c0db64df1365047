// The writer and the reader with librdkafka's mock cluster. The mock knows transactions but not
// their isolation; kafka_bridge_test.py has a real broker.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "bridge/bridge_main.h"
#include "bridge/bridge_metrics.h"
#include "bridge/committed_records.h"
#include "bridge/export_service.h"
#include "bridge/import_service.h"
#include "bridge/record_headers.h"
#include "bridge/rows_of_shard.h"
#include "bridge/schema_record.h"
#include "bridge/start_file.h"
#include "bridge/topic_reader.h"
#include "bridge/topic_writer.h"
#include "wire/codec.h"
#include "wire/event_loop.h"
#include "wire/listener_options.h"
#include "wire/server.h"

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
    kafka_ = *kafka::OpenKafka(RD_KAFKA_PRODUCER, {}, {});
    cluster_ = rd_kafka_mock_cluster_new(kafka_.get(), 1);
    options_.brokers = rd_kafka_mock_cluster_bootstraps(cluster_);
    rd_kafka_mock_topic_create(cluster_, "p.trade", 2, 1);
    rd_kafka_mock_topic_create(cluster_, "p.positions", 1, 1);
    rd_kafka_mock_topic_create(cluster_, "p.schemas", 1, 1);
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
        loop_,
        TopicWriterOptions{
            .kafka = options_, .prefix = prefix_, .payload = payload_, .instance = "test"},
        tables_, &writing.counters,
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

  ImportOptions OptionsFor(const wire::Server& tickerplant) const {
    ImportOptions options;
    options.tickerplant = {.host = "127.0.0.1", .port = tickerplant.port(), .unix_path = {}};
    options.kafka = options_;
    options.prefix = "p";
    options.instance = "one";
    return options;
  }

  kafka::KafkaOwned<rd_kafka_t> kafka_;
  rd_kafka_mock_cluster_t* cluster_ = nullptr;
  kafka::KafkaOptions options_;
  Payload payload_ = Payload::kIpc;
  std::string prefix_ = "p";
  std::vector<Schema> tables_{{.table = "trade", .columns = {{"size", Type::kLong}}}};
  wire::EventLoop loop_;
};

// Returns the headers of a record with one row of trade.
RecordHeaders HeadersOfRow() {
  RecordHeaders headers;
  headers.table = "trade";
  headers.schema = "s";
  headers.log = "l";
  headers.rows = 1;
  headers.payload = "ipc";
  return headers;
}

// Returns the keys of the records in p.schemas.
std::vector<std::string> SchemaKeys(const kafka::KafkaOptions& options) {
  std::vector<std::string> keys;
  absl::StatusOr<CommittedRecords> records = CommittedRecords::Open(options, "p.schemas", "test");
  EXPECT_TRUE(records.ok()) << records.status();
  if (!records.ok()) return keys;
  const absl::Status read = records->Read(
      records->begin(), [] { return false; },
      [&keys](const rd_kafka_message_t& message) {
        keys.emplace_back(static_cast<const char*>(message.key), message.key_len);
        return absl::OkStatus();
      });
  EXPECT_EQ(read, absl::OkStatus());
  return keys;
}

// Returns the names of all topics.
std::vector<std::string> Topics(const kafka::KafkaOptions& options) {
  const kafka::KafkaOwned<rd_kafka_t> client = *kafka::OpenKafka(RD_KAFKA_CONSUMER, options, {});
  const rd_kafka_metadata_t* raw = nullptr;
  EXPECT_EQ(rd_kafka_metadata(client.get(), /*all_topics=*/1, nullptr, &raw, 20'000),
            RD_KAFKA_RESP_ERR_NO_ERROR);
  if (raw == nullptr) return {};
  const kafka::KafkaOwned<const rd_kafka_metadata_t> metadata(raw);
  std::vector<std::string> names;
  for (int i = 0; i < metadata->topic_cnt; ++i) names.emplace_back(metadata->topics[i].topic);
  std::ranges::sort(names);
  return names;
}

TEST_F(MockKafka, EachChangeOfASchemaIsPublishedOnce) {
  const Schema one = tables_[0];
  Schema two = one;
  two.columns.push_back({"note", Type::kList});
  const std::string first = "p.trade-value/" + SchemaHash(one),
                    second = "p.trade-value/" + SchemaHash(two);
  size_t schemas = 0;
  const auto open = [&](const Schema& schema) {
    tables_ = {schema};
    Writing writing;
    Open(writing);
    EXPECT_TRUE(loop_.RunUntil([&] { return writing.opened.has_value(); }, kAtMost));
    EXPECT_FALSE(writing.opened->partitions.contains("schemas"));
    const std::vector<std::string> before = SchemaKeys(options_);
    EXPECT_EQ(before.size(), schemas);  // Nothing is written before rows are.
    writing.writer->Put(Batch(0));
    EXPECT_TRUE(loop_.RunUntil([&] { return writing.committed == 1; }, kAtMost));
    schemas = SchemaKeys(options_).size();
  };
  open(one);
  open(one);
  EXPECT_THAT(SchemaKeys(options_), ElementsAre(first));
  open(two);
  open(two);
  EXPECT_THAT(SchemaKeys(options_), ElementsAre(first, second));
  open(one);
  EXPECT_THAT(SchemaKeys(options_), ElementsAre(first, second, first));
}

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

// Goal: rows are not sent again because the topic of positions was deleted.
TEST_F(MockKafka, RowsWithoutAPositionAreAnError) {
  const kafka::KafkaOwned<rd_kafka_t> producer = *kafka::OpenKafka(RD_KAFKA_PRODUCER, options_, {});
  const auto produce = [&](rd_kafka_headers_t* headers) {
    ASSERT_EQ(
        rd_kafka_producev(producer.get(), RD_KAFKA_V_TOPIC("p.trade"), RD_KAFKA_V_PARTITION(1),
                          RD_KAFKA_V_VALUE(const_cast<char*>("x"), 1), RD_KAFKA_V_HEADERS(headers),
                          RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END),
        RD_KAFKA_RESP_ERR_NO_ERROR);
    ASSERT_EQ(rd_kafka_flush(producer.get(), 20'000), RD_KAFKA_RESP_ERR_NO_ERROR);
  };
  produce(rd_kafka_headers_new(0));  // Another program's.
  {
    Writing writing;
    Open(writing);
    ASSERT_TRUE(loop_.RunUntil([&] { return writing.opened.has_value(); }, kAtMost));
    EXPECT_FALSE(writing.opened->last);
  }
  produce(HeadersOfRow().Encode());
  Writing writing;
  Open(writing);
  ASSERT_TRUE(loop_.RunUntil([&] { return !writing.ended.ok(); }, kAtMost));
  EXPECT_THAT(writing.ended.ToString(),
              HasSubstr("topic p.trade has rows, and p.positions has no position after them"));
}

// Goal: to open is to look. Method: the mock cluster cannot create topics, so a writer that creates
// one would not open.
TEST_F(MockKafka, TopicsAreCreatedOnRequestOnly) {
  const std::vector<std::string> topics = Topics(options_);
  tables_.push_back({.table = "quote", .columns = {{"size", Type::kLong}}});
  Writing writing;
  Open(writing);
  ASSERT_TRUE(loop_.RunUntil([&] { return writing.opened.has_value(); }, kAtMost));
  EXPECT_EQ(writing.opened->partitions, (NameMap<int32_t>{{"quote", 4}, {"trade", 2}}));
  EXPECT_EQ(writing.writer->problem(), absl::OkStatus());
  EXPECT_EQ(Topics(options_), topics);
  // A topic that appears meanwhile may have other partitions, rows, or the last position.
  rd_kafka_mock_topic_create(cluster_, "p.quote", 1, 1);
  writing.writer->CreateTopics();
  ASSERT_TRUE(loop_.RunUntil([&] { return !writing.ended.ok(); }, kAtMost));
  EXPECT_TRUE(absl::IsAborted(writing.ended)) << writing.ended;
  EXPECT_THAT(writing.ended.ToString(), HasSubstr("topic p.quote was created by another process"));
}

// Goal: a prefix of which some topics are missing is checked before they are created.
TEST_F(MockKafka, NoTopicIsCreatedBesideRowsWithoutAPosition) {
  rd_kafka_mock_topic_create(cluster_, "left.trade", 1, 1);
  const std::vector<std::string> topics = Topics(options_);
  prefix_ = "left";
  const kafka::KafkaOwned<rd_kafka_t> producer = *kafka::OpenKafka(RD_KAFKA_PRODUCER, options_, {});
  ASSERT_EQ(rd_kafka_producev(producer.get(), RD_KAFKA_V_TOPIC("left.trade"),
                              RD_KAFKA_V_PARTITION(0), RD_KAFKA_V_VALUE(const_cast<char*>("x"), 1),
                              RD_KAFKA_V_HEADERS(HeadersOfRow().Encode()),
                              RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END),
            RD_KAFKA_RESP_ERR_NO_ERROR);
  ASSERT_EQ(rd_kafka_flush(producer.get(), 20'000), RD_KAFKA_RESP_ERR_NO_ERROR);
  Writing writing;
  Open(writing);
  ASSERT_TRUE(loop_.RunUntil([&] { return !writing.ended.ok(); }, kAtMost));
  EXPECT_THAT(writing.ended.ToString(), HasSubstr("topic left.trade has rows"));
  EXPECT_EQ(Topics(options_), topics);
}

TEST_F(MockKafka, AFailedTransactionIsWrittenAgain) {
  Writing writing;
  Open(writing);
  writing.writer->Put(Batch(0));  // After the schemas.
  ASSERT_TRUE(loop_.RunUntil([&] { return writing.committed == 1; }, kAtMost));
  constexpr int16_t kAddPartitionsToTxn = 24;
  rd_kafka_mock_push_request_errors(cluster_, kAddPartitionsToTxn, 1,
                                    RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
  writing.writer->Put(Batch(1));
  ASSERT_TRUE(loop_.RunUntil([&] { return writing.committed == 2; }, kAtMost));
  EXPECT_EQ(writing.counters.aborts.load(), 1U);
}

TEST_F(MockKafka, ARowThatThePayloadCannotHoldEndsTheWriter) {
  payload_ = Payload::kAvro;
  Writing writing;
  Open(writing);
  ASSERT_TRUE(loop_.RunUntil([&] { return writing.opened.has_value(); }, kAtMost));
  OutgoingBatch batch = Batch(0);
  batch.records[0].payload = wire::EncodeMessage(
      wire::MessageKind::kAsync, Value::Table({"levels"}, {Value::List({Value::Longs({1, 2})})}));
  writing.writer->Put(std::move(batch));
  ASSERT_TRUE(loop_.RunUntil([&] { return !writing.ended.ok(); }, kAtMost));
  EXPECT_EQ(writing.ended.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(writing.ended.ToString(), HasSubstr("column levels has lists"));
  EXPECT_EQ(writing.committed, 0);
}

TEST_F(MockKafka, AFencedWriterEnds) {
  Writing writing;
  Open(writing);
  writing.writer->Put(Batch(0));  // After the schemas.
  ASSERT_TRUE(loop_.RunUntil([&] { return writing.committed == 1; }, kAtMost));
  constexpr int16_t kEndTxn = 26;
  rd_kafka_mock_push_request_errors(cluster_, kEndTxn, 1, RD_KAFKA_RESP_ERR_PRODUCER_FENCED);
  writing.writer->Put(Batch(1));
  ASSERT_TRUE(loop_.RunUntil([&] { return !writing.ended.ok(); }, kAtMost));
  EXPECT_EQ(writing.ended.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(writing.committed, 1);
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

// The part of a tickerplant that a bridge to Kafka sees: logs of days, each of messages of one row.
class LoggingTickerplant final : public wire::ServerHandler {
 public:
  LoggingTickerplant(wire::EventLoop& loop, std::string folder)
      : folder_(std::move(folder)),
        server_(*wire::Listen(loop, wire::ListenerOptions(), {}, this)) {}

  struct Log {
    int32_t date;
    std::vector<int64_t> rows;
  };
  std::vector<Log> logs;  // The last one is today's.
  SymbolVector tables = {"trade"};
  std::vector<int64_t> cuts;
  int64_t epoch = 0;  // 0: it has no standbys.

  wire::Address address() const {
    return {.host = "127.0.0.1", .port = server_->port(), .unix_path = {}};
  }
  void Stop() { server_ = nullptr; }
  void OnClosed(wire::Connection&, const absl::Status&) override {}
  void OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) override {
    if (message.kind != wire::MessageKind::kSync) return;
    const Value request = *wire::Decode(message.body);
    const wire::ReplyTicket ticket = connection.TakeTicket();
    const absl::StatusOr<Value> answer = AnswerTo(request);
    answer.ok() ? connection.Reply(ticket, *answer)
                : connection.ReplyError(ticket, Message(answer.status()));
  }

 private:
  std::string PathOf(const Log& log) const {
    return fmt::format(":{}/sym{}", folder_, FormatDate(log.date));
  }
  static ByteBuffer MessagesFrom(const Log& log, int64_t from, int64_t bytes_max) {
    ByteBuffer bytes;
    for (auto i = static_cast<size_t>(from); i < log.rows.size(); ++i) {
      if (!bytes.empty() && static_cast<int64_t>(bytes.size()) > bytes_max) break;
      wire::Encode(Value::List({Value::Symbol("upd"), Value::Symbol("trade"),
                                Value::List({Value::Longs({log.rows[i]})})}),
                   bytes);
    }
    return bytes;
  }
  absl::StatusOr<Value> AnswerTo(const Value& request) const {
    const Log& today = logs.back();
    const Value i = Value::Long(static_cast<int64_t>(today.rows.size()));
    Value path = Value::Symbol(PathOf(today));
    Value table = Value::Table({"size"}, {Value::Longs({})});
    if (request.is_atom_of(Type::kSymbol)) {
      if (request.symbol() == ".u.cuts") return Value::Vector<int64_t>(Type::kLong, cuts);
      for (size_t at = 0; at < tables.size(); ++at) {
        if (tables[at] == request.symbol()) return table;
      }
      return NotFound("{}", request.symbol());
    }
    if (!request.is_list()) {
      if (request.text() == ".u.t") return Value::Symbols(tables);
      if (request.text() == ".u.L") return path;
      if (request.text() == ".u `i`L") return Value::List({i, path});
      if (request.text() == ".u.replica[]" && epoch > 0) {
        return Value::Dict(Value::Symbols({"role", "epoch"}),
                           Value::List({Value::Symbol("leader"), Value::Long(epoch)}));
      }
      return NotFound("{}", request.text());
    }
    const std::vector<Value>& items = request.items();
    const std::string_view verb = items[0].text();
    if (verb == ".u.subx") {
      std::vector<Value> schemas;
      for (size_t at = 0; at < tables.size(); ++at) {
        schemas.push_back(Value::List({Value::Symbol(tables[at]), table}));
      }
      return Value::List({Value::List(std::move(schemas)), i, path});
    }
    if (verb == ".u.logs") {
      std::vector<int32_t> days;
      SymbolVector paths;
      for (const Log& log : logs) {
        days.push_back(log.date);
        paths.push_back(PathOf(log));
      }
      return Value::Table({"date", "path"}, {Value::Vector<int32_t>(Type::kDate, days),
                                             Value::Symbols(std::move(paths))});
    }
    if (verb == ".u.log") {
      if (items[3].symbol() != PathOf(today)) return absl::NotFoundError("log: neither");
      return Value::Vector(Type::kByte,
                           MessagesFrom(today, items[1].as<int64_t>(), items[2].as<int64_t>()));
    }
    const auto log = std::ranges::find(logs, items[1].as<int32_t>(), &Log::date);
    if (log == logs.end()) return absl::NotFoundError("log: there is no log");
    const bool is_today = log + 1 == logs.end();
    return Value::List({Value::Vector(Type::kByte, MessagesFrom(*log, items[2].as<int64_t>(),
                                                                items[3].as<int64_t>())),
                        Value::Long(static_cast<int64_t>(log->rows.size())),
                        Value::Date(is_today ? kNullInt : (log + 1)->date), Value::Longs({})});
  }

  const std::string folder_;
  std::unique_ptr<wire::Server> server_;
};

class ExportServiceTest : public MockKafka {
 protected:
  ExportOptions OptionsTo(const LoggingTickerplant& tickerplant) {
    ExportOptions options;
    options.subscriber.tickerplant = tickerplant.address();
    options.writer.kafka = options_;
    options.writer.prefix = "p";
    options.writer.instance = fmt::format("{}", ++instances_);
    return options;
  }
  // Runs a bridge until it has written this many rows, and no more come; returns its error.
  std::string Write(const LoggingTickerplant& tickerplant, uint64_t rows) {
    ExportService service(loop_, OptionsTo(tickerplant));
    return WriteWith(service, rows);
  }
  std::string WriteWith(ExportService& service, uint64_t rows) {
    const auto is_done = [&] {
      return service.state() == ExportState::kFailed ||
             (service.state() == ExportState::kSubscribed && service.written().rows >= rows);
    };
    EXPECT_TRUE(loop_.RunUntil(is_done, kAtMost)) << NameOf(service.state());
    loop_.RunUntil([&] { return service.state() == ExportState::kFailed; }, 200ms);
    EXPECT_EQ(service.written().rows.load(), rows);
    return std::string(Message(service.error()));
  }

  int instances_ = 0;
  static constexpr int32_t kToday = 5028;
};

std::vector<int64_t> UpTo(int64_t count, int64_t first = 0) {
  std::vector<int64_t> rows(static_cast<size_t>(count));
  std::iota(rows.begin(), rows.end(), first);
  return rows;
}

TEST_F(ExportServiceTest, ALogIsTheSameWhereverItIs) {
  LoggingTickerplant one(loop_, "/one"), other(loop_, "/other");
  one.logs = {{kToday, UpTo(10)}};
  other.logs = {{kToday, UpTo(15)}};
  EXPECT_EQ(Write(one, 10), "");
  EXPECT_EQ(Write(other, 5), "");
  // It lacks rows.
  ExportService service(loop_, OptionsTo(one));
  ASSERT_TRUE(loop_.RunUntil([&] { return service.state() == ExportState::kFailed; }, kAtMost));
  EXPECT_THAT(service.error().ToString(),
              HasSubstr("/one/sym2013.10.07 lacks rows that are in Kafka"));
}

// Goal: a failover costs nothing, however the members' own power cuts differ.
TEST_F(ExportServiceTest, AFailoverContinuesWithTheNextRow) {
  LoggingTickerplant one(loop_, "/one"), other(loop_, "/other");
  one.logs = {{kToday, UpTo(10)}};
  one.epoch = 1;
  other.logs = {{kToday, UpTo(15)}};
  other.epoch = 2;
  other.cuts = {3};
  ExportOptions options = OptionsTo(one);
  options.subscriber.tickerplant.others = {other.address()};
  ExportService service(loop_, options);
  EXPECT_EQ(WriteWith(service, 10), "");
  one.Stop();
  EXPECT_EQ(WriteWith(service, 15), "");
}

TEST_F(ExportServiceTest, DaysThatHaveEndedAreThoseOfTheTickerplantThatAnswers) {
  LoggingTickerplant one(loop_, "/one"), other(loop_, "/other");
  one.logs = {{kToday, UpTo(10)}};
  other.logs = {{kToday - 1, UpTo(3)},
                {kToday, UpTo(12)},
                {kToday + 1, {}},
                {kToday + 2, UpTo(4)},
                {kToday + 3, UpTo(5)}};
  EXPECT_EQ(Write(one, 10), "");
  EXPECT_EQ(Write(other, 2 + 4 + 5), "");
}

TEST_F(ExportServiceTest, AnotherStackIsRefused) {
  LoggingTickerplant one(loop_, "/one"), other(loop_, "/other");
  one.logs = {{kToday, UpTo(10)}};
  ASSERT_EQ(Write(one, 10), "");
  // Today, with other rows, with no rows, and with rows that begin alike.
  other.logs = {{kToday, UpTo(20, 100)}};
  EXPECT_THAT(Write(other, 0), HasSubstr("is another log than /one/sym2013.10.07"));
  other.logs = {{kToday, {}}};
  EXPECT_THAT(Write(other, 0), HasSubstr("is another log than /one/sym2013.10.07"));
  other.logs = {{kToday, UpTo(20)}};
  other.logs[0].rows[9] = 100;
  EXPECT_THAT(Write(other, 0), HasSubstr("message 9 is another one than that whose rows are in"));
  // On a later day, with and without a log of that day.
  other.logs = {{kToday + 1, UpTo(20)}};
  EXPECT_THAT(Write(other, 0), HasSubstr("has no log of 2013.10.07, whose rows are in Kafka"));
  other.logs = {{kToday, UpTo(20, 100)}, {kToday + 1, UpTo(20)}};
  EXPECT_THAT(Write(other, 0), HasSubstr("is another log than the one of that day"));
  other.logs = {{kToday, UpTo(20)}, {kToday + 1, UpTo(20)}};
  other.logs[0].rows[9] = 100;
  EXPECT_THAT(Write(other, 0), HasSubstr("message 9 is another one than that whose rows are in"));
  // On an earlier day.
  other.logs = {{kToday - 1, UpTo(20)}};
  EXPECT_THAT(Write(other, 0), HasSubstr("which is before /one/sym2013.10.07"));
  // The first stack continues, also after its day has ended in Kafka.
  one.logs.push_back({kToday + 1, UpTo(4)});
  EXPECT_EQ(Write(one, 4), "");
}

// Goal: a stack that is refused leaves no topic of a table that the first stack lacks.
TEST_F(ExportServiceTest, AStackThatIsRefusedCreatesNoTopic) {
  LoggingTickerplant one(loop_, "/one"), other(loop_, "/other");
  one.logs = {{kToday, UpTo(10)}};
  ASSERT_EQ(Write(one, 10), "");
  const std::vector<std::string> topics = Topics(options_);
  ASSERT_THAT(topics, ElementsAre("p.positions", "p.schemas", "p.trade"));
  other.tables = {"quote", "trade"};
  std::vector<int64_t> unlike = UpTo(20);
  unlike[9] = 100;
  const std::vector<std::vector<LoggingTickerplant::Log>> refused = {
      {{kToday, UpTo(20, 100)}},
      {{kToday, unlike}},  // Only the replay shows it.
      {{kToday, UpTo(5)}},
      {{kToday + 1, UpTo(20)}},
      {{kToday, UpTo(20, 100)}, {kToday + 1, UpTo(20)}},
      {{kToday, unlike}, {kToday + 1, UpTo(20)}},
      {{kToday - 1, UpTo(20)}},
  };
  for (const std::vector<LoggingTickerplant::Log>& logs : refused) {
    other.logs = logs;
    ExportService service(loop_, OptionsTo(other));
    ASSERT_TRUE(loop_.RunUntil([&] { return service.state() == ExportState::kFailed; }, kAtMost));
    EXPECT_EQ(Topics(options_), topics) << service.error();
  }
}

// The part of a tickerplant that a bridge from Kafka sees.
class SmallTickerplant final : public wire::ServerHandler {
 public:
  void OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) override {
    const absl::StatusOr<Value> request = wire::Decode(message.body);
    ASSERT_TRUE(request.ok());
    if (message.kind != wire::MessageKind::kSync) return;
    const wire::ReplyTicket ticket = connection.TakeTicket();
    if (!request->is_list()) return connection.Reply(ticket, Value::Symbols({"trade"}));
    const std::vector<Value>& items = request->items();
    int64_t& logged = logged_[std::string(items[1].symbol())];
    if (items[0].text() == ".u.feed") {
      return connection.Reply(ticket,
                              Value::Dict(Value::Symbols({"trade"}), Value::Longs({logged})));
    }
    if (!refusal.empty()) return connection.ReplyError(ticket, refusal);
    const int64_t row = items[2].as<int64_t>();
    if (row > logged) return connection.ReplyError(ticket, "gap");
    const std::span<const int64_t> sizes = items[4].FindColumn("size")->span<int64_t>();
    for (size_t i = static_cast<size_t>(logged - row); i < sizes.size(); ++i) {
      rows.push_back(sizes[i]);
      ++logged;
    }
    connection.Reply(ticket, Value());
  }
  void OnClosed(wire::Connection&, const absl::Status&) override {}

  // As after a power cut.
  void Lose(int64_t count) {
    for (auto& [feed, logged] : logged_) {
      if (logged > count) logged -= count;
    }
    rows.resize(rows.size() - static_cast<size_t>(count));
  }

  std::vector<int64_t> rows;
  std::string refusal;

 private:
  std::map<std::string, int64_t> logged_;
};

TEST_F(MockKafka, RowsAreLoggedOnceOverRestartsOfTheBridge) {
  Writing writing;
  Open(writing);
  const std::string folder = testing::TempDir() + "bridge_import";
  std::filesystem::remove_all(folder);
  SmallTickerplant tickerplant;
  const auto server = wire::Listen(loop_, wire::ListenerOptions(), {}, &tickerplant);
  ASSERT_TRUE(server.ok()) << server.status();
  ImportOptions options = OptionsFor(**server);
  options.start_file = folder + "/starts";
  for (int64_t life = 0; life < 3; ++life) {
    for (int64_t i = 0; i < 4; ++i) writing.writer->Put(Batch(4 * life + i));
    if (life == 1) std::filesystem::remove(options.start_file);  // Only costs reading again.
    ImportService service(loop_, options);
    const size_t expected = 4 * static_cast<size_t>(life + 1);
    ASSERT_TRUE(loop_.RunUntil([&] { return tickerplant.rows.size() >= expected; }, kAtMost))
        << service.error();
    EXPECT_EQ(service.state(), ImportState::kReading);
  }
  std::sort(tickerplant.rows.begin(), tickerplant.rows.end());
  std::vector<int64_t> all(12);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(tickerplant.rows, all);

  // What the tickerplant refuses is an error by name, and comes again.
  tickerplant.refusal = "mismatch: trade";
  ImportService service(loop_, options);
  writing.writer->Put(Batch(12));
  ASSERT_TRUE(loop_.RunUntil([&] { return service.state() == ImportState::kFailed; }, kAtMost));
  EXPECT_THAT(service.error().ToString(), HasSubstr("refused: p.trade partition 0 offset"));
  EXPECT_THAT(service.error().ToString(), HasSubstr("mismatch: trade"));
  tickerplant.refusal.clear();
  ASSERT_TRUE(loop_.RunUntil([&] { return tickerplant.rows.size() == 13; }, kAtMost));
  std::filesystem::remove_all(folder);
}

int64_t Stat(const ImportService& service, std::string_view name) {
  const Value stats = service.Stats();
  const SymbolVector& names = stats.keys().symbols();
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return stats.values().items()[i].as<int64_t>();
  }
  return -1;
}

// Goal: each shard of a stack gets its rows of the same topics once, whenever its bridge restarts.
TEST_F(MockKafka, EachShardGetsItsRowsOnceOverRestarts) {
  const auto map = std::make_shared<const ShardMap>(*ShardMap::Create(
      {"a", "b", "c"}, {{"S0", "a"}, {"S1", "b"}, {"S2", "a"}, {"S3", "b"}, {"S4", "a"}}));
  const std::string folder = testing::TempDir() + "bridge_shards";
  std::filesystem::remove_all(folder);
  Writing writing;
  Open(writing);
  int64_t next = 0;
  const auto write = [&](int records) {
    for (int i = 0; i < records; ++i) {
      OutgoingBatch batch = Batch(next / 3);  // Partitions take turns.
      OutgoingRecord& record = batch.records[0];
      SymbolVector symbols;
      std::vector<int64_t> sizes;
      for (int k = 0; k < 3; ++k, ++next) {
        symbols.push_back(fmt::format("S{}", next % 5));
        sizes.push_back(next);
      }
      record.first_row *= 3;
      record.rows = 3;
      record.payload = wire::EncodeMessage(
          wire::MessageKind::kAsync,
          Value::Table({"sym", "size"}, {Value::Symbols(std::move(symbols)),
                                         Value::Vector<int64_t>(Type::kLong, sizes)}));
      writing.writer->Put(std::move(batch));
    }
  };
  const auto expected = [&](std::string_view shard) {
    std::vector<int64_t> rows;
    for (int64_t row = 0; row < next; ++row) {
      const size_t index = map->ShardOf(fmt::format("S{}", row % 5));
      if (map->shards()[index] == shard) rows.push_back(row);
    }
    return rows;
  };
  std::vector<SmallTickerplant> tickerplants(map->size());
  std::vector<std::unique_ptr<wire::Server>> servers;
  std::vector<ImportOptions> options(map->size());
  for (size_t i = 0; i < map->size(); ++i) {
    servers.push_back(*wire::Listen(loop_, wire::ListenerOptions(), {}, &tickerplants[i]));
    options[i] = OptionsFor(*servers[i]);
    options[i].shard = {map, i, {{"trade", {{"sym", Type::kSymbol}, {"size", Type::kLong}}}}};
    options[i].start_file = fmt::format("{}/{}", folder, i);
  }
  for (int life = 0; life < 4; ++life) {
    write(5);
    if (life == 2) std::filesystem::remove(options[0].start_file);  // Only costs reading again.
    std::vector<std::unique_ptr<ImportService>> services;
    for (const ImportOptions& each : options) {
      services.push_back(std::make_unique<ImportService>(loop_, each));
    }
    const auto have_all = [&] {
      for (size_t i = 0; i < map->size(); ++i) {
        if (tickerplants[i].rows.size() < expected(map->shards()[i]).size()) return false;
      }
      return true;
    };
    ASSERT_TRUE(loop_.RunUntil(have_all, kAtMost)) << services[0]->error();
    const auto are_at_the_end = [&] {
      return std::ranges::all_of(
          services, [](const auto& service) { return Stat(*service, "records_behind") == 0; });
    };
    EXPECT_TRUE(loop_.RunUntil(are_at_the_end, kAtMost));
    EXPECT_EQ(Stat(*services[2], "rows_written"), 0);  // A shard without symbols.
  }
  for (size_t i = 0; i < map->size(); ++i) {
    std::sort(tickerplants[i].rows.begin(), tickerplants[i].rows.end());
    EXPECT_EQ(tickerplants[i].rows, expected(map->shards()[i])) << i;
  }

  // With another map, the count of rows would be about other rows.
  options[0].shard.map = std::make_shared<const ShardMap>(*ShardMap::Create({"a", "b"}, {}));
  ImportService service(loop_, options[0]);
  ASSERT_TRUE(loop_.RunUntil([&] { return service.state() == ImportState::kFailed; }, kAtMost));
  EXPECT_THAT(service.error().ToString(), HasSubstr("is about shard a of the map"));
  std::filesystem::remove_all(folder);
}

// Goal: a tickerplant that has lost rows does not send the bridge back to its beginning, which
// Kafka may have deleted.
TEST_F(MockKafka, LostRowsAreReadAgainFromTheOlderPlace) {
  const auto map = std::make_shared<const ShardMap>(*ShardMap::Create({"a", "b"}, {{"S", "a"}}));
  Writing writing;
  Open(writing);
  constexpr int64_t kRecords = 8, kLost = 2, kOlder = 5;
  for (int64_t i = 0; i < kRecords; ++i) {
    OutgoingBatch batch = Batch(2 * i);  // All in partition 0.
    batch.records[0].payload = wire::EncodeMessage(
        wire::MessageKind::kAsync,
        Value::Table({"sym", "size"}, {Value::Symbols({"S"}), Value::Longs({i})}));
    writing.writer->Put(std::move(batch));
  }
  for (const bool has_shards : {false, true}) {
    SmallTickerplant tickerplant;
    const auto server = wire::Listen(loop_, wire::ListenerOptions(), {}, &tickerplant);
    ASSERT_TRUE(server.ok()) << server.status();
    ImportOptions options = OptionsFor(**server);
    if (has_shards) {
      options.shard = {map, 0, {{"trade", {{"sym", Type::kSymbol}, {"size", Type::kLong}}}}};
    }
    options.start_file = testing::TempDir() + "bridge_older/starts";
    std::filesystem::remove(options.start_file);
    {
      ImportService service(loop_, options);
      ASSERT_TRUE(loop_.RunUntil([&] { return tickerplant.rows.size() == kRecords; }, kAtMost));
      ASSERT_TRUE(loop_.RunUntil([&] { return Stat(service, "rows_waiting") == 0; }, kAtMost));
    }
    StartFile file = *StartFile::Load(options.start_file);
    PartitionStart& start = file.partitions.at({"p.trade", 0});
    ASSERT_GE(start.newest.offset, kRecords);
    start.older = {kOlder, kOlder, has_shards ? kOlder : 0};
    ASSERT_EQ(file.Save(options.start_file), absl::OkStatus());
    tickerplant.Lose(kLost);
    ImportService service(loop_, options);
    ASSERT_TRUE(loop_.RunUntil([&] { return tickerplant.rows.size() == kRecords; }, kAtMost));
    EXPECT_THAT(tickerplant.rows, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
    EXPECT_EQ(Stat(service, "records_written"), kRecords - kOlder);
  }
  std::filesystem::remove_all(testing::TempDir() + "bridge_older");
}

// Goal: what Kafka has deleted unread is an error that says which rows are missing.
TEST_F(MockKafka, RecordsThatWereDeletedUnreadAreAGap) {
  Writing writing;
  Open(writing);
  SmallTickerplant tickerplant;
  const auto server = wire::Listen(loop_, wire::ListenerOptions(), {}, &tickerplant);
  ASSERT_TRUE(server.ok()) << server.status();
  ImportOptions options = OptionsFor(**server);
  options.start_file = testing::TempDir() + "bridge_gap/starts";
  std::filesystem::remove(options.start_file);
  writing.writer->Put(Batch(0));
  {
    ImportService service(loop_, options);
    ASSERT_TRUE(loop_.RunUntil([&] { return tickerplant.rows.size() == 1; }, kAtMost));
    ASSERT_TRUE(loop_.RunUntil([&] { return Stat(service, "rows_waiting") == 0; }, kAtMost));
  }
  // The mock keeps 5 MB of a partition.
  constexpr int64_t kRecords = 12;
  constexpr size_t kRowsOfRecord = 100'000;
  for (int64_t i = 0; i < kRecords; ++i) {
    OutgoingBatch batch = Batch(2 * (i + 1));
    batch.records[0].payload = wire::EncodeMessage(
        wire::MessageKind::kAsync,
        Value::Table({"size"}, {Value::Vector<int64_t>(Type::kLong,
                                                       std::vector<int64_t>(kRowsOfRecord, i))}));
    batch.records[0].first_row = 1 + i * static_cast<int64_t>(kRowsOfRecord);
    batch.records[0].rows = kRowsOfRecord;
    writing.writer->Put(std::move(batch));
  }
  ASSERT_TRUE(loop_.RunUntil([&] { return writing.committed == kRecords + 1; }, kAtMost));
  ImportService service(loop_, options);
  ASSERT_TRUE(loop_.RunUntil([&] { return service.state() == ImportState::kFailed; }, kAtMost));
  EXPECT_THAT(service.error().ToString(), HasSubstr("gap: rows 1 to "));
  EXPECT_THAT(service.error().ToString(), HasSubstr("of trade are not in Kafka"));
  EXPECT_EQ(tickerplant.rows.size(), 1u);
  std::filesystem::remove_all(testing::TempDir() + "bridge_gap");
}

// Goal: a table that the first site has, and this one lacks, is not left out silently.
TEST_F(MockKafka, ATableThatIsMissingHereIsAnError) {
  Writing writing;
  Open(writing);
  writing.writer->Put(Batch(0));
  SmallTickerplant tickerplant;
  const auto server = wire::Listen(loop_, wire::ListenerOptions(), {}, &tickerplant);
  ASSERT_TRUE(server.ok()) << server.status();
  ImportOptions options = OptionsFor(**server);
  options.start_file = testing::TempDir() + "bridge_others/starts";
  std::filesystem::remove(options.start_file);
  const auto error_of = [](const ImportService& service) {
    const Value stats = service.Stats();
    for (size_t i = 0; i < stats.keys().count(); ++i) {
      if (stats.keys().symbols()[i] == "error")
        return std::string(stats.values().items()[i].text());
    }
    return std::string();
  };
  const kafka::KafkaOwned<rd_kafka_t> producer = *kafka::OpenKafka(RD_KAFKA_PRODUCER, options_, {});
  ASSERT_TRUE(loop_.RunUntil([&] { return writing.committed == 1; }, kAtMost));
  for (const char* const key : {"p.quote-value/12", "other.x-value/12"}) {
    ASSERT_EQ(rd_kafka_producev(producer.get(), RD_KAFKA_V_TOPIC("p.schemas"),
                                RD_KAFKA_V_PARTITION(0), RD_KAFKA_V_KEY(key, strlen(key)),
                                RD_KAFKA_V_VALUE(const_cast<char*>("{}"), 2),
                                RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END),
              RD_KAFKA_RESP_ERR_NO_ERROR);
  }
  ASSERT_EQ(rd_kafka_flush(producer.get(), 20'000), RD_KAFKA_RESP_ERR_NO_ERROR);
  {
    ImportService service(loop_, options);
    ASSERT_TRUE(loop_.RunUntil([&] { return !error_of(service).empty(); }, kAtMost));
    EXPECT_THAT(error_of(service), HasSubstr("table quote of prefix p is not copied"));
    EXPECT_TRUE(loop_.RunUntil([&] { return tickerplant.rows.size() == 1; }, kAtMost));
  }
  std::filesystem::remove_all(testing::TempDir() + "bridge_others");
}

TEST_F(MockKafka, ForeignRecordsAreAnErrorByName) {
  const kafka::KafkaOwned<rd_kafka_t> producer = *kafka::OpenKafka(RD_KAFKA_PRODUCER, options_, {});
  char value[] = "x";
  ASSERT_EQ(rd_kafka_producev(producer.get(), RD_KAFKA_V_TOPIC("p.trade"), RD_KAFKA_V_PARTITION(1),
                              RD_KAFKA_V_VALUE(value, 1), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                              RD_KAFKA_V_END),
            RD_KAFKA_RESP_ERR_NO_ERROR);
  ASSERT_EQ(rd_kafka_flush(producer.get(), 20'000), RD_KAFKA_RESP_ERR_NO_ERROR);
  SmallTickerplant tickerplant;
  const auto server = wire::Listen(loop_, wire::ListenerOptions(), {}, &tickerplant);
  ASSERT_TRUE(server.ok()) << server.status();
  ImportOptions options = OptionsFor(**server);
  options.start_file = testing::TempDir() + "bridge_foreign/starts";
  std::filesystem::remove(options.start_file);
  ImportService service(loop_, options);
  ASSERT_TRUE(loop_.RunUntil([&] { return service.state() == ImportState::kFailed; }, kAtMost));
  EXPECT_THAT(service.error().ToString(), HasSubstr("p.trade partition 1 offset 0: no headers"));
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
  file.partitions[{"p.trade", 0}] = {
      .start = 5, .base = 17, .newest = {9, 40, 0}, .older = {7, 30, 0}};
  file.partitions[{"p.trade", 1}] = {.start = 5, .base = std::nullopt};
  ASSERT_EQ(file.Save(path), absl::OkStatus());
  const absl::StatusOr<StartFile> loaded = StartFile::Load(path);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->cluster, "c");
  EXPECT_EQ(loaded->partitions, file.partitions);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 2);
  EXPECT_THAT(StartFile::Load(path).status().ToString(), HasSubstr("b.starts:3"));

  file.shard = {"b", "0123456789abcdef"};
  file.map_number = 3;
  file.partitions[{"p.trade", 0}].newest.count = 12;
  ASSERT_EQ(file.Save(path), absl::OkStatus());
  const absl::StatusOr<StartFile> of_shard = StartFile::Load(path);
  ASSERT_TRUE(of_shard.ok()) << of_shard.status();
  EXPECT_EQ(of_shard->shard, file.shard);
  EXPECT_EQ(of_shard->map_number, 3);
  EXPECT_EQ(of_shard->partitions, file.partitions);

  std::ofstream(path) << "cluster c\np.trade 0 5 17 9 40\n";  // As it was before there were shards.
  const absl::StatusOr<StartFile> before = StartFile::Load(path);
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_EQ(before->partitions.begin()->second.newest, (Place{9, 40, 0}));
  std::filesystem::remove_all(folder);
}

// Goal: no row is published twice because the map of shards has changed.
TEST(StartFile, AnotherMapNeedsAPlaceToBegin) {
  const std::string folder = testing::TempDir() + "bridge_maps";
  std::filesystem::remove_all(folder);
  const ShardId none, a{"a", "1111111111111111"}, b{"b", a.map}, later{"a", "2222222222222222"};
  const auto enter = [&](const std::string& name, const ShardId& own, bool says_where,
                         std::string prefix = "p") {
    const std::string path = fmt::format("{}/{}.starts", folder, name);
    StartFile file = *StartFile::Load(path);
    const absl::Status entered = file.EnterMap(path, prefix, own, says_where);
    if (!entered.ok()) return std::string(Message(entered));
    file.partitions[{prefix + ".trade", 0}] = {.start = 0, .base = 0};
    EXPECT_EQ(file.Save(path), absl::OkStatus());
    return fmt::format("{}", file.map_number);
  };
  EXPECT_EQ(enter("in", none, false), "0");
  EXPECT_EQ(enter("other", a, false, "p.q"), "0");  // Another prefix.
  // The first shards.
  EXPECT_THAT(enter("in-a", a, false), HasSubstr("in.starts has read prefix p as no shard"));
  EXPECT_EQ(enter("in-a", a, true), "1");
  EXPECT_EQ(enter("in-b", b, true), "1");
  EXPECT_EQ(enter("in-a", a, false), "1");  // A restart.
  EXPECT_THAT(enter("in-a", b, true), HasSubstr("in-a.starts is about shard a"));
  // Another map, also for a shard that is new.
  EXPECT_THAT(enter("in-a", later, true), HasSubstr("is about shard a of the map 1111"));
  EXPECT_THAT(enter("in-c", {"c", later.map}, false), HasSubstr("so it would publish rows again"));
  EXPECT_EQ(enter("in2-a", later, true), "2");
  // Nobody goes back.
  EXPECT_THAT(enter("in-b", b, true),
              HasSubstr("in2-a.starts has read prefix p since, as shard a"));
  EXPECT_THAT(enter("in", none, true), HasSubstr("in2-a.starts has read prefix p since"));
  EXPECT_EQ(enter("in3", none, true), "3");
  EXPECT_EQ(enter("in3", none, false), "3");
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
  EXPECT_THAT(error([](auto& o) { o.tables = {"trade", "schemas"}; }),
              HasSubstr("schemas is a topic of the bridge itself"));
  EXPECT_THAT(error([](auto& o) { o.payload = "csv"; }), HasSubstr("payload csv"));
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
