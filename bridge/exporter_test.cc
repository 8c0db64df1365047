#include "bridge/exporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "bridge/payload.h"
#include "bridge/schema_record.h"
#include "kafka/kafka_client.h"
#include "wire/codec.h"

namespace tickstack::bridge {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const Schema kTrade = {"trade",
                       {{"time", Type::kTimestamp},
                        {"sym", Type::kSymbol},
                        {"size", Type::kLong},
                        {"note", Type::kList}},
                       0};
constexpr int32_t kPartitions = 4;
const char* const kSymbols[] = {"AIG", "BAC", "IBM", "MSFT", "T"};

std::string SymbolOf(int64_t number) { return kSymbols[number % 5]; }

Value RowsOf(int64_t from, int64_t count) {
  std::vector<int64_t> times, sizes;
  SymbolVector names;
  std::vector<Value> notes;
  for (int64_t number = from; number < from + count; ++number) {
    times.push_back(number * 1000);
    sizes.push_back(number);
    names.push_back(SymbolOf(number));
    notes.push_back(Value::String(std::to_string(number)));
  }
  return Value::List({Value::Vector(Type::kTimestamp, std::span<const int64_t>(times)),
                      Value::Symbols(std::move(names)),
                      Value::Vector(Type::kLong, std::span<const int64_t>(sizes)),
                      Value::List(std::move(notes))});
}

ByteBuffer Bytes(const Value& value) {
  ByteBuffer bytes;
  wire::Encode(value, bytes);
  return bytes;
}
ByteBuffer Logged(int64_t from, int64_t count) {
  return Bytes(Value::List({Value::Symbol("upd"), Value::Symbol("trade"), RowsOf(from, count)}));
}
ByteBuffer Published(int64_t from, int64_t count, int64_t seq) {
  return Bytes(Value::List(
      {Value::Symbol("upd"), Value::Symbol("trade"), RowsOf(from, count), Value::Long(seq)}));
}

// What a consumer of the topic has: the sizes of the rows, by partition.
class Topic {
 public:
  void Take(const OutgoingBatch& batch) {
    for (const OutgoingRecord& record : batch.records) {
      std::vector<int64_t>& rows = rows_[static_cast<size_t>(record.partition)];
      EXPECT_EQ(record.first_row, static_cast<int64_t>(rows.size()));
      if (record.ended_day) {
        ++ends;
        continue;
      }
      const auto body = BodyOf(record.payload);
      ASSERT_TRUE(body.ok());
      const absl::StatusOr<Value> table = wire::Decode(*body);
      ASSERT_TRUE(table.ok() && table->is_table());
      EXPECT_EQ(table->count(), record.rows);
      for (size_t i = 0; i < table->count(); ++i) {
        const int64_t size = table->FindColumn("size")->span<int64_t>()[i];
        EXPECT_EQ(table->FindColumn("sym")->symbols()[i], SymbolOf(size));
        EXPECT_EQ(table->FindColumn("note")->items()[i].text(), std::to_string(size));
        EXPECT_EQ(record.partition, kafka::PartitionOf(SymbolOf(size), kPartitions));
        rows.push_back(size);
      }
    }
  }
  // Returns the rows of a symbol.
  std::vector<int64_t> Of(std::string_view symbol) const {
    std::vector<int64_t> found;
    for (const std::vector<int64_t>& rows : rows_) {
      for (const int64_t row : rows) {
        if (SymbolOf(row) == symbol) found.push_back(row);
      }
    }
    return found;
  }
  int ends = 0;

 private:
  std::vector<std::vector<int64_t>> rows_ = std::vector<std::vector<int64_t>>(kPartitions);
};

class ExporterTest : public testing::Test {
 protected:
  ExporterTest() { Begin(StreamState()); }

  void Begin(StreamState state) {
    EXPECT_EQ(exporter_.Begin(std::move(state), {{"trade", kPartitions}}, {kTrade}, "log1"),
              absl::OkStatus());
  }
  // What a subscriber does when it enters a log.
  void Enter(const std::string& path, std::optional<uint32_t> crc, uint32_t cuts = 0) {
    exporter_.StartOver();
    exporter_.SetLog({path, crc, cuts});
  }
  void Commit() {
    while (exporter_.has_batch()) {
      OutgoingBatch batch = exporter_.TakeBatch();
      committed_ = batch.after;
      topic_.Take(batch);
    }
  }
  void ExpectRows(int64_t count) {
    for (const char* const symbol : kSymbols) {
      std::vector<int64_t> expected;
      for (int64_t row = 0; row < count; ++row) {
        if (SymbolOf(row) == symbol) expected.push_back(row);
      }
      EXPECT_EQ(topic_.Of(symbol), expected) << symbol;
    }
  }
  // Loads what was committed, as another process would.
  StreamState Reloaded() {
    ByteBuffer record;
    SaveState(committed_, record);
    absl::StatusOr<StreamState> loaded = LoadState(record);
    EXPECT_TRUE(loaded.ok());
    return loaded.value_or(StreamState());
  }

  Exporter exporter_{Exporter::Options()};
  Topic topic_;
  StreamState committed_;
};

TEST_F(ExporterTest, RowsOfASymbolKeepTheirOrder) {
  Enter("log1", 7);
  exporter_.OnLogged(Logged(0, 10));
  EXPECT_TRUE(exporter_.position().OnCaughtUp(1));
  EXPECT_EQ(exporter_.OnLive(Published(10, 20, 3)), tplog::LiveOutcome::kTaken);
  Commit();
  exporter_.OnLive(Published(30, 5, 4));
  Commit();
  ExpectRows(35);
  EXPECT_EQ(committed_.tables["trade"].rows_of_log, 35);
}

TEST_F(ExporterTest, RowsWaitUntilTheLogIsIdentified) {
  Enter("log1", std::nullopt);
  EXPECT_TRUE(exporter_.position().OnCaughtUp(0));
  exporter_.OnLive(Published(0, 5, 1));
  EXPECT_FALSE(exporter_.has_batch());
  exporter_.SetLog({"log1", 7, 0});
  EXPECT_TRUE(exporter_.has_batch());
  Commit();
  ExpectRows(5);
}

// The answer that identifies the log comes after the rows that were sent before it. A full exporter
// that stopped reading then would wait for ever.
TEST(Exporter, ReadsOnUntilTheLogIsIdentified) {
  Exporter exporter({.tables = {}, .record_bytes = 1000, .batch_bytes = 100});
  const NameMap<int32_t> partitions = {{"trade", kPartitions}};
  ASSERT_EQ(exporter.Begin(StreamState(), partitions, {kTrade}, "log1"), absl::OkStatus());
  for (const std::string path : {"log1", "log2"}) {
    exporter.SetLog({path, std::nullopt, 0});
    exporter.OnLive(Published(0, 100, 1));
    EXPECT_GT(exporter.waiting_bytes(), 200U);
    EXPECT_TRUE(exporter.HasRoom()) << path;
    exporter.SetLog({path, 7, 0});
    EXPECT_FALSE(exporter.HasRoom()) << path;
    while (exporter.has_batch()) exporter.TakeBatch();
    EXPECT_TRUE(exporter.HasRoom()) << path;
    exporter.EndLog(0);
    while (exporter.has_batch()) exporter.TakeBatch();
  }
}

TEST_F(ExporterTest, AnotherProcessResumesInTheMiddleOfAPublication) {
  Enter("log1", 7);
  EXPECT_TRUE(exporter_.position().OnCaughtUp(0));
  exporter_.OnLive(Published(0, 5, 4));  // The publication covers 4 messages and has 12 rows.
  Commit();
  exporter_.OnLive(Published(5, 4, 4));  // These are never committed.
  Begin(Reloaded());
  EXPECT_EQ(exporter_.position().seq(), 0U);
  // The log divides the rows differently.
  exporter_.OnLogged(Logged(0, 3));
  exporter_.OnLogged(Logged(3, 6));
  exporter_.OnLogged(Logged(9, 1));
  exporter_.OnLogged(Logged(10, 2));
  EXPECT_TRUE(exporter_.position().OnCaughtUp(4));
  Commit();
  ExpectRows(12);
}

TEST_F(ExporterTest, TheSameLogReadFromItsBeginningAddsNothing) {
  Enter("log1", 7);
  exporter_.OnLogged(Logged(0, 8));
  Commit();
  exporter_.OnLogged(Logged(8, 8));  // Not committed, and dropped.
  Enter("log1", 7);
  exporter_.OnLogged(Logged(0, 8));
  exporter_.OnLogged(Logged(8, 8));
  EXPECT_TRUE(exporter_.position().OnCaughtUp(2));
  Commit();
  ExpectRows(16);
  EXPECT_EQ(exporter_.counters().rows_skipped, 8U);
}

TEST_F(ExporterTest, ADayEndsWithAControlRecordInEachPartition) {
  Enter("log1", 7);
  EXPECT_TRUE(exporter_.position().OnCaughtUp(0));
  exporter_.OnLive(Published(0, 6, 1));
  EXPECT_EQ(exporter_.OnLive(Bytes(Value::List({Value::Symbol(".u.end"), Value::Date(5028)}))),
            tplog::LiveOutcome::kDayEnded);
  exporter_.OnLive(Published(6, 3, 1));
  Commit();
  EXPECT_EQ(topic_.ends, kPartitions);
  ExpectRows(6);  // The next log is not identified.
  EXPECT_TRUE(committed_.log_ended);
  exporter_.SetLog({"log2", std::nullopt, 0});
  exporter_.SetLog({"log2", 8, 0});
  Commit();
  ExpectRows(9);
  EXPECT_FALSE(exporter_.needs_restart());
}

TEST_F(ExporterTest, AnotherLogNeedsARestart) {
  Enter("log1", 7);
  exporter_.OnLogged(Logged(0, 8));
  Commit();
  Enter("log2", 9);
  EXPECT_TRUE(exporter_.needs_restart());
  exporter_.OnLogged(Logged(0, 8));
  EXPECT_FALSE(exporter_.has_batch());
}

TEST_F(ExporterTest, TheSameLogAtAnotherPathContinues) {
  exporter_.ExpectLog("/one/sym2013.10.07");
  Enter("/one/sym2013.10.07", 7);
  exporter_.OnLogged(Logged(0, 8));
  Commit();
  EXPECT_EQ(Reloaded().known, exporter_.known_message());
  exporter_.SetLog({"/other/sym2013.10.07", 7, 0});
  EXPECT_FALSE(exporter_.needs_restart());
  exporter_.OnLogged(Logged(8, 8));
  Commit();
  ExpectRows(16);
  EXPECT_EQ(committed_.log.path, "/other/sym2013.10.07");
  // Read again from its beginning, as after a lost connection within a publication.
  exporter_.StartOver();
  exporter_.SetLog({"/one/sym2013.10.07", 7, 0});
  exporter_.OnLogged(Logged(0, 8));
  exporter_.OnLogged(Logged(8, 8));
  EXPECT_FALSE(exporter_.has_batch());
  EXPECT_EQ(exporter_.error(), absl::OkStatus());
  for (const char* const path : {"/one/sym2013.10.08", "/one/sym"}) {
    exporter_.SetLog({path, 7, 0});
    EXPECT_TRUE(exporter_.needs_restart());
    Begin(Reloaded());
  }
}

TEST_F(ExporterTest, AnotherMessageInAPlaceThatIsWrittenIsAnError) {
  Enter("log1", 7);
  exporter_.OnLogged(Logged(0, 8));
  exporter_.OnLogged(Logged(8, 8));
  Commit();
  Enter("log1", 7);
  exporter_.OnLogged(Logged(0, 8));
  EXPECT_EQ(exporter_.error(), absl::OkStatus());
  exporter_.OnLogged(Logged(7, 8));
  EXPECT_THAT(exporter_.error().ToString(), HasSubstr("log1: message 1 is another one"));
}

TEST_F(ExporterTest, APowerCutThatRemovedWrittenRowsIsAnError) {
  Enter("log1", 7);
  exporter_.OnLogged(Logged(0, 8));
  Commit();
  Enter("log1", 7, 1);
  EXPECT_THAT(exporter_.error().ToString(), HasSubstr("power cut"));
  exporter_.OnLogged(Logged(0, 8));
  EXPECT_FALSE(exporter_.has_batch());
}

TEST_F(ExporterTest, ATickerplantWithoutNumbersIsAnError) {
  Enter("log1", 7);
  EXPECT_TRUE(exporter_.position().OnCaughtUp(0));
  exporter_.OnLive(Logged(0, 3));
  EXPECT_THAT(exporter_.error().ToString(), HasSubstr("does not number"));
}

TEST_F(ExporterTest, OtherPartitionsAreAnError) {
  Enter("log1", 7);
  exporter_.OnLogged(Logged(0, 8));
  Commit();
  const absl::Status begun = exporter_.Begin(Reloaded(), {{"trade", 5}}, {kTrade}, "log1");
  EXPECT_THAT(begun.ToString(), HasSubstr("5 partitions"));
}

TEST_F(ExporterTest, WrongBytesAreRefusedAndCounted) {
  Enter("log1", 7);
  exporter_.OnLogged(Bytes(Value::List(
      {Value::Symbol("upd"), Value::Symbol("trade"), Value::List({Value::Longs({1})})})));
  EXPECT_EQ(exporter_.counters().upds_refused, 1U);
  EXPECT_EQ(exporter_.position().seq(), 1U);
  EXPECT_FALSE(exporter_.has_batch());
}

TEST(StreamState, DamagedBytesAreAnError) {
  StreamState state;
  state.writer = "x";
  state.tables["trade"] = {5, {1, 2}};
  ByteBuffer record;
  SaveState(state, record);
  ASSERT_TRUE(LoadState(record).ok());
  EXPECT_EQ(LoadState(record)->tables, state.tables);
  for (size_t bytes = 0; bytes < record.size(); ++bytes) {
    EXPECT_FALSE(LoadState(record.span().first(bytes)).ok()) << bytes;
  }
}

// Goal: a bridge of the version before continues.
TEST(StreamState, AStateOfVersion1IsRead) {
  StreamState state;
  state.batch = 3;
  state.log = {"log1", 7, 0};
  state.known = {5, 6};
  ByteBuffer record, before;
  SaveState(state, record);
  EXPECT_EQ(LoadState(record)->known, state.known);
  // Without a message, which is at the end of a state without tables.
  constexpr size_t kMessageBytes = 1 + 8 + 4;
  before.AppendLittle(uint8_t{1});
  before.Append(record.span().subspan(1, record.size() - 1 - kMessageBytes));
  const absl::StatusOr<StreamState> loaded = LoadState(before);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->log, state.log);
  EXPECT_EQ(loaded->batch, 3);
  EXPECT_FALSE(loaded->known);
}

// Values of the Java client's Utils.murmur2, with the sign bit cleared.
TEST(PartitionOf, IsThatOfKafkasJavaProducer) {
  constexpr int32_t kAll = INT32_MAX;
  const auto expected = [](int32_t hash) { return (hash & 0x7fffffff) % kAll; };
  EXPECT_EQ(kafka::PartitionOf("21", kAll), expected(-973932308));
  EXPECT_EQ(kafka::PartitionOf("foobar", kAll), expected(-790332482));
  EXPECT_EQ(kafka::PartitionOf("a-little-bit-long-string", kAll), expected(-985981536));
  EXPECT_EQ(kafka::PartitionOf("a-little-bit-longer-string", kAll), expected(-1486304829));
  EXPECT_EQ(kafka::PartitionOf("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", kAll),
            expected(-58897971));
}

int32_t First(std::string_view) { return 0; }

TEST(PartitionedRows, RecordsAreCompleteAtTheirSize) {
  PartitionedRows rows(kTrade, -1, 1, First, 1000);
  ByteBuffer longs;
  for (int64_t i = 0; i < 20'000; ++i) longs.AppendLittle(i);
  ByteBuffer names, notes;
  for (int i = 0; i < 20'000; ++i) {
    names.Append(std::string_view("IBM\0", 4));
    notes.Append(Bytes(Value::String("n")).span());
  }
  const std::vector<ColumnView> columns = {
      {.type = Type::kTimestamp, .rows = 20'000, .data = longs},
      {.type = Type::kSymbol, .rows = 20'000, .data = names},
      {.type = Type::kLong, .rows = 20'000, .data = longs},
      {.type = Type::kList, .rows = 20'000, .data = notes}};
  ASSERT_EQ(rows.Add({columns, 20'000}), absl::OkStatus());
  size_t total = 0;
  for (const PartitionRecord& record : rows.Take()) {
    EXPECT_LT(record.payload.size(), size_t{200'000});
    total += record.rows;
  }
  EXPECT_EQ(total, 20'000U);
  EXPECT_EQ(rows.bytes(), 0U);
  EXPECT_THAT(rows.Take(), IsEmpty());
}

TEST(PartitionedRows, ABatchWithTooFewBytesAddsNothing) {
  PartitionedRows rows(kTrade, 1, 2, First, 1000);
  ByteBuffer longs;
  longs.AppendLittle(int64_t{1});
  ByteBuffer name;
  name.Append(std::string_view("IBM"));  // Without its NUL.
  const std::vector<ColumnView> columns = {{.type = Type::kTimestamp, .rows = 1, .data = longs},
                                           {.type = Type::kSymbol, .rows = 1, .data = name},
                                           {.type = Type::kLong, .rows = 1, .data = longs},
                                           {.type = Type::kList, .rows = 1, .data = longs}};
  EXPECT_FALSE(rows.Add({columns, 1}).ok());
  EXPECT_THAT(rows.Take(), IsEmpty());
}

TEST(SchemaHash, DependsOnNamesAndTypes) {
  Schema other = kTrade;
  EXPECT_EQ(SchemaHash(kTrade), SchemaHash(other));
  EXPECT_EQ(SchemaHash(kTrade).size(), 16U);
  other.columns[2].type = Type::kInt;
  EXPECT_NE(SchemaHash(kTrade), SchemaHash(other));
}

TEST(SchemaRecord, TellsAConsumerTheColumns) {
  const SchemaRecord record = SchemaRecordOf("site-a.trade", kTrade);
  EXPECT_EQ(record.key, "site-a.trade-value/" + SchemaHash(kTrade));
  EXPECT_EQ(SubjectOf(record.key), "site-a.trade-value");
  EXPECT_EQ(SubjectOf("x"), "x");
  EXPECT_THAT(record.value,
              HasSubstr(R"("table":"trade","key_columns":0,"columns":[{"name":"time","type":"p"},)"
                        R"({"name":"sym","type":"s"},{"name":"size","type":"j"},)"
                        R"({"name":"note","type":"*"}],"avro":{"type":"record",)"));
}

TEST(Payload, IsConvertedOrAnErrorByName) {
  ByteBuffer ipc = wire::EncodeMessage(
      wire::MessageKind::kAsync,
      Value::Table({"sym", "size"}, {Value::Symbols({"A"}), Value::Longs({5})}));
  const absl::StatusOr<ByteBuffer> json = ConvertPayload("trade", ipc, Payload::kJson);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(AsText(*json), R"([{"sym":"A","size":5}])");
  EXPECT_TRUE(ConvertPayload("trade", ipc, Payload::kArrow).ok());
  const absl::StatusOr<ByteBuffer> avro = ConvertPayload("trade", ipc, Payload::kAvro);
  ASSERT_TRUE(avro.ok());
  EXPECT_THAT(AsText(*avro), HasSubstr(R"("name":"trade")"));
  ipc = wire::EncodeMessage(wire::MessageKind::kAsync,
                            Value::Table({"levels"}, {Value::List({Value::Longs({1, 2})})}));
  for (const Payload payload : {Payload::kArrow, Payload::kAvro}) {
    EXPECT_THAT(ConvertPayload("trade", ipc, payload).status().ToString(),
                HasSubstr(fmt::format("table trade, payload {}: column levels has lists",
                                      NameOf(payload))));
  }
  EXPECT_FALSE(BodyOf(ipc.span().first(7)).ok());
  EXPECT_FALSE(BodyOf(ipc.span().first(ipc.size() - 1)).ok());
  EXPECT_FALSE(ParsePayload("csv").ok());
}

}  // namespace
}  // namespace tickstack::bridge
