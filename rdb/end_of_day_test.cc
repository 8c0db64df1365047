#include "rdb/end_of_day.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "base/worker_pool.h"
#include "disk/database.h"
#include "disk/database_check.h"
#include "disk/partition_migration.h"
#include "disk/partition_testing.h"
#include "table/value.h"
#include "tplog/tplog_writer.h"
#include "wire/codec.h"
#include "wire/listener_options.h"

namespace tickstack::rdb {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int32_t kDate = 8794;  // 2024.01.29
constexpr int64_t kWait = 60 * kNsPerSecond;

ByteBuffer Body(const Value& value) {
  ByteBuffer body;
  wire::Encode(value, body);
  return body;
}

// Returns (`upd; `trade; columns) with the rows of these numbers, alternately of two symbols.
ByteBuffer Upd(int64_t first, int64_t rows) {
  SymbolVector names;
  std::vector<int64_t> times, numbers;
  for (int64_t i = first; i < first + rows; ++i) {
    names.push_back(i % 2 == 0 ? "IBM" : "AIG");
    times.push_back(i);
    numbers.push_back(i);
  }
  return Body(
      Value::List({Value::Symbol("upd"), Value::Symbol("trade"),
                   Value::List({Value::Vector(Type::kTimestamp, std::span<const int64_t>(times)),
                                Value::Symbols(names),
                                Value::Vector(Type::kLong, std::span<const int64_t>(numbers))})}));
}

ByteBuffer End(int32_t date) {
  return Body(Value::List({Value::Symbol(".u.end"), Value::Date(date)}));
}

std::vector<Schema> Schemas() {
  return {*ParseSchema("trade", "time p, sym s, size j"), *ParseSchema("quote", "time p, sym s")};
}

// The logs that a tickerplant leaves behind: one for each day, its messages back to back.
class Logs {
 public:
  explicit Logs(std::string folder) : folder_(std::move(folder)) {
    std::filesystem::create_directories(folder_);
  }
  std::string PathOf(int32_t date) const { return folder_ + "/sym" + FormatDate(date); }
  void Write(int32_t date, const std::vector<ByteBuffer>& bodies) {
    std::string bytes("\xff\x01\0\0\0\0\0\0", 8);
    for (const ByteBuffer& body : bodies) bytes += AsText(body);
    disk::PutFile(PathOf(date), bytes);
  }
  // Writes a day of one upd.
  void WriteDay(int32_t date, int64_t first, int64_t rows) {
    std::vector<ByteBuffer> bodies;
    bodies.push_back(Upd(first, rows));
    Write(date, bodies);
  }

 private:
  const std::string folder_;
};

// An RDB with an end of day, to which the test gives messages.
class Stack {
 public:
  explicit Stack(const EndOfDayOptions& options, size_t capacity_bytes = SIZE_MAX,
                 const std::vector<Schema>& schemas = Schemas())
      : tier_(mem::MakeDramTier("dram", capacity_bytes)),
        rdb_({}, Placement(tier_.get()), &SystemClock::Instance()) {
    rdb_.OnSchemas(schemas);
    end_of_day_ = std::make_unique<EndOfDay>(options, &rdb_);
    rdb_.KeepDays(end_of_day_.get());
  }

  Rdb& rdb() { return rdb_; }
  void Take(const ByteBuffer& message) { rdb_.OnLive(message); }
  void GoLive(const std::string& log) {
    rdb_.SetLog({log, std::nullopt});
    rdb_.OnReplayDone();
  }
  bool Finish(int64_t at_most_ns = kWait) { return end_of_day_->WaitUntilIdle(at_most_ns); }
  void Begin() { end_of_day_->Begin(); }
  // Stops as a process that is told to end, or as one that was killed.
  void Stop() { end_of_day_ = nullptr; }
  size_t Rows() { return rdb_.FindTable("trade")->rows(); }

 private:
  std::unique_ptr<mem::Tier> tier_;
  Rdb rdb_;
  std::unique_ptr<EndOfDay> end_of_day_;
};

bool Until(absl::FunctionRef<bool()> condition) {
  const int64_t deadline_ns = MonotonicNs() + kWait;
  while (!condition()) {
    if (MonotonicNs() > deadline_ns) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

class EndOfDayTest : public testing::Test {
 protected:
  EndOfDayTest() {
    options_.database = folder_ / "hdb";
    options_.retry_ns = 1'000'000;
    options_.threads = 2;
  }
  std::string PartitionOf(int32_t date) const { return folder_ / "hdb/" + FormatDate(date); }
  std::vector<int64_t> Written(int32_t date) const {
    std::vector<int64_t> sizes = disk::FixedColumn<int64_t>(PartitionOf(date) + "/trade/size");
    std::ranges::sort(sizes);
    return sizes;
  }
  // Writes a past day of ten rows, and today.
  Logs LogsOfOnePastDay() const {
    Logs logs(folder_ / "tplog");
    logs.WriteDay(kDate, 0, 10);
    logs.Write(kDate + 1, {});
    return logs;
  }
  // Writes days of ten rows each, the last of them today.
  Logs LogsOfDays(int32_t days) const {
    Logs logs(folder_ / "tplog");
    for (int32_t date = kDate; date < kDate + days; ++date) logs.WriteDay(date, date * 100, 10);
    return logs;
  }
  static std::vector<int64_t> Numbers(int64_t begin, int64_t end) {
    std::vector<int64_t> numbers;
    for (int64_t i = begin; i < end; ++i) numbers.push_back(i);
    return numbers;
  }

  disk::TemporaryFolder folder_;
  EndOfDayOptions options_;
};

TEST_F(EndOfDayTest, WritesTheDayAndGoesOnWithTheNext) {
  Stack stack(options_);
  stack.Take(Upd(0, 10));
  stack.Take(End(kDate));
  stack.Take(Upd(100, 5));
  ASSERT_TRUE(stack.Finish());
  EXPECT_EQ(Written(kDate), Numbers(0, 10));
  EXPECT_EQ(stack.Rows(), 5u);
  EXPECT_EQ(stack.rdb().days_kept(), 0u);
  EXPECT_EQ(stack.rdb().counters().days_written, 1u);
  EXPECT_EQ(stack.rdb().counters().day_errors, 0u);
  // A table without rows is there too, and so is a day without any.
  EXPECT_EQ(disk::FixedColumn<int64_t>(PartitionOf(kDate) + "/quote/time").size(), 0u);
  stack.Take(End(kDate + 1));
  stack.Take(End(kDate + 2));
  ASSERT_TRUE(stack.Finish());
  EXPECT_EQ(Written(kDate + 1), Numbers(100, 105));
  EXPECT_THAT(Written(kDate + 2), IsEmpty());
}

// Goal: a successor leaves the day to the process before it, and then finds that it is written.
TEST_F(EndOfDayTest, WritesNothingBeforeItBegins) {
  Stack before(options_);
  options_.waits = true;
  Stack successor(options_);
  for (Stack* const stack : {&successor, &before}) {
    stack->Take(Upd(0, 10));
    stack->Take(End(kDate));
  }
  ASSERT_TRUE(before.Finish());
  EXPECT_EQ(successor.rdb().days_kept(), 1u);
  successor.Begin();
  ASSERT_TRUE(successor.Finish());
  EXPECT_EQ(successor.rdb().days_kept(), 0u);
  EXPECT_EQ(before.rdb().counters().days_written, 1u);
  EXPECT_EQ(successor.rdb().counters().days_written, 0u);
  EXPECT_EQ(Written(kDate), Numbers(0, 10));
}

// An observer that refuses steps while it is told to.
class Refusing : public disk::StorageObserver {
 public:
  absl::Status Before(disk::StorageStep step, const std::string& path, size_t) override {
    if (!refuse || step == disk::StorageStep::kRemove) return absl::OkStatus();
    ++refused;
    return ResourceExhausted("{}: write: No space left on device", path);
  }
  std::atomic<bool> refuse = true;
  std::atomic<int> refused = 0;
};

TEST_F(EndOfDayTest, KeepsTheDayVisibleUntilAFullDiskHasRoom) {
  Refusing disk;
  options_.observer = &disk;
  Stack stack(options_);
  stack.Take(Upd(0, 10));
  stack.Take(End(kDate));
  stack.Take(Upd(100, 5));
  while (disk.refused < 3) std::this_thread::yield();
  EXPECT_EQ(stack.Rows(), 15u);
  EXPECT_EQ(stack.rdb().days_kept(), 1u);
  EXPECT_FALSE(std::filesystem::exists(PartitionOf(kDate)));
  disk.refuse = false;
  ASSERT_TRUE(stack.Finish());
  EXPECT_EQ(Written(kDate), Numbers(0, 10));
  EXPECT_EQ(stack.Rows(), 5u);
  EXPECT_GE(stack.rdb().counters().day_errors, 3u);
}

// An hdb that counts its requests.
class FakeHdb : public wire::ServerHandler {
 public:
  explicit FakeHdb(uint16_t port = 0) {
    wire::ListenerOptions listener;
    listener.port = port;
    server_ = *wire::Listen(loop_, listener, {}, this);
    thread_ = std::thread([this] { loop_.Run(); });
  }
  ~FakeHdb() override {
    loop_.Stop();
    thread_.join();
  }
  void OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) override {
    const absl::StatusOr<Value> asked = wire::Decode(message.body);
    reloads += asked.ok() && asked->is(Type::kChar) && asked->text() == "\\l ." ? 1 : 0;
    const wire::ReplyTicket ticket = connection.TakeTicket();
    if (fail) {
      connection.ReplyError(ticket, "no");
    } else {
      connection.Reply(ticket, Value());
    }
  }
  void OnClosed(wire::Connection&, const absl::Status&) override {}
  uint16_t port() const { return server_->port(); }
  std::atomic<int> reloads = 0;
  std::atomic<bool> fail = false;

 private:
  wire::EventLoop loop_;
  std::unique_ptr<wire::Server> server_;
  std::thread thread_;
};

TEST_F(EndOfDayTest, DropsTheDayOnlyWhenTheHdbSaidThatItHasIt) {
  FakeHdb hdb;
  hdb.fail = true;
  options_.hdb = fmt::format("127.0.0.1:{}", hdb.port());
  Stack stack(options_);
  stack.Take(Upd(0, 10));
  stack.Take(End(kDate));
  while (hdb.reloads < 2) std::this_thread::yield();
  EXPECT_EQ(Written(kDate), Numbers(0, 10));
  EXPECT_EQ(stack.Rows(), 10u);
  hdb.fail = false;
  ASSERT_TRUE(stack.Finish());
  EXPECT_EQ(stack.Rows(), 0u);
}

TEST_F(EndOfDayTest, WritesPastDaysFromTheirLogsInOrderAndNoneTwice) {
  Logs logs(folder_ / "tplog");
  std::vector<ByteBuffer> first, second, today;
  first.push_back(Upd(0, 10));
  second.push_back(Upd(20, 5));
  second.push_back(Upd(30, 5));
  today.push_back(Upd(40, 5));
  logs.Write(kDate, first);
  logs.Write(kDate + 1, second);
  logs.Write(kDate + 2, today);
  {
    Stack stack(options_);
    stack.GoLive(logs.PathOf(kDate + 2));
    ASSERT_TRUE(stack.Finish());
    EXPECT_EQ(stack.rdb().counters().days_written, 2u);
  }
  EXPECT_EQ(Written(kDate), Numbers(0, 10));
  EXPECT_EQ(Written(kDate + 1).size(), 10u);
  EXPECT_FALSE(std::filesystem::exists(PartitionOf(kDate + 2)));
  EXPECT_THAT(disk::Names(folder_ / "hdb/sym"), ElementsAre("IBM", "AIG"));
  Stack again(options_);
  again.GoLive(logs.PathOf(kDate + 2));
  ASSERT_TRUE(again.Finish());
  EXPECT_EQ(again.rdb().counters().days_written, 0u);
  EXPECT_EQ(again.rdb().counters().day_errors, 0u);
}

TEST_F(EndOfDayTest, LeavesADamagedLogToAPersonAndGoesOnWithTheNextDay) {
  Logs logs(folder_ / "tplog");
  logs.WriteDay(kDate + 1, 0, 10);
  logs.Write(kDate + 2, {});
  disk::PutFile(logs.PathOf(kDate), "this is no log");
  Stack stack(options_);
  stack.GoLive(logs.PathOf(kDate + 2));
  ASSERT_TRUE(stack.Finish());
  EXPECT_FALSE(std::filesystem::exists(PartitionOf(kDate)));
  EXPECT_EQ(Written(kDate + 1), Numbers(0, 10));
  EXPECT_EQ(stack.rdb().counters().day_errors, 1u);
  // A gateway would take a day that nobody claims for one without rows.
  EXPECT_THAT(stack.rdb().Days(), ElementsAre(kDate, kDate + 2));
  Stack again(options_);
  again.rdb().SetLog({logs.PathOf(kDate + 2), std::nullopt});
  EXPECT_THAT(again.rdb().Days(), ElementsAre(kDate, kDate + 1, kDate + 2))
      << "the newest one may not be loaded";
  again.rdb().OnReplayDone();
  ASSERT_TRUE(again.Finish());
  EXPECT_THAT(again.rdb().Days(), ElementsAre(kDate, kDate + 2));
  logs.WriteDay(kDate, 100, 10);
  ASSERT_TRUE(Until([&] { return again.rdb().Days() == std::vector<int32_t>{kDate + 2}; }));
  EXPECT_EQ(Written(kDate), Numbers(100, 110));
}

// Goal: a day that no further try could write stays in memory, visible, until a person has helped.
TEST_F(EndOfDayTest, KeepsADayWhoseDatabaseIsNotUsable) {
  std::filesystem::create_directories(options_.database);
  disk::PutFile(folder_ / "hdb/par.txt", "");
  Stack stack(options_);
  stack.Take(Upd(0, 10));
  stack.Take(End(kDate));
  stack.Take(Upd(100, 5));
  stack.Take(End(kDate + 1));
  ASSERT_TRUE(stack.Finish());
  EXPECT_EQ(stack.rdb().days_kept(), 2u);
  EXPECT_EQ(stack.Rows(), 15u);
  EXPECT_EQ(stack.rdb().FindTableOfDay("trade", kDate)->rows(), 10u);
  ASSERT_TRUE(stack.rdb().blocked_day().has_value());
  EXPECT_THAT(stack.rdb().blocked_day()->why, testing::HasSubstr("par.txt: no lines"));
  {
    const Logs logs = LogsOfOnePastDay();
    Stack again(options_);
    again.GoLive(logs.PathOf(kDate + 1));
    ASSERT_TRUE(again.Finish());
    EXPECT_THAT(again.rdb().Days(), ElementsAre(kDate, kDate + 1)) << "from the log, too";
    ASSERT_TRUE(again.rdb().blocked_day().has_value());
    EXPECT_THAT(again.rdb().blocked_day()->why, testing::HasSubstr("par.txt: no lines"));
  }
  std::filesystem::create_directories(folder_ / "disk");
  disk::PutFile(folder_ / "hdb/par.txt", folder_ / "disk\n");
  ASSERT_TRUE(Until([&] { return stack.rdb().days_kept() == 0; }));
  EXPECT_FALSE(stack.rdb().blocked_day().has_value());
  const std::string column = folder_ / "disk/" + FormatDate(kDate) + "/trade/size";
  EXPECT_EQ(disk::FixedColumn<int64_t>(column).size(), 10u);
}

// Goal: one old log on a failing disk does not keep later days in memory, and its day is written
// once it can be read. Method: an index that cannot be looked up, as it is a link to itself.
TEST_F(EndOfDayTest, GoesOnWithLaterDaysWhileALogCannotBeRead) {
  const Logs logs = LogsOfDays(3);
  const std::string index = logs.PathOf(kDate) + ".idx";
  std::filesystem::create_symlink(index, index);
  Stack stack(options_);
  stack.GoLive(logs.PathOf(kDate + 2));
  ASSERT_TRUE(Until([&] { return std::filesystem::exists(PartitionOf(kDate + 1)); }));
  EXPECT_EQ(Written(kDate + 1), Numbers((kDate + 1) * 100, (kDate + 1) * 100 + 10));
  EXPECT_FALSE(std::filesystem::exists(PartitionOf(kDate)));
  // The day is reported as blocked during each retry too.
  const uint64_t retries = stack.rdb().counters().day_errors + 5;
  ASSERT_TRUE(Until([&] {
    const std::optional<BlockedDay> blocked = stack.rdb().blocked_day();
    EXPECT_TRUE(blocked.has_value() && blocked->date == kDate);
    return !blocked || stack.rdb().counters().day_errors >= retries;
  }));
  std::filesystem::remove(index);
  ASSERT_TRUE(Until([&] { return std::filesystem::exists(PartitionOf(kDate)); }));
  EXPECT_EQ(Written(kDate), Numbers(kDate * 100, kDate * 100 + 10));
  ASSERT_TRUE(Until([&] { return !stack.rdb().blocked_day().has_value(); }));
}

// Goal: operators are not told to move a partition away because its log cannot be read. Method: as
// above, with the partition written.
TEST_F(EndOfDayTest, LooksAgainAtAPartitionWhoseLogCannotBeRead) {
  const Logs logs = LogsOfOnePastDay();
  {
    Stack stack(options_);
    stack.GoLive(logs.PathOf(kDate + 1));
    ASSERT_TRUE(stack.Finish());
  }
  const std::string index = logs.PathOf(kDate) + ".idx";
  std::filesystem::create_symlink(index, index);
  Stack stack(options_);
  stack.GoLive(logs.PathOf(kDate + 1));
  ASSERT_TRUE(Until([&] { return stack.rdb().blocked_day().has_value(); }));
  EXPECT_THAT(stack.rdb().blocked_day()->why, testing::Not(testing::HasSubstr("move")));
  std::filesystem::remove(index);
  ASSERT_TRUE(Until([&] { return !stack.rdb().blocked_day().has_value(); }));
}

// Goal: a table that cannot be written does not keep the others, and is added to the day later.
// Method: the tickerplant lost a table, and has it again later.
TEST_F(EndOfDayTest, WritesAPastDayWithoutAnUnknownTableAndAddsThatLater) {
  const Logs logs = LogsOfOnePastDay();
  Stack stack(options_, SIZE_MAX, {Schemas()[1]});
  stack.GoLive(logs.PathOf(kDate + 1));
  ASSERT_TRUE(stack.Finish());
  EXPECT_TRUE(std::filesystem::exists(PartitionOf(kDate) + "/quote/time"));
  EXPECT_FALSE(std::filesystem::exists(PartitionOf(kDate) + "/trade"));
  EXPECT_EQ(stack.rdb().counters().day_errors, 1u);
  EXPECT_EQ(stack.rdb().counters().day_done, 0u);
  ASSERT_TRUE(stack.rdb().blocked_day().has_value());
  EXPECT_THAT(stack.rdb().blocked_day()->why,
              testing::HasSubstr("the partition has no table trade: "));
  EXPECT_THAT(stack.rdb().Days(), ElementsAre(kDate + 1)) << "the hdb has it";
  stack.GoLive(logs.PathOf(kDate + 1));  // The message comes once.
  ASSERT_TRUE(stack.Finish());
  EXPECT_EQ(stack.rdb().counters().day_errors, 1u);
  {
    Stack again(options_, SIZE_MAX, {Schemas()[1]});
    again.GoLive(logs.PathOf(kDate + 1));
    ASSERT_TRUE(again.Finish());
    EXPECT_TRUE(again.rdb().blocked_day().has_value()) << "a restart does not forget it";
  }
  stack.rdb().OnSchemas(Schemas());
  stack.GoLive(logs.PathOf(kDate + 1));
  ASSERT_TRUE(stack.Finish());
  EXPECT_EQ(Written(kDate), Numbers(0, 10));
  EXPECT_FALSE(stack.rdb().blocked_day().has_value());
  EXPECT_EQ(stack.rdb().counters().day_done, 20240129u);
}

TEST_F(EndOfDayTest, TakesADayThatMemoryDidNotHoldFromItsLog) {
  Logs logs(folder_ / "tplog");
  std::vector<ByteBuffer> bodies;
  for (int64_t i = 0; i < 50; ++i) bodies.push_back(Upd(i * 1000, 1000));
  logs.Write(kDate, bodies);
  Stack stack(options_, size_t{1} << 20);
  stack.GoLive(logs.PathOf(kDate));
  for (const ByteBuffer& body : bodies) stack.Take(body);
  ASSERT_GT(stack.rdb().counters().rows_refused, 0u);
  stack.Take(End(kDate));
  ASSERT_TRUE(stack.Finish());
  EXPECT_EQ(Written(kDate), Numbers(0, 50'000));
}

// Goal: a day of which memory lacks rows waits for its log, and is written when the log is whole.
// Method: a message of the log is damaged; later the log is restored from a copy.
TEST_F(EndOfDayTest, KeepsADayThatNeitherMemoryNorItsLogHasWhole) {
  Logs logs(folder_ / "tplog");
  std::vector<ByteBuffer> bodies;
  for (int64_t i = 0; i < 50; ++i) bodies.push_back(Upd(i * 1000, 1000));
  logs.Write(kDate, bodies);
  const std::string whole = std::string(AsText(*ReadWholeFile(logs.PathOf(kDate), 1 << 30)));
  std::string damaged = whole;
  damaged[whole.size() / 2 - (whole.size() / 2 - 8) % bodies[0].size() + 2] ^= 64;
  disk::PutFile(logs.PathOf(kDate), damaged);

  Stack stack(options_, size_t{1} << 20);
  stack.GoLive(logs.PathOf(kDate));
  for (const ByteBuffer& body : bodies) stack.Take(body);
  stack.Take(End(kDate));
  ASSERT_TRUE(stack.Finish());
  EXPECT_FALSE(std::filesystem::exists(PartitionOf(kDate)));
  EXPECT_EQ(stack.rdb().days_kept(), 1u);
  ASSERT_TRUE(stack.rdb().blocked_day().has_value());
  EXPECT_THAT(stack.rdb().blocked_day()->why,
              testing::AllOf(testing::HasSubstr("its log cannot be replayed"),
                             testing::HasSubstr("rows of trade")));

  disk::PutFile(logs.PathOf(kDate), whole);
  ASSERT_TRUE(Until([&] { return stack.rdb().days_kept() == 0; }));
  EXPECT_EQ(Written(kDate), Numbers(0, 50'000));
  EXPECT_FALSE(stack.rdb().blocked_day().has_value());
}

// Goal: rows are never left out silently because a column's type changed within the day: the table
// is an error in its partition, the other tables are there, and it is added once the log has it.
TEST_F(EndOfDayTest, LeavesATableWithRowsOfAnotherSchemaOut) {
  Logs logs(folder_ / "tplog");
  std::vector<ByteBuffer> bodies;
  bodies.push_back(Upd(0, 10));
  const int64_t times[] = {1, 2};
  const double sizes[] = {1.5, 2.5};
  bodies.push_back(Body(
      Value::List({Value::Symbol("upd"), Value::Symbol("trade"),
                   Value::List({Value::Vector(Type::kTimestamp, std::span<const int64_t>(times)),
                                Value::Symbols({"IBM", "AIG"}),
                                Value::Vector(Type::kFloat, std::span<const double>(sizes))})})));
  bodies.push_back(Body(
      Value::List({Value::Symbol("upd"), Value::Symbol("quote"),
                   Value::List({Value::Vector(Type::kTimestamp, std::span<const int64_t>(times)),
                                Value::Symbols({"IBM", "AIG"})})})));
  logs.Write(kDate, bodies);
  FakeHdb hdb;
  options_.hdb = fmt::format("127.0.0.1:{}", hdb.port());
  Stack stack(options_);
  stack.GoLive(logs.PathOf(kDate));
  for (const ByteBuffer& body : bodies) stack.Take(body);
  EXPECT_EQ(stack.rdb().counters().incomplete, 1u);
  EXPECT_TRUE(stack.rdb().stale_ms().contains("trade"));
  stack.Take(End(kDate));
  EXPECT_EQ(stack.rdb().counters().incomplete, 0u);
  ASSERT_TRUE(stack.Finish());
  EXPECT_EQ(hdb.reloads, 1);
  EXPECT_EQ(disk::FixedColumn<int64_t>(PartitionOf(kDate) + "/quote/time"),
            (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(stack.rdb().days_kept(), 0u) << "its log has it";
  EXPECT_EQ(stack.rdb().counters().day_done, 0u);
  ASSERT_TRUE(stack.rdb().blocked_day().has_value());
  const std::string_view why = "2 rows of trade in 1 of the messages 1 to 1 are not of its schema";
  EXPECT_THAT(stack.rdb().blocked_day()->why, testing::HasSubstr(why));

  // Queries fail, here and in kdb+, and a check names it.
  EXPECT_THAT(disk::Names(PartitionOf(kDate) + "/trade/.d"), ElementsAre("time", "sym", "size"));
  EXPECT_FALSE(std::filesystem::exists(PartitionOf(kDate) + "/trade/time"));
  const auto database = *disk::Database::Open(options_.database);
  const disk::PartitionedTable* const trade = database->FindPartitioned("trade");
  ASSERT_NE(trade, nullptr);
  const absl::Status read = (*trade->In(0))->Rows().status();
  EXPECT_THAT(std::string(Message(read)),
              testing::AllOf(testing::HasSubstr("the table of this day is not written"),
                             testing::HasSubstr(why)));
  WorkerPool workers(0);
  const disk::DatabaseCheck check = *disk::CheckDatabase(options_.database, workers);
  ASSERT_EQ(check.findings.size(), 1u);
  EXPECT_THAT(check.findings[0].what, testing::HasSubstr(why));

  bodies.erase(bodies.begin() + 1);
  logs.Write(kDate, bodies);
  ASSERT_TRUE(Until([&] { return !stack.rdb().blocked_day().has_value(); }));
  EXPECT_EQ(Written(kDate), Numbers(0, 10));
  ASSERT_TRUE(Until([&] { return hdb.reloads >= 2; }));
  EXPECT_TRUE(disk::CheckDatabase(options_.database, workers)->is_sound());
  EXPECT_FALSE(std::filesystem::exists(PartitionOf(kDate) + "/trade/.not-written"));
}

// Goal: a name that no file can have keeps no other table, and leads out of no folder.
TEST_F(EndOfDayTest, LeavesATableOutWhoseNameNoFileCanHave) {
  std::vector<Schema> schemas = Schemas();
  schemas.push_back({"../../escaped", {{"time", Type::kTimestamp}}, 0});
  schemas.push_back({std::string(300, 'x'), {{"time", Type::kTimestamp}}, 0});
  schemas.push_back({"columns", {{"time", Type::kTimestamp}, {"a/b", Type::kLong}}, 0});
  Stack stack(options_, SIZE_MAX, schemas);
  stack.Take(Upd(0, 10));
  stack.Take(End(kDate));
  ASSERT_TRUE(stack.Finish());
  EXPECT_EQ(Written(kDate), Numbers(0, 10));
  ASSERT_TRUE(stack.rdb().blocked_day().has_value());
  EXPECT_THAT(stack.rdb().blocked_day()->why,
              testing::AllOf(testing::HasSubstr("table \"../../escaped\": not a name for a file"),
                             testing::HasSubstr("column \"a/b\": not a name for a file")));
  size_t entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PartitionOf(kDate))) {
    const std::string name = entry.path().filename();
    EXPECT_TRUE(name == "trade" || name == "quote") << name;
    ++entries;
  }
  EXPECT_EQ(entries, 2u);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "escaped"));
}

// Goal: a day with other types than the days before does not make queries over days fail: its table
// stays out, in memory as there is no log, until the database has the types. Method: the database
// gets them by a migration.
TEST_F(EndOfDayTest, LeavesATableOutThatHasOtherTypesInTheNewestPartition) {
  {
    std::vector<Schema> before = Schemas();
    before[0] = *ParseSchema("trade", "time p, sym s, size i");
    Stack stack(options_, SIZE_MAX, before);
    stack.Take(End(kDate - 1));
    ASSERT_TRUE(stack.Finish());
  }
  Stack stack(options_);
  stack.Take(Upd(0, 10));
  stack.Take(End(kDate));
  ASSERT_TRUE(stack.Finish());
  EXPECT_TRUE(std::filesystem::exists(PartitionOf(kDate) + "/quote/time"));
  EXPECT_FALSE(std::filesystem::exists(PartitionOf(kDate) + "/trade/size"));
  EXPECT_EQ(stack.rdb().days_kept(), 1u);
  ASSERT_TRUE(stack.rdb().blocked_day().has_value());
  EXPECT_THAT(stack.rdb().blocked_day()->why,
              testing::AllOf(testing::HasSubstr("size has type j, expected i as in the partition"),
                             testing::HasSubstr("trade = \"time p, sym s, size i\""),
                             testing::HasSubstr("--table trade retype size j")));
  disk::ColumnChange change;
  change.kind = disk::ColumnChange::Kind::kRetype;
  change.column = "size";
  change.type = Type::kLong;
  disk::MigrationOptions migration;
  migration.database = options_.database;
  ASSERT_TRUE(disk::MigrateTable(migration, "trade", change).ok());
  ASSERT_TRUE(Until([&] { return stack.rdb().days_kept() == 0; }));
  EXPECT_EQ(Written(kDate), Numbers(0, 10));
  EXPECT_FALSE(stack.rdb().blocked_day().has_value());
  WorkerPool workers(0);
  EXPECT_TRUE(disk::CheckDatabase(options_.database, workers)->is_sound());
}

// Goal: a day never takes a column away from the queries of all days, as it does if the newest
// partition lacks the column: its table stays out until the columns fit. Columns that only older
// partitions lack are written, and a day before the newest partition may lack columns, but not have
// others. Method: days of three schemas.
TEST_F(EndOfDayTest, LeavesATableOutThatLacksAColumnOfTheNewestPartition) {
  const auto with = [](const std::string& trade) {
    std::vector<Schema> schemas = Schemas();
    schemas[0] = *ParseSchema("trade", trade);
    return schemas;
  };
  const auto end = [this](int32_t date, const std::vector<Schema>& schemas) {
    Stack stack(options_, SIZE_MAX, schemas);
    stack.Take(End(date));
    EXPECT_TRUE(stack.Finish());
    const std::optional<BlockedDay> blocked = stack.rdb().blocked_day();
    return blocked ? blocked->why : std::string();
  };
  EXPECT_EQ(end(kDate - 2, with("time p, sym s, size j")), "");
  EXPECT_EQ(end(kDate - 1, with("time p, size j, sym s, ex c")), "");

  Stack stack(options_);
  stack.Take(Upd(0, 10));
  stack.Take(End(kDate));
  ASSERT_TRUE(stack.Finish());
  EXPECT_TRUE(std::filesystem::exists(PartitionOf(kDate) + "/quote/time"));
  EXPECT_FALSE(std::filesystem::exists(PartitionOf(kDate) + "/trade/size"));
  ASSERT_TRUE(stack.rdb().blocked_day().has_value());
  EXPECT_THAT(
      stack.rdb().blocked_day()->why,
      testing::AllOf(testing::HasSubstr("ex is missing, the partition has it with type c: queries "
                                        "would no longer find it in any day"),
                     testing::HasSubstr("trade = \"time p, sym s, size j, ex c\""),
                     testing::HasSubstr("--table trade drop ex`")));
  EXPECT_EQ(end(kDate - 3, with("time p, sym s, size j")), "");
  EXPECT_THAT(end(kDate - 4, with("time p, sym s, size j, venue s")),
              testing::AllOf(testing::HasSubstr("venue is not in the newer partition: queries "
                                                "would not find the column"),
                             testing::HasSubstr("--table trade add venue s`")));

  disk::ColumnChange change;
  change.kind = disk::ColumnChange::Kind::kDrop;
  change.column = "ex";
  disk::MigrationOptions migration;
  migration.database = options_.database;
  ASSERT_TRUE(disk::MigrateTable(migration, "trade", change).ok());
  ASSERT_TRUE(Until([&] { return stack.rdb().days_kept() == 0; }));
  EXPECT_EQ(Written(kDate), Numbers(0, 10));
}

// Goal: a day is not written among partitions that are not days, which would hide these.
TEST_F(EndOfDayTest, WritesNoDayIntoADatabaseOfMonths) {
  std::filesystem::create_directories(options_.database + "/2023.12/trade");
  Stack stack(options_);
  stack.Take(Upd(0, 10));
  stack.Take(End(kDate));
  ASSERT_TRUE(stack.Finish());
  EXPECT_FALSE(std::filesystem::exists(PartitionOf(kDate)));
  EXPECT_EQ(stack.rdb().days_kept(), 1u);
  ASSERT_TRUE(stack.rdb().blocked_day().has_value());
  EXPECT_THAT(stack.rdb().blocked_day()->why,
              testing::HasSubstr("/2023.12: a partition by month, expected partitions by date"));
}

// Goal: a log that is shorter than its index is not a whole day.
TEST_F(EndOfDayTest, KeepsADayWhoseLogLostItsEnd) {
  const std::string path = folder_ / "tplog/sym" + FormatDate(kDate);
  {
    const auto writer = *tplog::TplogWriter::Open(path, {});
    for (int64_t i = 0; i < 3; ++i) {
      const ByteBuffer body = Upd(i * 10, 10);
      const std::span<const std::byte> segments[] = {body.span()};
      const tplog::TplogBlock::Rows rows[] = {{"trade", 10}};
      ASSERT_TRUE(writer->Append({segments, 1, i, "", rows}).ok());
    }
  }
  std::filesystem::resize_file(path, 8 + Upd(0, 10).size());
  Logs logs(folder_ / "tplog");
  logs.Write(kDate + 1, {});
  Stack stack(options_);
  stack.GoLive(logs.PathOf(kDate + 1));
  ASSERT_TRUE(stack.Finish());
  EXPECT_FALSE(std::filesystem::exists(PartitionOf(kDate)));
  ASSERT_TRUE(stack.rdb().blocked_day().has_value());
  EXPECT_THAT(stack.rdb().blocked_day()->why,
              testing::HasSubstr("ends after message 1, its index has 2 messages"));
}

// Goal: a partition that has other rows than the day does not hide the day: the day stays until the
// partition is moved away, and no other day waits for it. Method: a date ends twice, as with a
// clock that was set back, and then the day after it ends.
TEST_F(EndOfDayTest, KeepsADayWhosePartitionHasOtherRowsUntilThatIsMovedAway) {
  Stack stack(options_);
  stack.Take(Upd(0, 10));
  stack.Take(End(kDate));
  stack.Take(Upd(100, 5));
  stack.Take(End(kDate));
  stack.Take(Upd(200, 3));
  stack.Take(End(kDate + 1));
  ASSERT_TRUE(stack.Finish());
  EXPECT_EQ(Written(kDate), Numbers(0, 10));
  EXPECT_EQ(Written(kDate + 1), Numbers(200, 203));
  EXPECT_EQ(stack.rdb().counters().day_errors, 1u);
  EXPECT_EQ(stack.rdb().counters().day_done, 20240130u);
  EXPECT_EQ(stack.Rows(), 5u);
  EXPECT_EQ(stack.rdb().days_kept(), 1u);
  ASSERT_TRUE(stack.rdb().blocked_day().has_value());
  EXPECT_EQ(stack.rdb().blocked_day()->date, kDate);
  EXPECT_THAT(stack.rdb().blocked_day()->why,
              testing::AllOf(testing::HasSubstr("with 10 rows, expected 5 rows"),
                             testing::HasSubstr("move that away, and it is written from memory")));

  std::filesystem::rename(PartitionOf(kDate), PartitionOf(kDate) + ".away");
  ASSERT_TRUE(Until([&] { return stack.rdb().days_kept() == 0; }));
  EXPECT_EQ(Written(kDate), Numbers(100, 105));
  EXPECT_FALSE(stack.rdb().blocked_day().has_value());
  EXPECT_EQ(stack.Rows(), 0u);
}

TEST_F(EndOfDayTest, HandsOverADayThatSomebodyElseWroteWhole) {
  for (const int64_t rows : {0, 10}) {
    std::filesystem::remove_all(folder_ / "hdb");
    {
      Stack before(options_);
      before.Take(Upd(0, rows));
      before.Take(End(kDate));
      ASSERT_TRUE(before.Finish());
    }
    Stack stack(options_);
    stack.Take(Upd(0, 10));
    stack.Take(End(kDate));
    ASSERT_TRUE(stack.Finish());
    EXPECT_EQ(stack.rdb().days_kept(), rows == 10 ? 0u : 1u);
    EXPECT_EQ(stack.rdb().counters().day_errors, rows == 10 ? 0u : 1u);
    EXPECT_EQ(stack.rdb().counters().day_done, rows == 10 ? 20240129u : 0u);
  }
}

// Goal: at its start the rdb warns that a past day's partition lacks rows of its log, goes on, and
// writes the day when the partition is moved away. Method: nine of ten rows are in the partition.
TEST_F(EndOfDayTest, SaysAtItsStartThatAPartitionLacksRowsOfItsLog) {
  const Logs logs = LogsOfOnePastDay();
  {
    Stack before(options_);
    before.Take(Upd(0, 9));
    before.Take(End(kDate));
    ASSERT_TRUE(before.Finish());
  }
  Stack stack(options_);
  stack.GoLive(logs.PathOf(kDate + 1));
  ASSERT_TRUE(stack.Finish());
  EXPECT_EQ(stack.rdb().counters().day_errors, 1u);
  EXPECT_EQ(stack.rdb().counters().day_done, 0u);
  ASSERT_TRUE(stack.rdb().blocked_day().has_value());
  EXPECT_THAT(stack.rdb().blocked_day()->why, testing::HasSubstr("9 rows, expected the 10 that"));
  stack.GoLive(logs.PathOf(kDate + 1));  // The tickerplant came back: the warning is not repeated.
  ASSERT_TRUE(stack.Finish());
  EXPECT_EQ(stack.rdb().counters().day_errors, 1u);

  std::filesystem::rename(PartitionOf(kDate), PartitionOf(kDate) + ".away");
  ASSERT_TRUE(Until([&] { return stack.rdb().counters().day_done == 20240129; }));
  EXPECT_EQ(Written(kDate), Numbers(0, 10));
  EXPECT_FALSE(stack.rdb().blocked_day().has_value());
}

// Goal: the hdb is told of existing days at a start, since the process that wrote them may have
// died before it could notify it.
TEST_F(EndOfDayTest, TellsTheHdbAtItsStartOfDaysThatAreThere) {
  const Logs logs = LogsOfOnePastDay();
  {
    Stack before(options_);
    before.GoLive(logs.PathOf(kDate + 1));
    ASSERT_TRUE(before.Finish());
  }
  FakeHdb hdb;
  options_.hdb = fmt::format("127.0.0.1:{}", hdb.port());
  Stack stack(options_);
  stack.GoLive(logs.PathOf(kDate + 1));
  ASSERT_TRUE(stack.Finish());
  EXPECT_EQ(hdb.reloads, 1);
  EXPECT_EQ(stack.rdb().counters().day_done, 20240129u);
}

// Otherwise nobody would have the day, and a gateway would take it for one without rows.
TEST_F(EndOfDayTest, AwaitsADayThatOnlyItsLogHasUntilTheHdbHasIt) {
  FakeHdb hdb;
  hdb.fail = true;
  options_.hdb = fmt::format("127.0.0.1:{}", hdb.port());
  const Logs logs = LogsOfOnePastDay();
  Stack stack(options_);
  stack.rdb().SetLog({logs.PathOf(kDate + 1), std::nullopt});
  EXPECT_THAT(stack.rdb().Days(), ElementsAre(kDate, kDate + 1));  // Before it has read the log.
  EXPECT_FALSE(stack.rdb().FindTableOfDay("trade", kDate).has_value());
  stack.rdb().OnReplayDone();
  ASSERT_TRUE(Until([&] { return hdb.reloads >= 2; }));
  EXPECT_THAT(stack.rdb().Days(), ElementsAre(kDate, kDate + 1));
  hdb.fail = false;
  ASSERT_TRUE(stack.Finish());
  EXPECT_THAT(stack.rdb().Days(), ElementsAre(kDate + 1));
}

TEST_F(EndOfDayTest, TellsAnHdbThatDidNotAnswerAgainOfDaysThatAreThere) {
  const Logs logs = LogsOfOnePastDay();
  {
    Stack stack(options_);
    stack.GoLive(logs.PathOf(kDate + 1));
    ASSERT_TRUE(stack.Finish());
  }
  FakeHdb hdb;
  hdb.fail = true;
  options_.hdb = fmt::format("127.0.0.1:{}", hdb.port());
  Stack again(options_);
  again.GoLive(logs.PathOf(kDate + 1));
  ASSERT_TRUE(Until([&] { return hdb.reloads >= 2; }));
  EXPECT_THAT(again.rdb().Days(), ElementsAre(kDate, kDate + 1));
  hdb.fail = false;
  EXPECT_TRUE(Until([&] { return again.rdb().Days() == std::vector<int32_t>{kDate + 1}; }));
  EXPECT_EQ(again.rdb().counters().day_errors, 0u);
}

TEST_F(EndOfDayTest, RemovesOldLogsWhosePartitionsHaveAllOfThem) {
  const Logs logs = LogsOfDays(5);
  options_.keep_logs_days = 2;
  {
    Stack stack(options_);
    // The second day is written without one of its rows.
    stack.Take(Upd(0, 9));
    stack.Take(End(kDate + 1));
    ASSERT_TRUE(stack.Finish());
    stack.GoLive(logs.PathOf(kDate + 4));
    ASSERT_TRUE(stack.Finish());
    EXPECT_EQ(stack.rdb().counters().day_errors, 1u);
  }
  EXPECT_FALSE(std::filesystem::exists(logs.PathOf(kDate)));
  // Nine rows are not ten, so the log stays.
  EXPECT_TRUE(std::filesystem::exists(logs.PathOf(kDate + 1)));
  EXPECT_TRUE(std::filesystem::exists(logs.PathOf(kDate + 2)));  // Two days are kept.
  EXPECT_EQ(Written(kDate).size(), 10u);
}

// Goal: a log stays if its partition was damaged, even where the number of rows is right. Method:
// two days are written, then one byte of one of them changes, in the middle of `sym`: that changes
// what a row's symbol is, and no count covers it.
TEST_F(EndOfDayTest, KeepsTheLogOfAPartitionThatIsDamaged) {
  const Logs logs = LogsOfDays(3);
  {
    Stack stack(options_);
    stack.GoLive(logs.PathOf(kDate + 2));
    ASSERT_TRUE(stack.Finish());
  }
  const std::string sym = PartitionOf(kDate) + "/trade/sym";
  std::string bytes = disk::FileBytes(sym);
  bytes[4096 + 3 * 8] = 77;
  disk::PutFile(sym, bytes);
  options_.keep_logs_days = 0;
  Stack stack(options_);
  stack.GoLive(logs.PathOf(kDate + 2));
  ASSERT_TRUE(stack.Finish());
  EXPECT_EQ(stack.rdb().counters().day_errors, 1u);
  EXPECT_TRUE(std::filesystem::exists(logs.PathOf(kDate)));
  EXPECT_FALSE(std::filesystem::exists(logs.PathOf(kDate + 1)));
}

// The disk of a process that is killed before its n-th step: later steps do nothing, and of files
// that were not synced by then a random part remains.
class Killed : public disk::StorageObserver {
 public:
  explicit Killed(size_t steps_left) : steps_left_(steps_left) {}

  absl::Status Before(disk::StorageStep step, const std::string& path, size_t) override {
    const std::lock_guard lock(mutex_);
    ++steps_;
    if (steps_left_ == 0) return absl::CancelledError("killed");
    --steps_left_;
    if (step == disk::StorageStep::kCreate || step == disk::StorageStep::kWrite)
      unsynced_.insert(path);
    if (step == disk::StorageStep::kSync) unsynced_.erase(path);
    return absl::OkStatus();
  }
  void LoseWhatWasNotSynced(std::mt19937_64& rng) {
    for (const std::string& path : unsynced_) {
      if (!std::filesystem::exists(path)) continue;
      // Names in `sym` were synced before.
      if (path.ends_with("/sym")) continue;
      std::filesystem::resize_file(path, rng() % (std::filesystem::file_size(path) + 1));
    }
  }
  size_t steps() const { return steps_; }
  bool dead() const {
    const std::lock_guard lock(mutex_);
    return steps_left_ == 0;
  }

 private:
  mutable std::mutex mutex_;
  size_t steps_left_;
  size_t steps_ = 0;
  std::set<std::string> unsynced_;
};

// Goal: wherever a process is killed while it writes a day, the next one leaves each day whole and
// once. Method: two days are written by a process that is killed before each step of a write: a
// file is made, written, synced, renamed. What was not synced is lost at random. Then a second
// process is killed at a random step as well, and a third is not.
TEST_F(EndOfDayTest, LeavesEachDayWholeAndOnceWhereverItIsKilled) {
  const disk::TemporaryFolder folder(disk::TemporaryFolder::InMemory());
  Logs logs(folder / "tplog");
  std::vector<ByteBuffer> first, second;
  first.push_back(Upd(0, 300));
  second.push_back(Upd(300, 200));
  logs.Write(kDate, first);
  logs.Write(kDate + 1, second);
  logs.Write(kDate + 2, {});

  const auto run = [&](const std::string& database, disk::StorageObserver* observer, bool killed) {
    EndOfDayOptions options = options_;
    options.database = database;
    options.observer = observer;
    options.retry_ns = kNsPerSecond;
    Stack stack(options);
    stack.GoLive(logs.PathOf(kDate + 2));
    if (!killed) return stack.Finish();
    while (!static_cast<Killed*>(observer)->dead() && !stack.Finish(1'000'000)) {
    }
    stack.Stop();
    return true;
  };
  Killed clean(SIZE_MAX);
  ASSERT_TRUE(run(folder / "clean", &clean, false));
  const size_t steps = clean.steps();
  ASSERT_GT(steps, 40u);

  std::mt19937_64 rng(20240129);
  for (size_t at = 0; at < std::max<size_t>(steps, 200); ++at) {
    SCOPED_TRACE(at);
    const std::string database = folder / fmt::format("hdb{}", at);
    Killed killed(at < steps ? at : rng() % steps);
    ASSERT_TRUE(run(database, &killed, true));
    killed.LoseWhatWasNotSynced(rng);
    Killed again(rng() % steps);
    ASSERT_TRUE(run(database, &again, true));
    again.LoseWhatWasNotSynced(rng);
    ASSERT_TRUE(run(database, nullptr, false));
    for (const int32_t date : {kDate, kDate + 1}) {
      const std::string path = database + "/" + FormatDate(date) + "/trade/";
      ASSERT_EQ(disk::FileBytes(path + "size"),
                disk::FileBytes(folder / "clean/" + FormatDate(date) + "/trade/size"));
      ASSERT_EQ(disk::SymbolColumn(path + "sym", database + "/sym"),
                disk::SymbolColumn(folder / "clean/" + FormatDate(date) + "/trade/sym",
                                   folder / "clean/sym"));
    }
    for (const auto& entry : std::filesystem::directory_iterator(database)) {
      const std::string name = entry.path().filename();
      EXPECT_TRUE(name == "sym" || name == "sym.checksums$" || name == "tickstack.lock$" ||
                  name == FormatDate(kDate) || name == FormatDate(kDate + 1))
          << name;
    }
    std::filesystem::remove_all(database);
  }
}

}  // namespace
}  // namespace tickstack::rdb
