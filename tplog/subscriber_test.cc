#include "tplog/subscriber.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "wire/codec.h"
#include "wire/protocol.h"
#include "wire/server.h"
#include "wire/upd.h"

namespace tickstack::tplog {
namespace {

using namespace std::chrono_literals;

// A tickerplant as far as a subscriber sees one, driven by hand. Tables `a` and `b` have one
// column; each message has rows that count up from 0 over both tables, so that a row that is lost,
// doubled or out of order shows.
class FakeTickerplant : public wire::ServerHandler {
 public:
  FakeTickerplant(wire::EventLoop& loop, wire::Address address)
      : loop_(loop), address_(std::move(address)) {
    std::string name = (std::filesystem::temp_directory_path() / "tickstack_tp_XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    NewLog("sym2013.10.07");
  }
  ~FakeTickerplant() override { std::filesystem::remove_all(folder_); }

  void Start() {
    absl::StatusOr<std::unique_ptr<wire::Server>> server =
        wire::Server::Listen(loop_, address_, {}, this);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  // As if killed: connections end, what was not published never will be.
  void Stop() {
    server_ = nullptr;
    subscriber_ = nullptr;
    published_ = log_.size();
  }

  void NewLog(std::string_view name) {
    if (!path_.empty()) ended_ = {path_, log_};
    path_ = (folder_ / name).string();
    reported_path_ = path_;
    log_.clear();
    published_ = 0;
    std::ofstream(path_, std::ios::binary) << std::string_view("\xff\x01\0\0\0\0\0\0", 8);
  }
  void Log(std::string_view table, int64_t rows) {
    log_.push_back({std::string(table), rows});
    std::ofstream(path_, std::ios::binary | std::ios::app) << AsText(Body(log_.back(), next_row_));
    log_.back().first_row = next_row_;
    next_row_ += rows;
  }
  // Publishes what was logged, a message per table as a batching tickerplant does; only the first
  // `messages_max` leave.
  void Publish(int messages_max = 100) {
    for (const std::string_view table : {"a", "b"}) {
      std::vector<int64_t> rows;
      for (size_t i = published_; i < log_.size(); ++i) {
        if (log_[i].table != table) continue;
        for (int64_t r = 0; r < log_[i].rows; ++r) rows.push_back(log_[i].first_row + r);
      }
      if (!rows.empty() && messages_max-- > 0) Send(table, rows);
    }
    published_ = log_.size();
  }
  // Publishes as a tickerplant without batching does: a message of one row at a time.
  void PublishRows(int messages_max) {
    for (size_t i = published_; i < log_.size(); ++i) {
      for (int64_t r = 0; r < log_[i].rows && messages_max-- > 0; ++r) {
        Send(log_[i].table, {log_[i].first_row + r});
      }
    }
    published_ = log_.size();
  }
  void EndDay(std::string_view next_log) {
    NewLog(next_log);
    if (subscriber_ != nullptr) {
      subscriber_->SendAsync(Value::List({Value::String(".u.end"), Value::Date(5028)}));
    }
  }

  bool numbered = true;
  std::optional<ShardId> shard;         // `.u.shard[]`.
  int64_t epoch = 0;                    // Of `.u.replica[]`; 0: it has no standbys.
  bool leads = true;                    // False: it answers nothing else.
  int64_t version = 0;                  // `.u.protocol`; 0: there is none.
  std::vector<int64_t> cuts;            // `.u.cuts`.
  std::function<void()> on_cuts;        // Right after the next answer to it.
  std::function<void()> on_subscribed;  // Right after the answer.
  Value asked_tables;                   // Tables of the last `.u.subx`.
  int log_requests = 0;
  int log_answers_cut = 0;  // Number of next log pieces that are cut in half by a disconnect.
  int connections = 0;
  void ReportPath(std::string path) { reported_path_ = std::move(path); }
  const std::string& path() const { return path_; }
  const std::filesystem::path& folder() const { return folder_; }
  bool has_subscriber() const { return subscriber_ != nullptr; }

  void OnOpened(wire::Connection&) override { ++connections; }
  void OnClosed(wire::Connection& connection, const absl::Status&) override {
    if (subscriber_ == &connection) subscriber_ = nullptr;
  }
  void OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) override {
    if (message.kind != wire::MessageKind::kSync) return;  // It is asked to say that it is alive.
    const Value request = *Decode(message.body);
    const wire::ReplyTicket ticket = connection.TakeTicket();
    const std::string text =
        request.is_list() ? std::string(request.items()[0].text()) : std::string(request.text());
    const Value i = Value::Long(static_cast<int64_t>(published_));
    const Value path = Value::Symbol(":" + reported_path_);
    if (text == ".u.protocol" && version > 0) return connection.Reply(ticket, Value::Long(version));
    if (text == ".u.replica[]" && epoch > 0) {
      const Value role = Value::Symbol(leads ? "leader" : "standby");
      return connection.Reply(ticket, Value::Dict(Value::Symbols({"role", "epoch"}),
                                                  Value::List({role, Value::Long(epoch)})));
    }
    if (!leads) return connection.CloseWhenSent(1s);
    if (text == ".u.shard[]" && shard) return connection.Reply(ticket, AnswerOf(*shard));
    if (text == ".u `i`L") return connection.Reply(ticket, Value::List({i, path}));
    if (text == ".u.L") return connection.Reply(ticket, path);
    if (text == ".u.cuts") {
      connection.Reply(ticket, Value::Vector(Type::kLong, std::span<const int64_t>(cuts)));
      if (on_cuts) std::exchange(on_cuts, nullptr)();
      return;
    }
    if (text == ".u.t") return connection.Reply(ticket, Value::Symbols({"a", "b"}));
    if (text == "a" || text == "b") return connection.Reply(ticket, Empty());
    if (text == ".u.log" && request.items().size() == 4 && log_answers_cut > 0) {
      --log_answers_cut;
      return SendHalf(connection, LogPart(request));
    }
    if (text == ".u.log" && numbered) return connection.Reply(ticket, LogPart(request));
    const bool subscribes = numbered ? text == ".u.subx" : text.starts_with("(.u.sub");
    if (!subscribes) return connection.ReplyError(ticket, text);
    const Value schemas = Value::List(
        {Value::List({Value::Symbol("a"), Empty()}), Value::List({Value::Symbol("b"), Empty()})});
    subscriber_ = &connection;
    if (numbered) asked_tables = request.items()[1];
    connection.Reply(ticket, numbered ? Value::List({schemas, i, path})
                                      : Value::List({schemas, Value::List({i, path})}));
    if (on_subscribed) on_subscribed();
  }

 private:
  struct Logged {
    std::string table;
    int64_t rows;
    int64_t first_row = 0;
  };

  static Value Empty() { return Value::Table({"n"}, {Value::Vector(Type::kLong, ByteBuffer())}); }
  static Value RowsFrom(int64_t first, int64_t rows) {
    std::vector<int64_t> numbers(static_cast<size_t>(rows));
    std::iota(numbers.begin(), numbers.end(), first);
    return Value::Vector(Type::kLong, std::span<const int64_t>(numbers));
  }
  static ByteBuffer Body(const Logged& logged, int64_t first_row) {
    ByteBuffer body;
    Encode(Value::List({Value::Symbol("upd"), Value::Symbol(logged.table),
                        Value::List({RowsFrom(first_row, logged.rows)})}),
           body);
    return body;
  }
  void Send(std::string_view table, const std::vector<int64_t>& rows) {
    if (subscriber_ == nullptr) return;
    std::vector<Value> upd = {
        Value::Symbol("upd"), Value::Symbol(table),
        Value::Table({"n"}, {Value::Vector(Type::kLong, std::span<const int64_t>(rows))})};
    if (numbered) upd.push_back(Value::Long(static_cast<int64_t>(log_.size())));
    subscriber_->SendAsync(Value::List(std::move(upd)));
  }
  static void SendHalf(wire::Connection& connection, const Value& answer) {
    const ByteBuffer whole = wire::EncodeMessage(wire::MessageKind::kResponse, answer);
    ByteBuffer half;
    half.Append(whole.span().first(whole.size() / 2));
    connection.Queue(std::move(half));
    connection.CloseWhenSent(1s);
  }
  Value LogPart(const Value& request) {
    ++log_requests;
    const bool ended = request.items().size() == 4 && ended_.first != path_ &&
                       request.items()[3].symbol() == ":" + ended_.first;
    const std::vector<Logged>& log = ended ? ended_.second : log_;
    const auto from = static_cast<size_t>(request.items()[1].as<int64_t>());
    const auto most = static_cast<size_t>(request.items()[2].as<int64_t>());
    ByteBuffer bytes;
    for (size_t i = from; i < log.size() && (bytes.empty() || bytes.size() < most); ++i) {
      bytes.Append(Body(log[i], log[i].first_row));
      if (i - from >= 999) break;  // Several pieces for the longer logs.
    }
    return Value::Vector(Type::kByte, std::move(bytes));
  }

  wire::EventLoop& loop_;
  const wire::Address address_;
  std::filesystem::path folder_;
  std::string path_;
  std::string reported_path_;
  std::vector<Logged> log_;
  std::pair<std::string, std::vector<Logged>> ended_;  // The log before, and its path.
  size_t published_ = 0;
  int64_t next_row_ = 0;
  wire::Connection* subscriber_ = nullptr;
  std::unique_ptr<wire::Server> server_;
};

// The simplest state that takes each row once: the numbers in each table, in the order in which
// they came.
class KeptRows final : public SubscribedState {
 public:
  void OnSchemas(std::span<const Schema>) override {
    if (std::exchange(starts_over, false)) StartOver();
  }
  LiveOutcome OnLive(std::span<const std::byte> body) override {
    if (wire::PeekVerb(body) == wire::protocol::kEnd) {
      ended_days.push_back(std::move(rows));
      StartOver();
      return LiveOutcome::kDayEnded;
    }
    wire::UpdView upd;
    EXPECT_TRUE(decoder_.Decode(body, &upd, 1).ok());
    if (upd.seq && !position_.OnPublished(upd.table, upd.batch.rows, *upd.seq)) {
      return LiveOutcome::kOutOfOrder;
    }
    Append(upd, 0);
    rows_published += upd.batch.rows;
    return LiveOutcome::kTaken;
  }
  void OnLogged(std::span<const std::byte> body) override {
    wire::UpdView upd;
    EXPECT_TRUE(decoder_.Decode(body, &upd, 1).ok());
    const uint64_t known = position_.RowsHere(upd.table, upd.batch.rows);
    Append(upd, static_cast<size_t>(known));
    rows_replayed += upd.batch.rows - known;
    position_.OnReplayed();
  }
  void StartOver() override {
    rows.clear();
    position_.Reset();
    log_ = {};
  }
  Position& position() override { return position_; }
  SubscriptionCounters& subscription() override { return counters; }
  const LogIdentity& log() const override { return log_; }
  void SetLog(LogIdentity log) override { log_ = std::move(log); }

  std::map<std::string, std::vector<int64_t>, std::less<>> rows;
  std::vector<std::map<std::string, std::vector<int64_t>, std::less<>>> ended_days;
  bool starts_over = false;  // The next schemas empty the state.
  uint64_t rows_published = 0;
  uint64_t rows_replayed = 0;
  SubscriptionCounters counters;

 private:
  void Append(const wire::UpdView& upd, size_t begin_row) {
    std::vector<int64_t>& table = rows[std::string(upd.table)];
    for (size_t row = begin_row; row < upd.batch.rows; ++row) {
      table.push_back(LoadLittle<int64_t>(upd.batch.columns[0].data.data() + row * 8));
    }
  }

  wire::UpdDecoder decoder_;
  Position position_;
  LogIdentity log_;
};

class SubscriberTest : public testing::Test {
 protected:
  SubscriberTest() {
    address_.unix_path = "@tickstack_subscriber_test_" + std::to_string(getpid());
    plant_ = std::make_unique<FakeTickerplant>(loop_, address_);
  }

  void Subscribe(bool read_log_file = true) {
    SubscriberOptions options;
    options.tickerplant = address_;
    options.client.first_pause = 5ms;
    options.client.longest_pause = 5ms;
    options.read_log_file = read_log_file;
    options.tables = tables_;
    options.shard = shard_;
    subscriber_ = std::make_unique<Subscriber>(loop_, options, &kept_);
  }
  bool Until(const std::function<bool()>& done) { return loop_.RunUntil(done, 20s); }
  bool UntilLive() {
    return Until([&] { return kept_.counters.live == 1; });
  }
  bool UntilRows(size_t rows) {
    return Until([&] { return Rows().size() >= rows; });
  }
  void Lose() {
    plant_->Stop();
    ASSERT_TRUE(Until([&] { return kept_.counters.connected == 0; }));
  }
  // All rows of both tables: 0, 1, 2 ... if each is there once.
  std::vector<int64_t> Rows() {
    std::vector<int64_t> all;
    for (const auto& [table, rows] : kept_.rows) {
      EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end())) << "order within table " << table;
      all.insert(all.end(), rows.begin(), rows.end());
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  void ExpectRowsOnce(size_t rows, int64_t first = 0) {
    std::vector<int64_t> expected(rows);
    std::iota(expected.begin(), expected.end(), first);
    EXPECT_EQ(Rows(), expected);
  }

  std::vector<std::string> tables_;
  ShardId shard_;
  KeptRows kept_;
  wire::Address address_;
  wire::EventLoop loop_;
  std::unique_ptr<FakeTickerplant> plant_;
  std::unique_ptr<Subscriber> subscriber_;
};

TEST_F(SubscriberTest, ReplaysTheLogAndGoesOnLive) {
  plant_->Start();
  plant_->Log("a", 3);
  plant_->Log("b", 2);
  plant_->Publish();
  Subscribe();
  ASSERT_TRUE(UntilLive());
  ExpectRowsOnce(5);
  EXPECT_EQ(kept_.rows_replayed, 5u);
  EXPECT_EQ(plant_->log_requests, 1) << "the first message, to compare; the rest from the file";
  plant_->Log("a", 4);
  plant_->Publish();
  ASSERT_TRUE(UntilRows(9));
  ExpectRowsOnce(9);
  EXPECT_EQ(kept_.rows_published, 4u);
}

TEST_F(SubscriberTest, SubscribesToTheTablesThatItIsToldTo) {
  plant_->Start();
  Subscribe();
  ASSERT_TRUE(UntilLive());
  EXPECT_EQ(plant_->asked_tables, Value::Symbol("")) << "all";
  Lose();
  tables_ = {"b"};
  Subscribe();
  plant_->Start();
  ASSERT_TRUE(UntilLive());
  EXPECT_EQ(plant_->asked_tables, Value::Symbols({"b"}));
}

TEST_F(SubscriberTest, DoesNotSubscribeToALaterVersionOfTheProtocol) {
  plant_->version = wire::protocol::kVersion + 1;
  plant_->Start();
  Subscribe();
  ASSERT_TRUE(Until([&] { return plant_->connections >= 3; })) << "it disconnects and tries again";
  EXPECT_EQ(kept_.counters.live, 0u);
  plant_->version = wire::protocol::kVersion;
  ASSERT_TRUE(UntilLive());
}

// Goal: a process of a shard gets no rows of another shard or map.
TEST_F(SubscriberTest, DoesNotSubscribeToAnotherShard) {
  shard_ = {"b", "0123456789abcdef"};
  for (const ShardId& other :
       {ShardId{"a", "0123456789abcdef"}, ShardId{"b", "fedcba9876543210"}, ShardId{}}) {
    plant_->shard = other;
    plant_->Start();
    Subscribe();
    const int connections = plant_->connections;
    ASSERT_TRUE(Until([&] { return plant_->connections >= connections + 3; }));
    EXPECT_EQ(kept_.counters.live, 0u);
    plant_->shard = shard_;
    ASSERT_TRUE(UntilLive());
    Lose();
  }
}

TEST_F(SubscriberTest, WaitsForATickerplantThatIsNotThereYet) {
  Subscribe();
  EXPECT_FALSE(loop_.RunUntil([&] { return kept_.counters.connected == 1; }, 30ms));
  plant_->Start();
  plant_->Log("a", 3);
  plant_->Publish();
  ASSERT_TRUE(UntilRows(3));
  ExpectRowsOnce(3);
}

TEST_F(SubscriberTest, ReplaysALongLogBeforeItSubscribes) {
  plant_->Start();
  for (int i = 0; i < 12'000; ++i) plant_->Log(i % 3 == 0 ? "b" : "a", 1);
  plant_->Publish();
  size_t rows_when_subscribed = 0;
  plant_->on_subscribed = [&] { rows_when_subscribed = Rows().size(); };
  Subscribe();
  ASSERT_TRUE(UntilLive());
  EXPECT_EQ(rows_when_subscribed, 12'000u);
  ExpectRowsOnce(12'000);
}

TEST_F(SubscriberTest, UpdsThatComeDuringTheReplayWaitForItsEnd) {
  plant_->Start();
  for (int i = 0; i < 4000; ++i) plant_->Log("a", 2);
  plant_->Publish();
  plant_->on_subscribed = [&] {
    for (int i = 0; i < 10; ++i) {
      plant_->Log("a", 5);
      plant_->Log("b", 1);
      plant_->Publish();
    }
  };
  Subscribe();
  ASSERT_TRUE(UntilRows(8060));
  ExpectRowsOnce(8060);
}

TEST_F(SubscriberTest, TakesEachRowOnceWhenAPublicationIsCutInTheMiddle) {
  plant_->Start();
  plant_->Log("a", 3);
  plant_->Publish();
  Subscribe();
  ASSERT_TRUE(UntilLive());
  for (int round = 0; round < 5; ++round) {
    const size_t before = Rows().size();
    plant_->Log("a", 5);
    plant_->Log("b", 2);
    plant_->Log("a", 4);
    if (round % 2 == 0) {
      plant_->Publish(1);  // `a` of this publication, and no `b`.
      ASSERT_TRUE(UntilRows(before + 9));
    } else {
      plant_->PublishRows(6);
      ASSERT_TRUE(UntilRows(before + 6));
    }
    Lose();
    plant_->Log("b", 1);
    plant_->Stop();
    plant_->Start();
    ASSERT_TRUE(UntilLive());
    ExpectRowsOnce(before + 12);
  }
  EXPECT_EQ(kept_.counters.starts_over, 0u);
}

TEST_F(SubscriberTest, StreamsALogThatItCannotOpen) {
  plant_->Start();
  for (int i = 0; i < 7000; ++i) plant_->Log("a", 1);
  plant_->Publish();
  plant_->ReportPath("/nowhere/sym2013.10.07");
  plant_->on_subscribed = [&] {
    plant_->Log("b", 2);
    plant_->Publish();
  };
  Subscribe();
  ASSERT_TRUE(UntilRows(7002));
  ExpectRowsOnce(7002);
  EXPECT_GE(plant_->log_requests, 7);
}

TEST_F(SubscriberTest, StreamsTheLogIfTheFileOfThatNameIsAnother) {
  const std::string other = (plant_->folder() / "other").string();
  {
    ByteBuffer bytes;
    bytes.Append(std::string_view("\xff\x01\0\0\0\0\0\0", 8));
    for (int i = 0; i < 10; ++i) {
      Encode(Value::List(
                 {Value::Symbol("upd"), Value::Symbol("a"), Value::List({Value::Longs({77})})}),
             bytes);
    }
    std::ofstream(other, std::ios::binary) << AsText(bytes);
  }
  plant_->Start();
  plant_->Log("a", 5);
  plant_->Publish();
  plant_->ReportPath(other);
  Subscribe();
  ASSERT_TRUE(UntilLive());
  ExpectRowsOnce(5);
}

TEST_F(SubscriberTest, StreamsTheLogIfItIsToldTo) {
  plant_->Start();
  plant_->Log("a", 5);
  plant_->Publish();
  Subscribe(false);
  ASSERT_TRUE(UntilLive());
  ExpectRowsOnce(5);
}

// Only the leader of a cluster answers, and it need not be the first address.
TEST_F(SubscriberTest, StreamsTheLogFromTheAddressThatAnswered) {
  plant_->Start();
  plant_->Log("a", 5);
  plant_->Publish();
  const wire::Address with_log = std::exchange(address_, {});
  address_.unix_path = with_log.unix_path + "_nobody";
  address_.others = {with_log};
  Subscribe(false);
  ASSERT_TRUE(UntilLive());
  ExpectRowsOnce(5);
}

// A leader that was paused has fewer rows than its successor published, and answers before it knows
// that it was replaced.
TEST_F(SubscriberTest, LeavesALeaderThatWasReplaced) {
  plant_->epoch = 2;
  plant_->Start();
  for (int i = 0; i < 3; ++i) plant_->Log("a", 5);
  plant_->Publish();
  const wire::Address successor = std::exchange(address_, {});
  address_.unix_path = successor.unix_path + "_paused";
  FakeTickerplant paused(loop_, address_);
  address_.others = {successor};
  paused.epoch = 1;
  paused.Log("a", 5);
  paused.Publish();
  paused.ReportPath(plant_->path());
  Subscribe(false);
  ASSERT_TRUE(UntilLive());
  paused.Start();
  plant_->Stop();
  ASSERT_TRUE(Until([&] { return paused.connections > 1; }));
  EXPECT_FALSE(paused.has_subscriber());
  plant_->Start();
  ASSERT_TRUE(Until([&] { return plant_->has_subscriber(); }));
  ASSERT_TRUE(UntilLive());
  EXPECT_EQ(kept_.counters.starts_over.load(), 0u);
  ExpectRowsOnce(15);
}

// A standby may know of a leader that a cluster which was begun again does not have.
TEST_F(SubscriberTest, TakesNoEpochFromAStandby) {
  plant_->epoch = 1;
  plant_->Start();
  plant_->Log("a", 5);
  plant_->Publish();
  const wire::Address leader = std::exchange(address_, {});
  address_.unix_path = leader.unix_path + "_standby";
  FakeTickerplant standby(loop_, address_);
  standby.epoch = 7;
  standby.leads = false;
  standby.Start();
  address_.others = {leader};
  Subscribe(false);
  ASSERT_TRUE(UntilLive());
  EXPECT_GT(standby.connections, 0);
  ExpectRowsOnce(5);
}

TEST_F(SubscriberTest, AStreamThatIsCutInsideAMessageIsAskedForAgain) {
  plant_->Start();
  for (int i = 0; i < 40; ++i) plant_->Log("a", 100);
  plant_->Publish();
  plant_->log_answers_cut = 2;
  Subscribe(false);
  ASSERT_TRUE(UntilLive());
  ExpectRowsOnce(4000);
  EXPECT_EQ(kept_.counters.messages_missing, 0u);
  EXPECT_EQ(plant_->log_answers_cut, 0);
  plant_->Log("b", 3);
  plant_->Publish();
  ASSERT_TRUE(UntilRows(4003));
  ExpectRowsOnce(4003);
}

TEST_F(SubscriberTest, ADayThatEndsWhileItsLogIsStreamedIsWhole) {
  plant_->Start();
  for (int i = 0; i < 20; ++i) plant_->Log("a", 10);
  plant_->Publish();
  // The next log is longer by the time that it is asked for.
  plant_->on_subscribed = [&] {
    plant_->EndDay("sym2013.10.08");
    for (int i = 0; i < 50; ++i) plant_->Log("b", 1);
  };
  Subscribe(false);
  ASSERT_TRUE(Until([&] { return kept_.ended_days.size() == 1; }));
  EXPECT_EQ(kept_.ended_days[0]["a"].size(), 200u);
  EXPECT_EQ(kept_.ended_days[0].count("b"), 0u) << "rows of the next day";
  EXPECT_EQ(kept_.counters.messages_missing, 0u);
  plant_->Publish();
  ASSERT_TRUE(UntilRows(50));
  ExpectRowsOnce(50, 200);
}

TEST_F(SubscriberTest, AStateThatNewSchemasEmptyKnowsItsLog) {
  plant_->Start();
  plant_->Log("a", 3);
  plant_->Publish();
  plant_->cuts = {1};
  Subscribe();
  ASSERT_TRUE(UntilLive());
  Lose();
  kept_.starts_over = true;
  plant_->Start();
  ASSERT_TRUE(UntilLive());
  EXPECT_EQ(kept_.log().path, plant_->path());
  EXPECT_EQ(kept_.log().cuts, 1U);
  ExpectRowsOnce(3);
}

TEST_F(SubscriberTest, StartsOverInAnotherLog) {
  plant_->Start();
  plant_->Log("a", 5);
  plant_->Publish();
  Subscribe();
  ASSERT_TRUE(UntilLive());
  Lose();
  plant_->NewLog("sym2013.10.08");
  plant_->Log("b", 3);
  plant_->Stop();
  plant_->Start();
  ASSERT_TRUE(UntilLive());
  ExpectRowsOnce(3, 5);
  EXPECT_EQ(kept_.counters.starts_over, 1u);
}

TEST_F(SubscriberTest, StartsOverIfTheLogHasLostWhatWasPublished) {
  plant_->Start();
  for (int i = 0; i < 5; ++i) plant_->Log("a", 1);
  plant_->Publish();
  Subscribe();
  ASSERT_TRUE(UntilLive());
  Lose();
  plant_->NewLog("sym2013.10.07");  // The same name, but shorter.
  plant_->Log("b", 3);
  plant_->Stop();
  plant_->Start();
  ASSERT_TRUE(UntilLive());
  ExpectRowsOnce(3, 5);
}

TEST_F(SubscriberTest, StartsOverIfTheLogHoldsOtherRowsThanWerePublished) {
  plant_->Start();
  plant_->Log("a", 1);
  plant_->Publish();
  Subscribe();
  ASSERT_TRUE(UntilLive());
  plant_->Log("a", 5);
  plant_->Publish();
  ASSERT_TRUE(UntilRows(6));
  Lose();
  plant_->NewLog("sym2013.10.07");
  plant_->Log("a", 1);
  plant_->Log("b", 3);
  plant_->Stop();
  plant_->Start();
  ASSERT_TRUE(Until([&] { return kept_.counters.starts_over == 1; }));
  ASSERT_TRUE(UntilLive());
  ExpectRowsOnce(4, 6);
}

TEST_F(SubscriberTest, FollowsTheTickerplantIntoTheNextDay) {
  plant_->Start();
  plant_->Log("a", 5);
  plant_->Publish();
  Subscribe();
  ASSERT_TRUE(UntilLive());
  plant_->EndDay("sym2013.10.08");
  plant_->Log("a", 2);
  plant_->Publish();
  ASSERT_TRUE(Until([&] { return kept_.ended_days.size() == 1 && Rows().size() == 2; }));
  plant_->Log("a", 4);
  plant_->Log("b", 1);
  plant_->Publish(1);
  ASSERT_TRUE(UntilRows(6));
  Lose();
  plant_->Start();
  ASSERT_TRUE(UntilLive());
  ExpectRowsOnce(7, 5);
  EXPECT_EQ(kept_.counters.starts_over, 0u);
}

TEST_F(SubscriberTest, StartsOverIfADayEndedWhileItWasAway) {
  plant_->Start();
  plant_->Log("a", 5);
  plant_->Publish();
  Subscribe();
  ASSERT_TRUE(UntilLive());
  Lose();
  plant_->EndDay("sym2013.10.08");
  for (int i = 0; i < 9; ++i) plant_->Log("b", 1);
  plant_->Stop();
  plant_->Start();
  ASSERT_TRUE(UntilLive());
  ExpectRowsOnce(9, 5);
}

TEST_F(SubscriberTest, StartsOverIfAPowerCutReplacedWhatWasPublished) {
  plant_->cuts = {3};
  plant_->Start();
  for (int i = 0; i < 5; ++i) plant_->Log("a", 1);
  plant_->Publish();
  Subscribe();
  ASSERT_TRUE(UntilLive());
  Lose();
  plant_->Start();
  ASSERT_TRUE(UntilLive());
  EXPECT_EQ(kept_.counters.starts_over, 0u) << "it knows the cut";
  Lose();
  plant_->NewLog("sym2013.10.07");
  plant_->cuts = {3, 4};
  for (int i = 0; i < 6; ++i) plant_->Log("a", 1);
  plant_->Stop();
  plant_->Start();
  ASSERT_TRUE(UntilLive());
  EXPECT_EQ(kept_.counters.starts_over, 1u);
  ExpectRowsOnce(6, 5);
}

// Goal: the cuts of a log are not taken for those of the next one, whose first cut would then be
// taken for a known one.
// Method: the day ends between the answer about the cuts and the question for the position.
TEST_F(SubscriberTest, KnowsNoCutsOfALogThatBeganAfterItAsked) {
  plant_->cuts = {1};
  plant_->on_cuts = [this] {
    plant_->cuts = {};
    plant_->NewLog("sym2013.10.08");
    for (int i = 0; i < 2; ++i) plant_->Log("a", 1);
    plant_->Publish();
  };
  plant_->Start();
  plant_->Log("a", 1);
  Subscribe();
  ASSERT_TRUE(UntilLive());
  ExpectRowsOnce(2, 1);
  EXPECT_EQ(kept_.log().cuts, 0u);
  Lose();
  plant_->NewLog("sym2013.10.08");
  plant_->cuts = {0};
  for (int i = 0; i < 4; ++i) plant_->Log("a", 1);
  plant_->Stop();
  plant_->Start();
  ASSERT_TRUE(UntilLive());
  ExpectRowsOnce(4, 3);
}

TEST_F(SubscriberTest, SubscribesToPlainKdbTickAndFillsItsTablesAgainAfterALoss) {
  plant_->numbered = false;
  plant_->Start();
  for (int i = 0; i < 6000; ++i) plant_->Log("a", 1);
  plant_->Publish();
  Subscribe();
  ASSERT_TRUE(UntilLive());
  ExpectRowsOnce(6000);
  plant_->Log("b", 2);
  plant_->Publish();
  ASSERT_TRUE(UntilRows(6002));
  plant_->Log("a", 3);
  plant_->Log("b", 3);
  plant_->Publish(1);
  ASSERT_TRUE(UntilRows(6005));
  Lose();
  ExpectRowsOnce(6005 - 3 + 3);
  plant_->Start();
  ASSERT_TRUE(UntilLive());
  ExpectRowsOnce(6008);
  EXPECT_EQ(kept_.counters.starts_over, 1u);
}

TEST_F(SubscriberTest, CountsTheMessagesOfALogThatNobodyCanRead) {
  plant_->numbered = false;
  plant_->Start();
  for (int i = 0; i < 4; ++i) plant_->Log("a", 1);
  plant_->Publish();
  plant_->ReportPath("/nowhere/sym2013.10.07");
  Subscribe();
  ASSERT_TRUE(UntilLive());
  EXPECT_EQ(kept_.counters.messages_missing, 4u);
  plant_->Log("b", 2);
  plant_->Publish();
  ASSERT_TRUE(UntilRows(2));
  ExpectRowsOnce(2, 4);
}

}  // namespace
}  // namespace tickstack::tplog
