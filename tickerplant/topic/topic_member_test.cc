// Members of a cluster whose log is a topic in memory, which answers late, loses answers with the
// process that waits for them, and cannot be reached for a while.

#include "tickerplant/topic/topic_member.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <numeric>
#include <random>

#include "base/logging.h"
#include "base/status.h"
#include "tickerplant/tables_text.h"
#include "tickerplant/tickerplant_service.h"
#include "tplog/tplog_for_test.h"
#include "wire/client.h"
#include "wire/codec.h"
#include "wire/simulation.h"

namespace tickstack::tickerplant {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr int64_t kNowNs = 9'500 * kNsPerDay + 15 * 3600 * kNsPerSecond;  // In 2026.
constexpr int64_t kLeaseNs = 600'000'000;

// The topic, which survives its links.
struct Records {
  std::vector<std::string> all;
  int64_t oldest = 0;
};

class MemoryTopic final : public kafka::RecordTopic {
 public:
  MemoryTopic(wire::EventLoop& loop, Records* records, std::minstd_rand* random, Events events,
              const bool* is_cut, const bool* is_dead)
      : loop_(loop),
        records_(records),
        random_(random),
        events_(std::move(events)),
        is_cut_(is_cut),
        is_dead_(is_dead),
        timer_(loop) {
    timer_.Every(1ms, [this] { Step(); });
  }
  // What is under way may still arrive.
  ~MemoryTopic() override {
    while (!sent_.empty() && (*random_)() % 3 != 0) Deliver();
  }

  void Append(std::span<const std::byte> record) override {
    if (!*is_dead_) sent_.emplace_back(AsText(record));
  }
  void Read(int64_t from) override {
    next_ = from == kOldest ? records_->oldest : from;
    is_reading_ = true;
    is_at_end_ = is_told_ = false;
    known_ = next_;
  }
  void StopReading() override { is_reading_ = is_at_end_ = is_told_ = false; }
  void Flush() override {
    if (*is_cut_) return;
    while (!sent_.empty()) Deliver();
    loop_.Post([this, alive = std::weak_ptr(alive_)] {
      while (!alive.expired() && !answers_.empty()) {
        const int64_t offset = answers_.front();
        answers_.pop_front();
        events_.appended(offset);
      }
    });
  }
  absl::StatusOr<std::optional<Taken>> Take() override {
    const auto end = static_cast<int64_t>(records_->all.size());
    is_told_ = false;
    if (!is_reading_ || *is_cut_) return std::nullopt;
    if (next_ < records_->oldest || next_ > end) return DataLoss("no record {}", next_);
    if (next_ == end || next_ >= known_) return std::nullopt;
    const std::string& record = records_->all[static_cast<size_t>(next_)];
    return Taken{next_++, ByteBuffer(AsBytes(record))};
  }
  bool at_end() const override { return is_at_end_ && next_ >= known_; }
  std::optional<int64_t> oldest() const override {
    return is_reading_ ? std::optional(records_->oldest) : std::nullopt;
  }
  absl::Status problem() const override {
    return *is_cut_ ? absl::UnavailableError("cut off") : absl::OkStatus();
  }

 private:
  void Deliver() {
    answers_.push_back(static_cast<int64_t>(records_->all.size()));
    records_->all.push_back(std::move(sent_.front()));
    sent_.pop_front();
  }
  void Step() {
    if (*is_cut_) return;
    if (!std::exchange(is_opened_, true)) return events_.opened("cluster/topic");
    for (auto n = (*random_)() % 4; n > 0 && !sent_.empty(); --n) Deliver();
    const std::weak_ptr alive = alive_;
    for (auto n = (*random_)() % 4; n > 0 && !answers_.empty(); --n) {
      const int64_t offset = answers_.front();
      answers_.pop_front();
      events_.appended(offset);
      if (alive.expired()) return;
    }
    if (!is_reading_ || (*random_)() % 3 == 0) return;
    // As in Kafka, a fetch may end before the end of the topic, and says nothing if there is
    // nothing.
    const auto end = static_cast<int64_t>(records_->all.size());
    const int64_t before =
        std::exchange(known_, std::min(end, known_ + static_cast<int64_t>((*random_)() % 50)));
    const bool was_at_end = std::exchange(is_at_end_, known_ == end);
    const bool has_news =
        known_ != before || is_at_end_ != was_at_end || next_ > end || next_ < records_->oldest;
    if (has_news && !std::exchange(is_told_, true)) events_.readable();
  }

  wire::EventLoop& loop_;
  Records* const records_;
  std::minstd_rand* const random_;
  const Events events_;
  const bool* const is_cut_;
  const bool* const is_dead_;
  std::deque<std::string> sent_;
  std::deque<int64_t> answers_;
  bool is_opened_ = false, is_reading_ = false, is_at_end_ = false, is_told_ = false;
  int64_t next_ = 0, known_ = 0;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  wire::Timer timer_;
};

// A process.
struct Member {
  explicit Member(std::string its_name) : name(std::move(its_name)) {}
  bool leads() const { return service != nullptr && service->logged().date != kNullInt; }

  const std::string name;
  std::vector<Schema> schemas = {*ParseSchema("trade", "time p, sym s, n j")};
  bool is_cut = false;
  bool is_dead = false;
  std::unique_ptr<TopicMember> role;
  std::unique_ptr<TickerplantService> service;
  std::unique_ptr<wire::Server> server;
  bool elected = false;
  absl::Status ended;
  bool has_ended = false;
};

// Publishes numbered rows, one after the other, to whichever member takes them.
class RowFeed : public wire::ClientHandler {
 public:
  explicit RowFeed(wire::EventLoop& loop) : loop_(loop) {}
  void ConnectTo(uint16_t port) {
    client_ = nullptr;
    is_waiting_ = false;
    port_ = port;
    if (port == 0) return;
    client_ = std::make_unique<wire::Client>(loop_, wire::Address{"127.0.0.1", port, ""},
                                             wire::ClientOptions{}, this);
  }
  uint16_t port() const { return port_; }
  int64_t accepted() const { return accepted_; }
  // Sends 1 to 4 rows, which a member takes as one block.
  void Send(uint32_t rows) {
    wire::Connection* const connection = client_ == nullptr ? nullptr : client_->connection();
    if (connection == nullptr || is_waiting_) return;
    is_waiting_ = true;
    for (uint32_t i = 0; i < rows; ++i) connection->SendAsync(Upd(accepted_ + i));
    connection->Call(Upd(accepted_ + rows),
                     [this, rows, client = client_.get()](const absl::StatusOr<Value>& answer) {
                       if (client != client_.get()) return;
                       is_waiting_ = false;
                       if (answer.ok()) accepted_ += rows + 1;
                     });
  }
  // Begins again with row 0, whose content is `begin`.
  void Forget(int64_t begin = 0) {
    ConnectTo(0);
    accepted_ = 0;
    begin_ = begin;
  }
  void EndDay() {
    wire::Connection* const connection = client_ == nullptr ? nullptr : client_->connection();
    if (connection == nullptr) return;
    connection->Call(Value::String(".u.endofday[]"), [](const absl::StatusOr<Value>&) {});
  }
  void OnConnected(wire::Connection&) override {}
  void OnMessage(wire::Connection&, const wire::ReceivedMessage&) override {}
  void OnClosed(wire::Connection&, const absl::Status&) override { is_waiting_ = false; }

 private:
  Value Upd(int64_t row) const {
    return Value::List(
        {Value::Symbol(".u.updn"), Value::Symbol("nyse"), Value::Long(row), Value::Symbol("trade"),
         Value::List({Value::Timestamp(5), Value::Symbol("A"), Value::Long(begin_ + row)})});
  }

  wire::EventLoop& loop_;
  std::unique_ptr<wire::Client> client_;
  uint16_t port_ = 0;
  bool is_waiting_ = false;
  int64_t accepted_ = 0;
  int64_t begin_ = 0;
};

class TopicMemberTest : public tplog::TplogTest {
 protected:
  TopicMemberTest() {
    InitLogging("test", std::getenv("TICKSTACK_DEBUG") ? LogLevel::kInfo : LogLevel::kOff);
  }
  ~TopicMemberTest() override {
    feed_.ConnectTo(0);
    for (Member* member : {&a_, &b_, &c_}) Kill(*member);
  }

  std::string DirectoryOf(const Member& member) const { return directory_ + "/" + member.name; }

  void Start(Member& member, std::string first_leader = "") {
    Kill(member);
    member.elected = member.has_ended = member.is_dead = false;
    member.ended = absl::OkStatus();
    absl::StatusOr<std::unique_ptr<TopicMember>> role = TopicMember::Start(
        loop_,
        {member.name, member.name + ":5010", kLeaseNs, std::move(first_leader), ShardId(),
         TablesText(member.schemas)},
        {.directory = DirectoryOf(member)},
        [&](kafka::RecordTopic::Events events) {
          may_create_ = events.may_create;
          return std::make_unique<MemoryTopic>(loop_, &records_, &random_, std::move(events),
                                               &member.is_cut, &member.is_dead);
        },
        [&member] { member.elected = true; },
        [&member](const absl::Status& why) {
          member.ended = why;
          member.has_ended = true;
        });
    ASSERT_TRUE(role.ok()) << role.status();
    member.role = *std::move(role);
  }
  // As the process does when it is elected, which is not within a callback.
  void Settle(Member& member) {
    if (member.role == nullptr || !member.elected || member.service != nullptr) return;
    TickerplantOptions options;
    options.schemas = member.schemas;
    options.log_directory = DirectoryOf(member);
    auto plant = Tickerplant::Open(options, *DayClock::Create("UTC", 0, std::nullopt),
                                   &loop_.clock(), member.role->TakeLog());
    ASSERT_TRUE(plant.ok()) << plant.status();
    member.service = std::make_unique<TickerplantService>(
        loop_, *std::move(plant), BatchClock(0, std::nullopt, loop_.clock().NowNs()),
        [&member](const absl::Status& why) {
          member.ended = why;
          member.has_ended = true;
        });
    member.role->Lead(*member.service);
    member.server = *wire::Server::Listen(loop_, {"127.0.0.1", 0, ""}, {}, member.service.get());
  }
  void Kill(Member& member) {
    member.is_dead = true;
    if (feed_.port() != 0 && member.server != nullptr && feed_.port() == member.server->port()) {
      feed_.ConnectTo(0);
    }
    member.server = nullptr;
    member.service = nullptr;
    member.role = nullptr;
  }
  // Lets members be what they are elected for, restarts those that end, and feeds rows to a leader.
  void Turn() {
    simulation_.RunFor(5ms);
    for (Member* member : {&a_, &b_, &c_}) {
      Settle(*member);
      if (member->has_ended && member->role != nullptr) {
        EXPECT_FALSE(absl::IsDataLoss(member->ended)) << member->ended;
        EXPECT_FALSE(absl::IsInternal(member->ended)) << member->ended;
        Start(*member);
      }
    }
    const auto leads = [](const Member* member) { return member->leads(); };
    std::vector<Member*> leaders;
    std::ranges::copy_if(std::vector<Member*>{&a_, &b_, &c_}, std::back_inserter(leaders), leads);
    if (!leaders.empty() && (feed_.port() == 0 || random_() % 40 == 0)) {
      const uint16_t port = leaders[random_() % leaders.size()]->server->port();
      if (port != feed_.port()) feed_.ConnectTo(port);
    }
    feed_.Send(static_cast<uint32_t>(random_() % 4));
  }
  bool Until(const std::function<bool()>& done, int turns = 2000) {
    for (int i = 0; i < turns && !done(); ++i) Turn();
    return done();
  }
  static ReplicaPlace EndOf(const Member& member) {
    const Value stats =
        member.service != nullptr ? *member.service->ReplicaStats() : member.role->Stats();
    ReplicaPlace end;
    for (size_t i = 0; i < stats.keys().count(); ++i) {
      const Value& value = stats.values().items()[i];
      if (stats.keys().symbols()[i] == "date") end.date = value.as<int32_t>();
      if (stats.keys().symbols()[i] == "messages") end.seq = value.as<uint64_t>();
    }
    return end;
  }
  static std::string ErrorOf(const Member& member) {
    const Value stats = member.role->Stats();
    return std::string(stats.values().items().back().text());
  }
  // All logs of all days, in one.
  std::string LogsOf(const Member& member, bool with_index = false) const {
    std::map<std::string, std::string> logs;
    for (const auto& entry : std::filesystem::directory_iterator(DirectoryOf(member))) {
      const std::string name = entry.path().filename();
      const bool is_log = name.starts_with("sym2") && entry.path().extension().string().size() == 3;
      const bool is_index = name.ends_with(".idx");
      if (is_log || (with_index && is_index)) logs[name] = Content(entry.path());
    }
    std::string all;
    for (const auto& [name, content] : logs) all += name + content;
    return all;
  }
  // The contents of the feed's rows, in the order of the logs.
  std::vector<int64_t> RowsOf(const Member& member) const {
    std::map<std::string, std::string> logs;
    for (const auto& entry : std::filesystem::directory_iterator(DirectoryOf(member))) {
      const std::string name = entry.path().filename();
      if (name.starts_with("sym2") && entry.path().extension().string().size() == 3) {
        logs[name] = entry.path();
      }
    }
    std::vector<int64_t> rows;
    for (const auto& [name, path] : logs) {
      const std::string content = Content(path);
      std::span<const std::byte> rest = AsBytes(content).subspan(8);
      while (!rest.empty()) {
        const size_t bytes = **wire::ValueBytes(rest);
        const Value upd = *wire::Decode(rest.first(bytes));
        rows.push_back(upd.items()[2].items()[2].as<int64_t>());
        rest = rest.subspan(bytes);
      }
    }
    return rows;
  }
  // Takes a part of the last message of a member's log, as if its writer had died while it wrote.
  void TearLog(const Member& member) {
    std::string newest;
    if (!std::filesystem::exists(DirectoryOf(member))) return;
    for (const auto& entry : std::filesystem::directory_iterator(DirectoryOf(member))) {
      const std::string path = entry.path();
      const bool is_log = entry.path().filename().string().starts_with("sym2") &&
                          entry.path().extension().string().size() == 3;
      if (is_log) newest = std::max(newest, path);
    }
    constexpr size_t kHeaderBytes = 8, kCutMax = 40;
    if (newest.empty() || std::filesystem::file_size(newest) < kHeaderBytes + kCutMax) return;
    std::filesystem::resize_file(newest,
                                 std::filesystem::file_size(newest) - 1 - random_() % kCutMax);
  }
  void ExpectEverythingEverywhere() {
    for (Member* member : {&a_, &b_, &c_}) member->is_cut = false;
    const auto is_equal = [&] {
      for (Member* member : {&a_, &b_, &c_}) {
        if (member->role == nullptr || EndOf(*member) != EndOf(a_)) return false;
      }
      return a_.leads() || b_.leads() || c_.leads();
    };
    ASSERT_TRUE(Until([&] { return is_equal(); }));
    const int64_t accepted = feed_.accepted();
    // Nothing is sent from here on.
    feed_.ConnectTo(0);
    ASSERT_TRUE(Until([&] {
      feed_.ConnectTo(0);
      return is_equal();
    }));
    std::vector<int64_t> expected(RowsOf(a_).size());
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(RowsOf(a_), expected);
    // The last rows may be logged, and the feed does not know it.
    EXPECT_GE(static_cast<int64_t>(expected.size()), accepted);
    EXPECT_LE(static_cast<int64_t>(expected.size()), feed_.accepted() + 4);
    EXPECT_EQ(LogsOf(a_), LogsOf(b_));
    EXPECT_EQ(LogsOf(a_), LogsOf(c_));
  }

  wire::Simulation simulation_{kNowNs};
  wire::EventLoop& loop_ = simulation_.loop();
  std::minstd_rand random_{1};
  Records records_;
  // That of the member which was started last.
  std::function<absl::Status(const std::string&)> may_create_;
  Member a_{"a"}, b_{"b"}, c_{"c"};
  RowFeed feed_{loop_};
};

TEST_F(TopicMemberTest, OneOfThreeLeadsAndAllHaveItsLog) {
  for (Member* member : {&a_, &b_, &c_}) Start(*member);
  ASSERT_TRUE(Until([&] { return feed_.accepted() >= 50; }));
  EXPECT_EQ(a_.leads() + b_.leads() + c_.leads(), 1);
  ExpectEverythingEverywhere();
  EXPECT_EQ(LogsOf(a_, true), LogsOf(b_, true));
}

TEST_F(TopicMemberTest, ARestartedLeaderDoesNotWaitForItsOwnLease) {
  Start(a_);
  ASSERT_TRUE(Until([&] { return feed_.accepted() >= 5; }));
  Start(a_);
  const int64_t begin_ns = loop_.clock().MonotonicNs();
  ASSERT_TRUE(Until([&] { return a_.leads(); }));
  EXPECT_LT(loop_.clock().MonotonicNs() - begin_ns, kLeaseNs / 4);
}

// Method: the member has no mark, and then an old one, so that it compares its log with the topic.
TEST_F(TopicMemberTest, AMemberWithoutItsMarkReadsEverythingAgain) {
  Start(a_);
  ASSERT_TRUE(Until([&] { return feed_.accepted() >= 30; }));
  Kill(a_);
  std::filesystem::remove(DirectoryOf(a_) + "/sym.topic");
  Start(a_);
  ASSERT_TRUE(Until([&] { return feed_.accepted() >= 60; }));
  EXPECT_GE(RowsOf(a_).size(), 60u);
}

TEST_F(TopicMemberTest, AMemberWithOtherTablesSaysSoAndDoesNotLead) {
  Start(a_);
  ASSERT_TRUE(Until([&] { return feed_.accepted() >= 5; }));
  b_.schemas.push_back(*ParseSchema("quote", "time p, sym s"));
  Start(b_);
  ASSERT_TRUE(Until([&] { return !ErrorOf(b_).empty(); }));
  EXPECT_THAT(ErrorOf(b_), HasSubstr("tables: table quote is only here"));
  Kill(a_);
  EXPECT_FALSE(Until([&] { return b_.elected; }, 1000));
  // Also with what it has read before.
  Start(b_);
  EXPECT_FALSE(Until([&] { return b_.elected; }, 1000));
  EXPECT_THAT(ErrorOf(b_), HasSubstr("tables: those of the last leader differ"));
  // The member that led may have new tables.
  a_.schemas = b_.schemas;
  Start(a_);
  ASSERT_TRUE(Until([&] { return a_.leads() && ErrorOf(b_).empty(); }));
  Kill(a_);
  ASSERT_TRUE(Until([&] { return b_.leads(); }));
  Start(a_);
  Start(c_, "c");
  ASSERT_TRUE(Until([&] { return !ErrorOf(c_).empty(); }));
  EXPECT_THAT(ErrorOf(c_), HasSubstr("tables: table quote is only there"));
}

TEST_F(TopicMemberTest, ADamagedRecordEndsNoMember) {
  Start(a_);
  ASSERT_TRUE(Until([&] { return feed_.accepted() >= 40; }));
  // The last byte of a block in the middle.
  size_t damaged = records_.all.size() / 2;
  while (ParseTopicRecord(AsBytes(records_.all[damaged]))->kind != TopicRecord::Kind::kPart) {
    ++damaged;
  }
  records_.all[damaged].back() ^= 1;
  Start(b_);
  ASSERT_TRUE(Until([&] { return !ErrorOf(b_).empty(); }));
  EXPECT_THAT(ErrorOf(b_), HasSubstr(fmt::format("record {} of the topic is damaged", damaged)));
  Kill(a_);
  EXPECT_FALSE(Until([&] { return b_.elected; }, 1000));
  // A member that has the rows leads, also if it has to read the record again.
  std::filesystem::remove(DirectoryOf(a_) + "/sym.topic");
  Start(a_);
  ASSERT_TRUE(Until([&] { return a_.leads(); }));
  // The other one copies the next day.
  const int32_t date = EndOf(a_).date;
  feed_.EndDay();
  ASSERT_TRUE(Until([&] {
    if (EndOf(a_).date == date) feed_.EndDay();
    return EndOf(a_).date > date && EndOf(b_) == EndOf(a_) && EndOf(a_).seq > 10;
  }));
  EXPECT_EQ(ErrorOf(b_), "");
}

// Goal: whatever bit is flipped in a topic whose records have no checksums, a member that reads it
// keeps running, and its log has the rows of the topic up to some row.
TEST_F(TopicMemberTest, AFlippedBitEndsNoMember) {
  Start(a_);
  ASSERT_TRUE(Until([&] { return feed_.accepted() >= 60; }));
  const std::vector<std::string> all = records_.all;
  for (int flip = 0; flip < 300; ++flip) {
    SCOPED_TRACE(flip);
    records_.all.resize(all.size());
    std::ranges::copy(all, records_.all.begin());
    // Not the claim, whose flipped shard is that of another cluster.
    std::string& record = records_.all[1 + random_() % (all.size() - 1)];
    record[random_() % record.size()] ^= static_cast<char>(1U << (random_() % 8));
    Kill(b_);
    std::filesystem::remove_all(DirectoryOf(b_));
    b_.has_ended = false;
    Start(b_);
    simulation_.RunFor(100ms);
    EXPECT_FALSE(b_.has_ended) << b_.ended;
    const std::vector<int64_t> rows = RowsOf(b_);
    std::vector<int64_t> expected(rows.size());
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(rows, expected);
  }
}

TEST_F(TopicMemberTest, TheLogOfAnotherStackIsRefused) {
  Start(a_);
  ASSERT_TRUE(Until([&] { return feed_.accepted() >= 5; }));
  Kill(a_);
  std::filesystem::remove(DirectoryOf(a_) + "/sym.topic");
  // Another stack's topic, with more messages.
  records_ = {};
  feed_.Forget(1000);
  Start(b_);
  ASSERT_TRUE(Until([&] { return feed_.accepted() >= 10; }));
  Start(a_);
  simulation_.RunFor(1s);
  EXPECT_TRUE(absl::IsDataLoss(a_.ended)) << a_.ended;
  EXPECT_THAT(std::string(a_.ended.message()), HasSubstr("is not that of the topic"));
  Kill(a_);
}

// Goal: a stack that begins to use Kafka in the middle of a day, or whose topic is lost, does not
// lose the rows of the day.
TEST_F(TopicMemberTest, TheNamedMemberBeginsAnEmptyTopicWithItsLog) {
  Start(a_);
  ASSERT_TRUE(Until([&] { return feed_.accepted() >= 40; }));
  Kill(a_);
  std::filesystem::remove(DirectoryOf(a_) + "/sym.topic");
  records_ = {};
  Start(a_);
  simulation_.RunFor(3s);
  EXPECT_FALSE(a_.elected);
  EXPECT_THAT(ErrorOf(a_), HasSubstr("first_leader"));
  Start(a_, "a");
  Start(b_, "a");
  Start(c_, "a");
  ASSERT_TRUE(Until([&] { return feed_.accepted() >= 60; }));
  EXPECT_TRUE(a_.leads());
  ExpectEverythingEverywhere();
}

// Method: the first leader is killed again and again while it appends the log that it had.
TEST_F(TopicMemberTest, NobodyLeadsBeforeTheWholeLogIsInTheTopic) {
  Start(a_);
  ASSERT_TRUE(Until([&] { return feed_.accepted() >= 400; }));
  const int64_t accepted = feed_.accepted();
  Kill(a_);
  std::filesystem::remove(DirectoryOf(a_) + "/sym.topic");
  records_ = {};
  Start(b_, "a");
  Start(c_, "a");
  int kills = 0;
  while (!a_.leads()) {
    Start(a_, "a");
    for (int i = 0; i < 3 && !a_.leads(); ++i) {
      ASSERT_TRUE(Until([&] { return a_.elected; }));
      for (auto turns = random_() % 8; turns > 0; --turns) Turn();
      EXPECT_FALSE(b_.leads() || c_.leads());
    }
    if (!a_.leads() && ++kills < 50) Kill(a_);
  }
  EXPECT_GT(kills, 0);
  ASSERT_TRUE(Until([&] { return feed_.accepted() >= accepted + 10; }));
  ExpectEverythingEverywhere();
}

// Method: both topics are idle at the mark, so that their records there say the same.
TEST_F(TopicMemberTest, AMarkInAnIdleTopicIsNotTrustedForAnother) {
  Start(a_);
  ASSERT_TRUE(Until([&] { return feed_.accepted() >= 50; }));
  feed_.ConnectTo(0);
  simulation_.RunFor(5s);
  ASSERT_TRUE(a_.role->Stop().ok());
  Kill(a_);
  records_ = {};
  Start(b_);
  simulation_.RunUntil([&] { return b_.elected; }, 5s);
  Settle(b_);
  simulation_.RunFor(60s);
  Start(a_);
  simulation_.RunFor(2s);
  Kill(b_);
  simulation_.RunFor(3s);
  EXPECT_FALSE(a_.elected);
  Kill(a_);
}

// Method: the stack rests for longer than the topic keeps records.
TEST_F(TopicMemberTest, GoesOnWithATopicWhoseRecordsAreTooOld) {
  Start(a_);
  ASSERT_TRUE(Until([&] { return feed_.accepted() >= 50; }));
  feed_.ConnectTo(0);
  simulation_.RunFor(1s);
  ASSERT_TRUE(a_.role->Stop().ok());
  Kill(a_);
  records_.oldest = static_cast<int64_t>(records_.all.size());
  Start(a_);
  ASSERT_TRUE(Until([&] { return feed_.accepted() >= 100; }));
  Kill(a_);  // Without a mark, its log begins the topic if it is named.
  std::filesystem::remove(DirectoryOf(a_) + "/sym.topic");
  records_.oldest = static_cast<int64_t>(records_.all.size());
  Start(a_);
  simulation_.RunFor(3s);
  EXPECT_FALSE(a_.elected);
  EXPECT_THAT(ErrorOf(a_), HasSubstr("first_leader"));
  Start(a_, "a");
  ASSERT_TRUE(Until([&] { return feed_.accepted() >= 150; }));
}

// Method: a record in the middle is taken from the topic.
TEST_F(TopicMemberTest, AMemberThatLacksRecordsDoesNotLead) {
  Start(a_);
  ASSERT_TRUE(Until([&] { return feed_.accepted() >= 50; }));
  Kill(a_);
  const size_t part = records_.all.size() / 2;
  ASSERT_THAT(records_.all[part], HasSubstr("part"));
  records_.all[part] = "rubbish";
  Start(b_);
  simulation_.RunFor(3s);
  EXPECT_FALSE(b_.elected);
  EXPECT_THAT(ErrorOf(b_), HasSubstr("records before it are missing"));
  Start(b_);
  simulation_.RunFor(3s);
  EXPECT_FALSE(b_.elected);
}

// Goal: a wrong topic in a member's configuration is not created.
TEST_F(TopicMemberTest, ATopicThatIsNotThatOfTheLogMayNotBeCreated) {
  Start(a_);
  ASSERT_TRUE(Until([&] { return feed_.accepted() >= 50; }));
  simulation_.RunFor(2s);
  Kill(a_);
  const absl::StatusOr<std::optional<TopicMark>> mark =
      ReadTopicMark(DirectoryOf(a_) + "/sym.topic");
  ASSERT_TRUE(mark.ok() && mark->has_value());
  Start(a_);
  ASSERT_TRUE(may_create_);
  EXPECT_EQ(may_create_((*mark)->topic), absl::OkStatus());
  EXPECT_THAT(std::string(may_create_("elsewhere/log").message()),
              HasSubstr(fmt::format("sym.topic: the log is that of the topic {}, and not of "
                                    "elsewhere/log",
                                    (*mark)->topic)));
  Start(b_);  // It has no log yet.
  EXPECT_EQ(may_create_("elsewhere/log"), absl::OkStatus());
}

// Method: a member is away while the topic is deleted and begun again, until its mark is within the
// new one.
TEST_F(TopicMemberTest, AMarkOfADeletedTopicIsNotTrusted) {
  Start(a_);
  Start(b_);
  ASSERT_TRUE(Until([&] { return feed_.accepted() >= 50; }));
  simulation_.RunFor(2s);
  Kill(a_);
  Kill(b_);
  ASSERT_TRUE(std::filesystem::exists(DirectoryOf(a_) + "/sym.topic"));
  records_ = {};
  feed_.Forget(1000);
  Start(c_);
  ASSERT_TRUE(Until([&] { return feed_.accepted() >= 600; }));
  Start(a_);
  ASSERT_TRUE(simulation_.RunUntil([&] { return a_.has_ended; }, 5s));
  EXPECT_THAT(std::string(a_.ended.message()), HasSubstr("is not that of the topic"));
  Kill(a_);
}

TEST_F(TopicMemberTest, AMemberBeginsWithTheOldestDayThatTheTopicHas) {
  Start(a_);
  ASSERT_TRUE(Until([&] { return feed_.accepted() >= 10; }));
  records_.oldest = static_cast<int64_t>(records_.all.size()) - 2;
  Start(b_);
  simulation_.RunFor(3s);
  EXPECT_THAT(ErrorOf(b_), HasSubstr("of the middle of a day"));
  Kill(a_);
  simulation_.RunFor(3s);
  EXPECT_FALSE(b_.elected);
  Start(a_);
  ASSERT_TRUE(Until([&] { return a_.leads(); }));
  ASSERT_TRUE(Until([&] { return feed_.accepted() >= 20; }));
  feed_.EndDay();
  ASSERT_TRUE(Until([&] { return feed_.accepted() >= 25; }));
  Kill(a_);
  ASSERT_TRUE(Until([&] { return feed_.accepted() >= 30; }));
  EXPECT_TRUE(b_.leads());
}

TEST_F(TopicMemberTest, RecordsOfOthersInTheTopicDoNotStopTheLeader) {
  Start(a_);
  Start(b_);
  Start(c_);
  for (int i = 0; i < 200; ++i) {
    if (random_() % 4 == 0) records_.all.emplace_back("rubbish");
    Turn();
  }
  EXPECT_GT(feed_.accepted(), 20);
  ExpectEverythingEverywhere();
}

// Goal: whatever happens, no accepted row is lost or doubled, and all logs are equal. Method:
// members are killed, also while they write, cut off from the topic, and lose their marks or their
// disks, at random, while days end. TICKSTACK_LIVES is the number of lives,
// TICKSTACK_SEED the seed of the first one.
TEST_F(TopicMemberTest, RandomFaults) {
  const auto from_environment = [](const char* name, int otherwise) {
    const char* const given = std::getenv(name);
    return given == nullptr ? otherwise : std::atoi(given);
  };
  const int lives = from_environment("TICKSTACK_LIVES", 12);
  const int first = from_environment("TICKSTACK_SEED", 1);
  constexpr int kFaults = 25;
  int64_t rows = 0, leaders = 0;
  for (uint32_t life = 0; life < static_cast<uint32_t>(lives); ++life) {
    random_.seed(static_cast<uint32_t>(first) + life);
    records_ = {};
    feed_.Forget();
    for (Member* member : {&a_, &b_, &c_}) {
      Kill(*member);
      std::filesystem::remove_all(DirectoryOf(*member));
      member->is_cut = false;
      Start(*member);
    }
    for (int fault = 0; fault < kFaults; ++fault) {
      for (auto turns = random_() % 120; turns > 0; --turns) Turn();
      Member& member = *std::array{&a_, &b_, &c_}[random_() % 3];
      switch (random_() % 8) {
        case 0:
        case 1:
        case 2:
          Kill(member);
          if (random_() % 3 == 0) std::filesystem::remove(DirectoryOf(member) + "/sym.topic");
          if (random_() % 2 == 0) TearLog(member);
          break;
        case 3:
        case 4:
          member.is_cut = !member.is_cut;
          break;
        case 5:
          if (random_() % 3 == 0) feed_.EndDay();
          break;
        case 6:  // The disk is lost.
          if (random_() % 3 == 0) {
            Kill(member);
            std::filesystem::remove_all(DirectoryOf(member));
          }
          break;
        default:
          break;
      }
      for (Member* other : {&a_, &b_, &c_}) {
        if (other->role == nullptr && random_() % 2 == 0) Start(*other);
        if (other->is_cut && random_() % 4 == 0) other->is_cut = false;
      }
    }
    for (Member* member : {&a_, &b_, &c_}) {
      member->is_cut = false;
      if (member->role == nullptr) Start(*member);
    }
    ExpectEverythingEverywhere();
    if (HasFatalFailure() || HasNonfatalFailure())
      FAIL() << "seed " << first + static_cast<int>(life);
    rows += feed_.accepted();
    for (const std::string& record : records_.all) {
      leaders += record.find("claim") != std::string::npos ? 1 : 0;
    }
  }
  EXPECT_GT(rows, lives * 100);
  EXPECT_GT(leaders, lives * 2);
}

}  // namespace
}  // namespace tickstack::tickerplant
