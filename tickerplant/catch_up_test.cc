#include "tickerplant/catch_up.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "base/logging.h"
#include "base/status.h"
#include "table/value.h"
#include "tickerplant/tickerplant.h"
#include "tplog/position.h"
#include "wire/codec.h"

namespace tickstack::tickerplant {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kNoon = 7373 * kNsPerDay + kNsPerDay / 2;  // On 9 March 2020.
constexpr size_t kLiveQueueBytes = size_t{256} << 10;

// A subscriber that reads when it is told to.
class Reader : public Outlet {
 public:
  void Queue(std::span<const wire::Segment> message) override {
    ByteBuffer whole;
    for (const wire::Segment& segment : message) whole.Append(segment.bytes);
    queued_ += whole.size();
    queued_max = std::max(queued_max, queued_);
    unread_.push_back(std::move(whole));
  }
  void Flush() override {
    while (allowance_ > 0 && !unread_.empty()) {
      const size_t bytes = unread_.front().size();
      messages.push_back(*wire::Decode(unread_.front().span().subspan(wire::kHeaderBytes)));
      allowance_ -= std::min(allowance_, bytes);
      queued_ -= bytes;
      sent_ += bytes;
      unread_.pop_front();
    }
  }
  size_t queued_bytes() const override { return queued_; }
  uint64_t sent_bytes() const override { return sent_; }
  std::string name() const override { return "reader"; }

  void Read(size_t bytes) {
    allowance_ = bytes;
    Flush();
  }
  void Stop() { allowance_ = 0; }

  std::vector<Value> messages;
  size_t queued_max = 0;

 private:
  std::deque<ByteBuffer> unread_;
  size_t queued_ = 0;
  size_t allowance_ = 0;
  uint64_t sent_ = 0;
};

constexpr size_t kEverything = SIZE_MAX;

// Rows are numbered by table: their size is the row's number, over all days.
class CatchUpTest : public testing::Test {
 protected:
  CatchUpTest()
      : directory_(std::filesystem::temp_directory_path() /
                   ("catch_up_test." + std::to_string(::getpid()) + "." +
                    testing::UnitTest::GetInstance()->current_test_info()->name())) {
    InitLogging("test", LogLevel::kOff);
    std::filesystem::remove_all(directory_);
  }
  ~CatchUpTest() override {
    plant_.reset();
    std::filesystem::remove_all(directory_);
  }

  void Open(bool batch = true, std::vector<std::string> at_once = {}) {
    TickerplantOptions options;
    options.schemas = {*ParseSchema("t", "sym s, size j"), *ParseSchema("u", "sym s, size j"),
                       *ParseSchema("v", "sym s, size j")};
    options.log_directory = directory_;
    options.batch = batch;
    options.at_once = std::move(at_once);
    options.publish_bytes = size_t{64} << 10;
    options.live_queue_bytes = kLiveQueueBytes;
    auto plant = Tickerplant::Open(options, *DayClock::Create("UTC", 0, std::nullopt), &clock_);
    ASSERT_TRUE(plant.ok()) << plant.status();
    plant_ = *std::move(plant);
  }

  // Logs the next rows of a table in one message.
  void Log(const std::string& table, size_t rows) {
    SymbolVector syms;
    std::vector<int64_t> sizes;
    for (size_t i = 0; i < rows; ++i) {
      sizes.push_back(next_row_[table]++);
      syms.push_back(sizes.back() % 3 == 0 ? "A" : "B");
    }
    auto body = std::make_shared<ByteBuffer>();
    wire::Encode(
        Value::List({Value::Symbol(".u.upd"), Value::Symbol(table),
                     Value::List({Value::Symbols(std::move(syms)),
                                  Value::Vector(Type::kLong, std::span<const int64_t>(sizes))})}),
        *body);
    const absl::Status staged = plant_->StageUpd(*body, body);
    ASSERT_TRUE(staged.ok()) << staged;
    const absl::Status logged = plant_->Commit();
    ASSERT_TRUE(logged.ok()) << logged;
    rows_of_message_.back().push_back({table, rows});
  }
  void EndDay() {
    clock_.now_ns += kNsPerDay;
    const absl::StatusOr<bool> rolled = plant_->RollIfDue();
    ASSERT_TRUE(rolled.ok() && *rolled) << rolled.status();
    rows_of_message_.emplace_back();
  }
  void Subscribe(Reader& reader, const std::string& table = "", Subscription how = {}) {
    how.outlet = &reader;
    ASSERT_TRUE(plant_->Subscribe(table, how).ok());
  }
  // Serves subscribers that are behind as long as there is something to do.
  void Serve() {
    while (plant_->catch_up().is_due()) {
      for (const CatchUp::Failure& failure : plant_->ServeBehind().failed) {
        failures_.emplace_back(Message(failure.why));
      }
    }
  }
  // Makes the reader fall behind.
  void FallBehind(Reader& reader) {
    reader.Stop();
    while (!plant_->catch_up().Has(&reader)) {
      Log("t", 500);
      plant_->Publish();
    }
  }

  // Returns the rows of a table that a reader got, in order.
  static std::vector<int64_t> RowsOf(const Reader& reader, std::string_view table) {
    std::vector<int64_t> rows;
    for (const Value& message : reader.messages) {
      if (message.items()[0] != Value::Symbol("upd")) continue;
      if (message.items()[1] != Value::Symbol(table)) continue;
      const std::span<const int64_t> sizes = message.items()[2].columns()[1].span<int64_t>();
      rows.insert(rows.end(), sizes.begin(), sizes.end());
    }
    return rows;
  }
  std::vector<int64_t> AllRowsOf(const std::string& table, bool only_a = false, int64_t from = 0) {
    std::vector<int64_t> rows;
    for (int64_t row = from; row < next_row_[table]; ++row) {
      if (!only_a || row % 3 == 0) rows.push_back(row);
    }
    return rows;
  }

  // Checks that the numbers of a reader's upds tell its exact position after each of them.
  void ExpectExactPositions(const Reader& reader) {
    tplog::Position position;
    size_t day = 0;
    std::map<std::string, uint64_t> taken;  // Rows of this day, by table.
    for (const Value& message : reader.messages) {
      if (message.items()[0] == Value::Symbol(".u.end")) {
        position.Reset();
        taken.clear();
        ++day;
        continue;
      }
      if (message.items()[0] != Value::Symbol("upd")) continue;
      const std::string table(message.items()[1].symbol());
      taken[table] += message.items()[2].count();
      ASSERT_TRUE(position.OnPublished(table, message.items()[2].count(),
                                       message.items()[3].as<int64_t>()));
      std::map<std::string, uint64_t> known;
      ASSERT_LE(position.seq(), rows_of_message_[day].size());
      for (size_t i = 0; i < position.seq(); ++i) {
        known[rows_of_message_[day][i].first] += rows_of_message_[day][i].second;
      }
      tplog::Position ahead = position;
      for (const auto& [name, rows] : taken) {
        ASSERT_EQ(known[name] + ahead.RowsHere(name, UINT64_MAX), rows)
            << name << " after message number " << message.items()[3].as<int64_t>();
      }
    }
  }

  struct : Clock {
    int64_t NowNs() const override { return now_ns; }
    int64_t MonotonicNs() const override { return now_ns; }
    int64_t now_ns = kNoon;
  } clock_;
  const std::string directory_;
  std::unique_ptr<Tickerplant> plant_;
  std::map<std::string, int64_t> next_row_;
  // By day, for each message of its log.
  std::vector<std::vector<std::pair<std::string, size_t>>> rows_of_message_{1};
  std::vector<std::string> failures_;
};

TEST_F(CatchUpTest, ASlowSubscriberGetsTheRestFromTheLog) {
  Open();
  Reader slow, quick;
  Subscribe(slow);
  Subscribe(quick);
  quick.Read(kEverything);
  FallBehind(slow);
  EXPECT_EQ(plant_->counters().fell_behind, 1u);
  for (int i = 0; i < 1000; ++i) {
    Log(i % 3 == 0 ? "u" : "t", 500);
    Serve();
  }
  plant_->Publish();
  EXPECT_LT(slow.queued_max, 2 * kLiveQueueBytes) << "nothing is queued for it";
  EXPECT_EQ(RowsOf(quick, "t"), AllRowsOf("t"));
  EXPECT_EQ(plant_->subscribers(), 2u);
  EXPECT_EQ(plant_->SubscriptionsOf(0).size(), 2u);

  slow.Read(kEverything);
  Serve();
  EXPECT_FALSE(plant_->catch_up().Has(&slow));
  EXPECT_EQ(RowsOf(slow, "t"), AllRowsOf("t"));
  EXPECT_EQ(RowsOf(slow, "u"), AllRowsOf("u"));
  Log("t", 10);
  plant_->Publish();
  EXPECT_EQ(RowsOf(slow, "t"), AllRowsOf("t")) << "it is live";
}

TEST_F(CatchUpTest, ReadsTheLogNoFasterThanItsSubscriber) {
  Open();
  Reader slow;
  Subscribe(slow);
  FallBehind(slow);
  while (plant_->log().totals().log_bytes < (size_t{16} << 20)) Log("t", 5000);
  plant_->Publish();
  size_t most = 0;
  while (plant_->catch_up().Has(&slow)) {
    slow.Read(32 << 10);
    Serve();
    most = std::max(most, slow.queued_bytes());
    slow.Stop();
  }
  EXPECT_LT(most, 3 * CatchUp::kPieceBytes);
  slow.Read(kEverything);
  EXPECT_EQ(RowsOf(slow, "t"), AllRowsOf("t"));
}

TEST_F(CatchUpTest, RowsThatWaitForTheTimerDoNotKeepItFromCatchingUp) {
  Open();
  Reader slow;
  Subscribe(slow);
  FallBehind(slow);
  Log("t", 10);
  Log("u", 10);
  ASSERT_LT(plant_->published_seq(), plant_->logged_seq());
  slow.Read(kEverything);
  Serve();
  EXPECT_FALSE(plant_->catch_up().Has(&slow));
  EXPECT_EQ(RowsOf(slow, "t"), AllRowsOf("t"));
  EXPECT_EQ(RowsOf(slow, "u"), AllRowsOf("u"));
}

TEST_F(CatchUpTest, KeepsTheOrderOfTablesWithoutBatches) {
  Open(/*batch=*/false);
  Reader slow;
  Subscribe(slow);
  FallBehind(slow);
  const size_t before = slow.messages.size();
  std::vector<std::string> tables;
  for (int i = 0; i < 50; ++i) {
    tables.emplace_back(i % 2 == 0 ? "t" : "u");
    Log(tables.back(), 1);
  }
  slow.Read(kEverything);
  Serve();
  std::vector<std::string> got;
  for (size_t i = before; i < slow.messages.size(); ++i) {
    got.emplace_back(slow.messages[i].items()[1].symbol());
  }
  ASSERT_GE(got.size(), tables.size());
  EXPECT_TRUE(std::equal(tables.rbegin(), tables.rend(), got.rbegin()));
}

TEST_F(CatchUpTest, AnEagerSubscriberFallsBehindWithoutABatch) {
  Open();
  Reader slow;
  Subscribe(slow, "", {.numbered = true, .eager = true});
  for (int i = 0; i < 1000; ++i) Log("t", 500);
  EXPECT_TRUE(plant_->catch_up().Has(&slow));
  EXPECT_LT(slow.queued_max, 2 * kLiveQueueBytes);
  slow.Read(kEverything);
  Serve();
  EXPECT_EQ(RowsOf(slow, "t"), AllRowsOf("t"));
  ExpectExactPositions(slow);
  Log("t", 1);
  EXPECT_EQ(RowsOf(slow, "t"), AllRowsOf("t")) << "it gets rows ahead of their batch again";
}

TEST_F(CatchUpTest, TheDayEndsForItAfterItsLastRow) {
  Open();
  Reader slow;
  Subscribe(slow, "", {.numbered = true});
  FallBehind(slow);
  Log("u", 5);
  EndDay();
  const int64_t day_after = next_row_["t"];
  Log("t", 7);
  EndDay();
  EndDay();  // A day without rows.
  Log("t", 9);
  plant_->Publish();
  slow.Read(kEverything);
  Serve();
  EXPECT_FALSE(plant_->catch_up().Has(&slow));
  EXPECT_EQ(RowsOf(slow, "t"), AllRowsOf("t"));
  EXPECT_EQ(RowsOf(slow, "u"), AllRowsOf("u"));
  ExpectExactPositions(slow);
  std::vector<std::string> ends;
  int64_t last = 0;
  for (const Value& message : slow.messages) {
    if (message.items()[0] == Value::Symbol(".u.end")) {
      ends.push_back(FormatDate(message.items()[1].as<int32_t>()));
      if (ends.size() == 1) {
        EXPECT_EQ(last, day_after - 1);
      }
    } else if (message.items()[1] == Value::Symbol("t")) {
      last = message.items()[2].columns()[1].span<int64_t>().back();
    }
  }
  EXPECT_THAT(ends, testing::ElementsAre("2020.03.09", "2020.03.10", "2020.03.11"));
}

TEST_F(CatchUpTest, AMessageToItComesAfterTheRowsThatWerePublishedBefore) {
  Open();
  Reader slow;
  Subscribe(slow);
  FallBehind(slow);
  const int64_t before = next_row_["t"];
  const ByteBuffer message =
      wire::EncodeMessage(wire::MessageKind::kAsync, Value::List({Value::Symbol("note")}));
  plant_->SendInOrder(&slow, message);
  Log("t", 100);
  plant_->Publish();
  slow.Read(kEverything);
  Serve();
  int64_t last = -1;
  for (const Value& each : slow.messages) {
    if (each.items()[0] == Value::Symbol("note")) {
      EXPECT_EQ(last, before - 1);
      continue;
    }
    last = each.items()[2].columns()[1].span<int64_t>().back();
  }
  EXPECT_EQ(last, before + 99);
}

TEST_F(CatchUpTest, TellsHowFarASubscriberIsBehind) {
  Open();
  Reader slow;
  Subscribe(slow, "t");
  FallBehind(slow);
  EXPECT_EQ(plant_->catch_up().LagOf(&slow).rows, 0u) << "the rest is in its queue";
  clock_.now_ns += 3 * kNsPerSecond;
  Log("t", 1000);
  Log("u", 500);
  plant_->Publish();
  const CatchUp::Lag lag = plant_->catch_up().LagOf(&slow);
  EXPECT_EQ(lag.rows, 1000u) << "rows of u are not for it";
  EXPECT_EQ(lag.ns, 3 * kNsPerSecond);
  Reader other;
  EXPECT_EQ(plant_->catch_up().LagOf(&other).rows, 0u);
}

TEST_F(CatchUpTest, FindsThoseThatReadNothing) {
  Open();
  Reader stalled, slow;
  Subscribe(stalled);
  Subscribe(slow);
  FallBehind(stalled);
  FallBehind(slow);
  for (int i = 0; i < 10; ++i) {
    clock_.now_ns += kNsPerSecond;
    slow.Read(1);
    EXPECT_THAT(
        plant_->FindStalled(10 * kNsPerSecond),
        testing::ElementsAreArray(i < 9 ? std::vector<Outlet*>{} : std::vector<Outlet*>{&stalled}));
  }
}

TEST_F(CatchUpTest, SaysWhyALogCannotBeRead) {
  Open();
  Reader slow, other;
  Subscribe(slow);
  Subscribe(other);
  other.Read(kEverything);
  FallBehind(slow);
  const uint64_t offset = plant_->log().totals().log_bytes;
  Log("t", 1000);
  plant_->Publish();
  // One bit of a row that the subscriber lacks.
  absl::StatusOr<File> log = File::OpenOrCreate(plant_->log().path());
  ASSERT_TRUE(log.ok());
  std::byte byte[1];
  ASSERT_TRUE(log->ReadAt(offset + 5000, byte).ok());
  byte[0] ^= std::byte{16};
  ASSERT_TRUE(log->WriteAt(offset + 5000, byte).ok());
  slow.Read(kEverything);
  Serve();
  ASSERT_EQ(failures_.size(), 1u);
  EXPECT_THAT(failures_[0], HasSubstr("checksum"));
  EXPECT_EQ(plant_->subscribers(), 1u);
  EXPECT_EQ(RowsOf(other, "t"), AllRowsOf("t"));
}

TEST_F(CatchUpTest, WithoutAReadableLogItStaysLive) {
  Open();
  Reader slow;
  Subscribe(slow);
  std::filesystem::rename(plant_->log().path(), plant_->log().path() + ".away");
  for (int i = 0; i < 100; ++i) {
    Log("t", 500);
    plant_->Publish();
  }
  EXPECT_FALSE(plant_->catch_up().Has(&slow));
  slow.Read(kEverything);
  EXPECT_EQ(RowsOf(slow, "t"), AllRowsOf("t"));
}

// Goal: whatever subscribers ask for and however they read, each gets every row once and in order,
// and knows its position. Method: random histories of rows, publications, ends of days and reads.
TEST_F(CatchUpTest, EachSubscriberGetsEveryRowOnceHoweverItReads) {
  struct Subscriber {
    Reader reader;
    std::set<std::string> tables;
    bool only_a = false;
    bool numbered = false;
  };
  uint64_t fell_behind = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto below = [&](uint64_t end) { return random() % end; };
    plant_.reset();
    std::filesystem::remove_all(directory_);
    next_row_.clear();
    rows_of_message_.assign(1, {});
    clock_.now_ns = kNoon;
    Open(/*batch=*/seed % 4 != 3, {"v"});
    std::vector<std::unique_ptr<Subscriber>> subscribers;
    for (int i = 0; i < 8; ++i) {
      Subscriber& one = *subscribers.emplace_back(std::make_unique<Subscriber>());
      for (const char* table : {"t", "u", "v"}) {
        if (below(4) > 0) one.tables.insert(table);
      }
      one.only_a = i % 4 == 3;
      one.numbered = i % 2 == 0;
      Subscription how{.numbered = one.numbered, .eager = i % 4 == 2};
      if (one.only_a) how.symbols.emplace("A");
      for (const std::string& table : one.tables) Subscribe(one.reader, table, how);
    }
    for (int step = 0; step < 1500; ++step) {
      const uint64_t what = below(100);
      if (what < 70) {
        Log(std::string(1, "tuv"[below(3)]), 1 + below(below(10) == 0 ? 3000 : 100));
      } else if (what < 80) {
        plant_->Publish();
      } else if (what < 98) {
        Reader& reader = subscribers[below(subscribers.size())]->reader;
        reader.Read(below(size_t{1} << (10 + below(11))));
        if (below(2) == 0) reader.Stop();
      } else if (what == 98 && below(5) == 0) {
        EndDay();
      }
      if (below(3) == 0 && plant_->catch_up().is_due()) {
        ASSERT_THAT(plant_->ServeBehind().failed, IsEmpty());
      }
    }
    plant_->Publish();
    for (const auto& one : subscribers) one->reader.Read(kEverything);
    Serve();
    ASSERT_THAT(failures_, IsEmpty());
    EXPECT_EQ(plant_->catch_up().size(), 0u);
    fell_behind += plant_->counters().fell_behind;
    for (const auto& one : subscribers) {
      for (const std::string table : {"t", "u", "v"}) {
        const std::vector<int64_t> expected =
            one->tables.contains(table) ? AllRowsOf(table, one->only_a) : std::vector<int64_t>();
        EXPECT_EQ(RowsOf(one->reader, table), expected) << table;
      }
      if (one->numbered && one->tables.size() == 3 && !one->only_a) {
        ExpectExactPositions(one->reader);
      }
    }
  }
  EXPECT_GT(fell_behind, 20u) << "the histories are too tame";
}

}  // namespace
}  // namespace tickstack::tickerplant
