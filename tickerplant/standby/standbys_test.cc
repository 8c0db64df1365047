#include "tickerplant/standby/standbys.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <random>

#include "base/logging.h"
#include "base/time.h"
#include "tickerplant/standby/standby_log.h"
#include "tplog/tplog_for_test.h"
#include "wire/connection.h"
#include "wire/protocol.h"
#include "wire/upd.h"

namespace tickstack::tickerplant {

namespace protocol = wire::protocol;
namespace {

using testing::HasSubstr;

constexpr int32_t kDay = 7373;  // 2020.03.09.

class FakeClock final : public Clock {
 public:
  int64_t NowNs() const override { return TrueNs() + ahead_ns; }
  int64_t MonotonicNs() const override { return mono_ns; }
  int64_t TrueNs() const { return int64_t{kDay} * kNsPerDay + mono_ns; }
  int64_t mono_ns = kNsPerSecond;
  int64_t ahead_ns = 0;
};

// An in-sync set that answers when the test says so.
class FakeSet final : public InSyncSet {
 public:
  void Write(const MemberNames& names, std::function<void(absl::Status)> done) override {
    ++writes;
    pending = names;
    done_ = std::move(done);
    if (answers) Answer();
  }
  void Answer(absl::Status status = absl::OkStatus()) {
    if (!done_) return;
    if (status.ok()) members = pending;
    std::exchange(done_, nullptr)(std::move(status));
  }
  bool answers = true;
  int writes = 0;
  MemberNames members;
  MemberNames pending;

 private:
  std::function<void(absl::Status)> done_;
};

// A standby whose messages the test delivers, or loses.
class FakeStandby {
 public:
  class ToStandby final : public Outlet {
   public:
    explicit ToStandby(FakeStandby* to) : to_(to) {}
    void Queue(std::span<const wire::Segment> message) override {
      ByteBuffer bytes;
      for (const wire::Segment& segment : message) bytes.Append(segment.bytes);
      to_->arrived_.push_back(*wire::Decode(bytes.span().subspan(wire::kHeaderBytes)));
    }
    void Flush() override {}
    size_t queued_bytes() const override { return to_->queued_bytes; }
    uint64_t sent_bytes() const override { return to_->sent_bytes; }
    void Close(const absl::Status& why) override { to_->closed = why; }
    std::string name() const override { return "test"; }

   private:
    FakeStandby* const to_;
  };

  FakeStandby(std::string name, std::string directory)
      : name_(std::move(name)), directory_(std::move(directory)) {}

  absl::Status Join(Standbys& leader) {
    static uint64_t connections = 0;
    arrived_.clear();
    closed = absl::OkStatus();
    leader_ = &leader;
    if (log == nullptr) log = StandbyLog::Open({.directory = directory_}).value();
    while (true) {
      connection = ++connections;
      TS_ASSIGN_OR_RETURN(ReplicaRequest request, log->RequestAs(name_, epoch));
      if (clock) request.clock_ns = clock();
      absl::StatusOr<ReplicaStart> start =
          leader.Join(request, connection, std::make_unique<ToStandby>(this));
      if (!start.ok()) return start.status();
      start = ParseStart(StartAnswer(*start));
      epoch = start->epoch;
      TS_ASSIGN_OR_RETURN(const bool continues, log->ContinueFrom(*start));
      if (continues) return Acknowledge();
    }
  }
  // Appends up to `messages` of the messages that have arrived.
  absl::Status Take(size_t messages = SIZE_MAX) {
    for (; messages > 0 && !arrived_.empty(); --messages) {
      const Value message = std::move(arrived_.front());
      arrived_.pop_front();
      if (message.items()[0].symbol() == protocol::kReplicaAcked) {
        TS_RETURN_IF_ERROR(log->NoteLogged(ParseAck(std::span(message.items()).subspan(1))->place));
      } else if (message.items()[0].symbol() == protocol::kReplicaNextDay) {
        TS_RETURN_IF_ERROR(log->EndDay(*ParseNextDay(message)));
      } else {
        const absl::StatusOr<ReplicaBlock> block = ParseReplicaBlock(message);
        TS_RETURN_IF_ERROR(block.status());
        TS_RETURN_IF_ERROR(log->Append(*block));
      }
    }
    return absl::OkStatus();
  }
  absl::Status Acknowledge() {
    const Value ack =
        AckMessage({epoch, log->place(), clock ? std::optional(clock()) : std::nullopt});
    return leader_->OnAck(connection, *ParseAck(std::span(ack.items()).subspan(1)));
  }
  absl::Status TakeAll() {
    while (!arrived_.empty()) {
      TS_RETURN_IF_ERROR(Take());
      TS_RETURN_IF_ERROR(Acknowledge());
    }
    return absl::OkStatus();
  }
  void Kill() {
    log = nullptr;
    arrived_.clear();
    if (leader_ != nullptr) leader_->OnConnectionGone(connection);
    leader_ = nullptr;
  }
  // Its leader has died.
  void Forget() { leader_ = nullptr; }
  size_t arrived() const { return arrived_.size(); }

  std::unique_ptr<StandbyLog> log;
  uint64_t connection = 0;
  uint64_t epoch = 0;
  absl::Status closed;
  std::function<int64_t()> clock;  // Null: it does not tell what its clock says.
  // What the leader sees of its socket.
  size_t queued_bytes = 0;
  uint64_t sent_bytes = 0;

 private:
  const std::string name_;
  const std::string directory_;
  Standbys* leader_ = nullptr;
  std::deque<Value> arrived_;
};

class StandbysTest : public tplog::TplogTest {
 protected:
  StandbysTest() { InitLogging("test", LogLevel::kOff); }

  void Lead(std::string_view member, size_t acknowledge = 1, std::string predecessor = "",
            OpenedLog opened = {}, std::optional<int32_t> fixed = kDay) {
    TickerplantOptions options;
    options.is_member = true;
    options.schemas = {*ParseSchema("trade", "time p, sym s, n j"),
                       *ParseSchema("quote", "time p, sym s, n j")};
    options.log_directory = fmt::format("{}/{}", directory_, member);
    plant =
        *Tickerplant::Open(options, *DayClock::Create("UTC", 0, fixed), &clock_, std::move(opened));
    MemberNames others = set_.members;
    others.erase(std::string(member));
    standbys =
        std::make_unique<Standbys>(StandbysOptions{std::string(member), ++epoch_, acknowledge,
                                                   kNsPerSecond, others, std::move(predecessor)},
                                   plant.get(), &set_, &clock_, [this] { ++progress_; });
    plant->set_gate(standbys.get());
  }
  void KillLeader() {
    standbys = nullptr;
    plant = nullptr;
  }
  // Stages a row; the number is its content.
  void Stage(std::string_view feed = "nyse", std::string_view user = {}) {
    auto body = std::make_shared<ByteBuffer>();
    const Value row = Value::List({Value::Timestamp(5), Value::Symbol("A"), Value::Long(row_)});
    const int64_t first = feed.empty() ? 0 : plant->FeedRows(feed)[0];
    const Value upd = feed.empty()
                          ? Value::List({Value::Symbol("upd"), Value::Symbol("trade"), row})
                          : Value::List({Value::Symbol(".u.updn"), Value::Symbol(feed),
                                         Value::Long(first), Value::Symbol("trade"), row});
    ++row_;
    wire::Encode(upd, *body);
    ASSERT_TRUE((feed.empty() ? plant->StageUpd(*body, body)
                              : plant->StageNumberedUpd(*body, body, /*allowed=*/nullptr, user))
                    .ok());
  }
  void StageAndCommit(int rows, std::string_view feed = "nyse") {
    for (int i = 0; i < rows; ++i) {
      Stage(feed);
      ASSERT_TRUE(plant->Commit().ok());
    }
  }
  std::string LogOf(std::string_view member, int32_t day = kDay) const {
    return Content(fmt::format("{}/{}/sym{}", directory_, member, FormatDate(day)));
  }
  std::string IndexOf(std::string_view member, int32_t day = kDay) const {
    return Content(
        tplog::TplogIndexPath(fmt::format("{}/{}/sym{}", directory_, member, FormatDate(day))));
  }
  void ExpectSame(std::string_view one, std::string_view other, int32_t day = kDay) {
    EXPECT_EQ(LogOf(one, day), LogOf(other, day));
    EXPECT_EQ(IndexOf(one, day), IndexOf(other, day));
  }

  FakeClock clock_;
  FakeSet set_;
  uint64_t epoch_ = 0;
  int64_t row_ = 0;
  int progress_ = 0;
  std::unique_ptr<Tickerplant> plant;
  std::unique_ptr<Standbys> standbys;
  FakeStandby a_{"a", directory_ + "/a"}, b_{"b", directory_ + "/b"}, c_{"c", directory_ + "/c"};
};

// Goal: a leader whose clock is wrong neither ends a day before its time nor keeps it open after
// that. Method: its clock is ahead or behind by up to three days, and those of two standbys are
// right, or that of one is.
TEST_F(StandbysTest, DaysEndByTheClocksOfMost) {
  for (const double days_ahead : {0.0, 0.04, 1.0, 2.0, 3.5, -0.04, -1.0, -2.0}) {
    for (const int others : {1, 2}) {
      SCOPED_TRACE(fmt::format("{} days ahead of {} others", days_ahead, others));
      clock_.mono_ns = kNsPerDay / 2;
      clock_.ahead_ns = 0;
      set_.members.clear();
      std::filesystem::remove_all(directory_);
      // Its log is of the right day, as that of a standby which has followed until now.
      OpenedLog opened{
          kDay,
          *tplog::TplogWriter::Open(fmt::format("{}/a/sym{}", directory_, FormatDate(kDay)), {}),
          {}};
      clock_.ahead_ns = static_cast<int64_t>(days_ahead * static_cast<double>(kNsPerDay));
      Lead("a", 1, "", std::move(opened), std::nullopt);
      for (FakeStandby* const other : {&b_, &c_}) {
        if (other == &c_ && others == 1) continue;
        other->clock = [this] { return clock_.TrueNs(); };
        ASSERT_TRUE(other->Join(*standbys).ok());
      }
      const auto pass = [&](int64_t ns) {
        clock_.mono_ns += ns;
        ASSERT_TRUE(b_.Acknowledge().ok());
        if (others == 2) ASSERT_TRUE(c_.Acknowledge().ok());
      };
      // More than the time for which an end that comes with a jump is held.
      for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(plant->IsRollDue()) << i;
        pass(Tickerplant::kJumpHeldNs);
      }
      pass(kDay * kNsPerDay + kNsPerDay - clock_.TrueNs() - 1);
      EXPECT_FALSE(plant->IsRollDue());
      pass(2);
      // If two clocks differ, the earlier one counts.
      const bool is_held = others == 1 && days_ahead < 0;
      EXPECT_EQ(plant->IsRollDue(), !is_held);
      if (!is_held) EXPECT_EQ(plant->NextDay(), kDay + 1);
      // The clock is set.
      clock_.ahead_ns = 0;
      EXPECT_TRUE(plant->IsRollDue());
      EXPECT_EQ(plant->NextDay(), kDay + 1);
      b_.Kill();
      c_.Kill();
      KillLeader();
    }
  }
}

// Goal: one standby with a wrong clock changes nothing if another one's is right, also after that
// one is lost; it counts again once it is set, and no longer after a day without a word. A standby
// of an earlier version says nothing of its clock.
TEST_F(StandbysTest, AWrongClockOfAStandbyIsOutvoted) {
  std::filesystem::remove_all(directory_);
  Lead("a", 1, "", {}, std::nullopt);
  int64_t ahead_ns = -2 * kNsPerDay;
  b_.clock = [&] { return clock_.TrueNs() + ahead_ns; };
  c_.clock = [&] { return clock_.TrueNs(); };
  ASSERT_TRUE(b_.Join(*standbys).ok());
  ASSERT_TRUE(c_.Join(*standbys).ok());
  // Also after the time for which an end is held that comes two days late.
  const auto is_due = [this] {
    plant->IsRollDue();
    clock_.mono_ns += Tickerplant::kJumpHeldNs;
    return plant->IsRollDue();
  };
  clock_.mono_ns = kNsPerDay;
  EXPECT_TRUE(is_due());
  c_.Kill();
  EXPECT_TRUE(is_due());
  clock_.mono_ns += Standbys::kClockKeptNs;
  ASSERT_TRUE(b_.Acknowledge().ok());
  EXPECT_FALSE(is_due());
  EXPECT_GT(plant->OverdueNs(), 0);
  ahead_ns = 0;
  ASSERT_TRUE(b_.Acknowledge().ok());
  EXPECT_TRUE(is_due());
  ahead_ns = -3 * kNsPerDay;
  ASSERT_TRUE(b_.Acknowledge().ok());
  EXPECT_FALSE(is_due());
  b_.Kill();
  b_.clock = nullptr;
  ASSERT_TRUE(b_.Join(*standbys).ok());
  EXPECT_TRUE(is_due());
}

TEST_F(StandbysTest, LogsNothingThatItsStandbyHasNotAcknowledged) {
  Lead("a");
  ASSERT_TRUE(b_.Join(*standbys).ok());
  standbys->Tick();
  EXPECT_EQ(set_.members, MemberNames{"b"});
  Stage();
  ASSERT_TRUE(plant->Commit().ok());
  EXPECT_TRUE(plant->has_staged());
  EXPECT_EQ(plant->logged_seq(), 0u);
  ASSERT_TRUE(b_.Take().ok());
  ASSERT_TRUE(plant->Commit().ok());
  EXPECT_EQ(plant->logged_seq(), 0u);  // It has the row, but has not said so.
  progress_ = 0;
  ASSERT_TRUE(b_.Acknowledge().ok());
  EXPECT_EQ(progress_, 1);
  ASSERT_TRUE(plant->Commit().ok());
  EXPECT_EQ(plant->logged_seq(), 1u);
  EXPECT_EQ(standbys->in_flight_bytes(), 0u);
  ExpectSame("a", "b");
}

TEST_F(StandbysTest, LogsNothingWithFewerStandbysThanMustAcknowledge) {
  Lead("a", 2);
  ASSERT_TRUE(b_.Join(*standbys).ok());
  standbys->Tick();
  EXPECT_FALSE(standbys->has_enough());
  StageAndCommit(3);
  EXPECT_TRUE(b_.TakeAll().ok());
  ASSERT_TRUE(plant->Commit().ok());
  EXPECT_EQ(plant->logged_seq(), 0u);
  ASSERT_TRUE(c_.Join(*standbys).ok());
  standbys->Tick();
  EXPECT_TRUE(standbys->has_enough());
  EXPECT_TRUE(c_.TakeAll().ok());
  ASSERT_TRUE(plant->Commit().ok());
  EXPECT_EQ(plant->logged_seq(), 3u);
  ExpectSame("a", "b");
  ExpectSame("a", "c");
}

TEST_F(StandbysTest, FeedsAStandbyThatIsFarBehindFromItsLog) {
  Lead("a", 0);
  StageAndCommit(50, "nyse");
  StageAndCommit(50, "");
  ASSERT_TRUE(b_.Join(*standbys).ok());
  EXPECT_EQ(set_.members, MemberNames());
  ASSERT_TRUE(b_.TakeAll().ok());
  standbys->Tick();
  EXPECT_EQ(set_.members, MemberNames{"b"});
  ExpectSame("a", "b");
  StageAndCommit(1);
  EXPECT_TRUE(plant->has_staged());  // From now on, it is required.
  ASSERT_TRUE(b_.TakeAll().ok());
  ASSERT_TRUE(plant->Commit().ok());
  EXPECT_FALSE(plant->has_staged());
  ExpectSame("a", "b");
}

TEST_F(StandbysTest, RequiresAStandbyWhileItsEntryIsWritten) {
  Lead("a", 0);
  set_.answers = false;
  ASSERT_TRUE(b_.Join(*standbys).ok());
  standbys->Tick();
  ASSERT_EQ(set_.pending, MemberNames{"b"});
  StageAndCommit(1);
  EXPECT_TRUE(plant->has_staged());
  // The outcome of a failed write is not known.
  set_.Answer(Unavailable("timeout"));
  ASSERT_TRUE(plant->Commit().ok());
  EXPECT_TRUE(plant->has_staged());
  ASSERT_TRUE(b_.TakeAll().ok());
  ASSERT_TRUE(plant->Commit().ok());
  EXPECT_FALSE(plant->has_staged());
}

TEST_F(StandbysTest, WaitsForALostStandbyUntilTheSetIsWrittenWithoutIt) {
  Lead("a", 0);
  ASSERT_TRUE(b_.Join(*standbys).ok());
  standbys->Tick();
  set_.answers = false;
  clock_.mono_ns += 2 * kNsPerSecond;
  b_.Kill();
  EXPECT_EQ(set_.writes, 1);  // A leader that stops closes all connections.
  standbys->Tick();
  EXPECT_EQ(set_.pending, MemberNames());
  StageAndCommit(1);
  EXPECT_TRUE(plant->has_staged());
  set_.Answer();
  ASSERT_TRUE(plant->Commit().ok());
  EXPECT_FALSE(plant->has_staged());
}

TEST_F(StandbysTest, RemovesTheLeaderThatItReplacedWithoutWaitingForIt) {
  set_.members = {"a", "c"};
  Lead("b", 0, "a");
  standbys->Tick();
  EXPECT_EQ(set_.members, MemberNames{"c"});
  clock_.mono_ns += 2 * kNsPerSecond;
  standbys->Tick();
  EXPECT_EQ(set_.members, MemberNames());
}

TEST_F(StandbysTest, KeepsALostStandbyInTheSetRatherThanLogWithTooFew) {
  Lead("a", 1);
  ASSERT_TRUE(b_.Join(*standbys).ok());
  standbys->Tick();
  clock_.mono_ns += 2 * kNsPerSecond;
  b_.Kill();
  standbys->Tick();
  EXPECT_EQ(set_.members, MemberNames{"b"});
  StageAndCommit(1);
  EXPECT_TRUE(plant->has_staged());
  ASSERT_TRUE(b_.Join(*standbys).ok());
  ASSERT_TRUE(b_.TakeAll().ok());
  ASSERT_TRUE(plant->Commit().ok());
  EXPECT_FALSE(plant->has_staged());
  ExpectSame("a", "b");
}

// Goal: a standby that lost acknowledged rows cannot become the leader. Method: its log loses its
// end, as in a power cut, and then all of it. It is the only standby, and one must acknowledge.
TEST_F(StandbysTest, AStandbyThatHasLostRowsLeavesTheSetBeforeItGetsThemAgain) {
  Lead("a", 1);
  ASSERT_TRUE(b_.Join(*standbys).ok());
  standbys->Tick();
  StageAndCommit(3);
  ASSERT_TRUE(b_.TakeAll().ok());
  ASSERT_TRUE(plant->Commit().ok());
  standbys->Tick();
  for (const bool loses_all : {false, true}) {
    SCOPED_TRACE(loses_all);
    ASSERT_EQ(set_.members, MemberNames{"b"});
    b_.Kill();
    if (loses_all) {
      std::filesystem::remove_all(directory_ + "/b");
    } else {
      ASSERT_TRUE(tplog::CutTplog(fmt::format("{}/b/sym{}", directory_, FormatDate(kDay)), 1).ok());
    }
    set_.answers = false;
    ASSERT_TRUE(b_.Join(*standbys).ok());
    standbys->Tick();
    EXPECT_EQ(set_.pending, MemberNames());
    ASSERT_TRUE(b_.TakeAll().ok());
    EXPECT_EQ(b_.log->place(), (ReplicaPlace{kDay, loses_all ? 0u : 1u}));
    set_.answers = true;
    set_.Answer();
    EXPECT_FALSE(standbys->has_enough());
    StageAndCommit(1);
    EXPECT_TRUE(plant->has_staged());
    standbys->Tick();
    ASSERT_TRUE(b_.TakeAll().ok());
    clock_.mono_ns += kNsPerSecond;
    standbys->Tick();
    ASSERT_TRUE(b_.TakeAll().ok());
    EXPECT_FALSE(b_.log->may_lack_rows());
    ASSERT_TRUE(plant->Commit().ok());
    EXPECT_FALSE(plant->has_staged());
    ExpectSame("a", "b");
  }
}

TEST_F(StandbysTest, TellsStandbysWhatIsLoggedAlsoUnderLoad) {
  Lead("a", 1);
  ASSERT_TRUE(b_.Join(*standbys).ok());
  standbys->Tick();
  ASSERT_TRUE(b_.TakeAll().ok());
  EXPECT_TRUE(b_.log->may_lack_rows());
  for (int i = 0; i < 6; ++i) {
    clock_.mono_ns += kNsPerSecond / 20;
    StageAndCommit(1);
    ASSERT_TRUE(b_.TakeAll().ok());
    ASSERT_TRUE(plant->Commit().ok());
    standbys->Tick();
  }
  ASSERT_TRUE(b_.TakeAll().ok());
  EXPECT_FALSE(b_.log->may_lack_rows());
}

// Goal: a leader that lost rows does not make others lose them. Method: b leads with a log that
// lacks a row, which c was told is logged.
TEST_F(StandbysTest, AStandbyDoesNotCutWhatTheLeaderBeforeHasLogged) {
  Lead("a", 1);
  ASSERT_TRUE(b_.Join(*standbys).ok());
  ASSERT_TRUE(c_.Join(*standbys).ok());
  standbys->Tick();
  StageAndCommit(3);
  ASSERT_TRUE(b_.TakeAll().ok());
  ASSERT_TRUE(c_.TakeAll().ok());
  ASSERT_TRUE(plant->Commit().ok());
  clock_.mono_ns += kNsPerSecond;
  standbys->Tick();
  ASSERT_TRUE(c_.TakeAll().ok());
  KillLeader();
  b_.log = nullptr;
  ASSERT_TRUE(tplog::CutTplog(fmt::format("{}/b/sym{}", directory_, FormatDate(kDay)), 1).ok());
  set_.members = {"c"};
  Lead("b", 1);
  EXPECT_EQ(c_.Join(*standbys).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(c_.log->place(), (ReplicaPlace{kDay, 3}));
}

TEST_F(StandbysTest, DropsAStandbyThatAcknowledgesNothing) {
  Lead("a", 0);
  ASSERT_TRUE(b_.Join(*standbys).ok());
  standbys->Tick();
  clock_.mono_ns += 10 * kNsPerSecond;
  standbys->Tick();
  EXPECT_TRUE(b_.closed.ok());  // It owes nothing.
  StageAndCommit(1);
  clock_.mono_ns += kNsPerSecond / 2;
  standbys->Tick();
  EXPECT_TRUE(b_.closed.ok());
  clock_.mono_ns += kNsPerSecond;
  standbys->Tick();
  EXPECT_THAT(b_.closed.ToString(), HasSubstr("no acknowledgement for"));
  ASSERT_TRUE(plant->Commit().ok());
  EXPECT_FALSE(plant->has_staged());
  EXPECT_EQ(set_.members, MemberNames());
}

// Goal: a block that takes longer than the timeout arrives some time. Method: of the block that the
// standby owes, its socket takes some bytes every half second, and then none.
TEST_F(StandbysTest, WaitsForAStandbyThatABlockIsBeingSentTo) {
  Lead("a", 0);
  ASSERT_TRUE(b_.Join(*standbys).ok());
  standbys->Tick();
  StageAndCommit(1);
  b_.queued_bytes = 1'000'000;
  for (int i = 0; i < 20; ++i) {
    clock_.mono_ns += kNsPerSecond / 2;
    b_.sent_bytes += 100;
    standbys->Tick();
    ASSERT_TRUE(b_.closed.ok());
  }
  clock_.mono_ns += 2 * kNsPerSecond;
  standbys->Tick();
  EXPECT_FALSE(b_.closed.ok());
}

// Later blocks fill the sockets between the two although the standby hangs.
TEST_F(StandbysTest, DropsAStandbyAlthoughItsSocketTakesLaterBlocks) {
  Lead("a", 0);
  ASSERT_TRUE(b_.Join(*standbys).ok());
  standbys->Tick();
  StageAndCommit(1);
  for (int i = 0; i < 4; ++i) {
    clock_.mono_ns += kNsPerSecond / 2;
    StageAndCommit(1);
    b_.sent_bytes += 100;
    standbys->Tick();
  }
  EXPECT_FALSE(b_.closed.ok());
}

TEST_F(StandbysTest, EndsTheDayOnlyWhenItsStandbysHave) {
  Lead("a");
  ASSERT_TRUE(b_.Join(*standbys).ok());
  standbys->Tick();
  StageAndCommit(3);
  ASSERT_TRUE(b_.TakeAll().ok());
  ASSERT_TRUE(plant->Commit().ok());
  standbys->OfferNextDay(kDay, kDay + 1);
  EXPECT_FALSE(standbys->IsAcknowledged({kDay + 1, 0}));
  ASSERT_TRUE(b_.TakeAll().ok());
  EXPECT_TRUE(standbys->IsAcknowledged({kDay + 1, 0}));
  ASSERT_TRUE(plant->EndDayTo(kDay + 1).ok());
  standbys->OnLogged({kDay + 1, 0});
  StageAndCommit(2);
  ASSERT_TRUE(b_.TakeAll().ok());
  ASSERT_TRUE(plant->Commit().ok());
  EXPECT_EQ(plant->logged_seq(), 2u);
  ExpectSame("a", "b", kDay);
  ExpectSame("a", "b", kDay + 1);
}

TEST_F(StandbysTest, CopiesTheDaysThatAStandbyMissed) {
  Lead("a", 0);
  ASSERT_TRUE(b_.Join(*standbys).ok());
  StageAndCommit(2);
  ASSERT_TRUE(b_.TakeAll().ok());
  ASSERT_TRUE(plant->Commit().ok());
  clock_.mono_ns += 2 * kNsPerSecond;
  b_.Kill();
  standbys->Tick();
  ASSERT_TRUE(plant->Commit().ok());
  StageAndCommit(2);
  ASSERT_FALSE(plant->has_staged());
  ASSERT_TRUE(plant->EndDayTo(kDay + 1).ok());
  StageAndCommit(2);
  ASSERT_TRUE(plant->EndDayTo(kDay + 4).ok());
  StageAndCommit(2);
  ASSERT_TRUE(b_.Join(*standbys).ok());
  ASSERT_TRUE(b_.TakeAll().ok());
  for (const int32_t day : {kDay, kDay + 1, kDay + 4}) ExpectSame("a", "b", day);
}

// Goal: a standby whose newest day is empty has the leader's rows of the day before. Method: it has
// a row and the end of the day of a leader that logged neither. Its next leader logs another row.
TEST_F(StandbysTest, ComparesTheDayBeforeIfTheNewestDayIsEmpty) {
  Lead("a", 0);
  ASSERT_TRUE(b_.Join(*standbys).ok());
  standbys->Tick();
  StageAndCommit(2);
  ASSERT_TRUE(b_.TakeAll().ok());
  ASSERT_TRUE(plant->Commit().ok());
  StageAndCommit(1);
  standbys->OfferNextDay(kDay, kDay + 1);
  ASSERT_TRUE(b_.Take().ok());
  EXPECT_EQ(b_.log->place(), (ReplicaPlace{kDay + 1, 0}));
  b_.Forget();
  KillLeader();
  set_.members = {};
  Lead("a", 0);
  StageAndCommit(1);
  ASSERT_TRUE(plant->EndDayTo(kDay + 1).ok());
  ASSERT_TRUE(b_.Join(*standbys).ok());
  ASSERT_TRUE(b_.TakeAll().ok());
  for (const int32_t day : {kDay, kDay + 1}) ExpectSame("a", "b", day);
}

// Method: the leader joined after the standby's newest day had ended, so it has no log of that day.
TEST_F(StandbysTest, BeginsTheOldestDayOfALeaderThatLacksTheStandbysDay) {
  for (const bool has_begun_next : {false, true}) {
    SCOPED_TRACE(has_begun_next);
    set_.members = {};
    std::filesystem::remove_all(directory_ + "/a");
    std::filesystem::remove_all(directory_ + "/b");
    std::filesystem::remove_all(directory_ + "/c");
    b_.log = nullptr;
    c_.log = nullptr;
    Lead("a", 0);
    StageAndCommit(2);
    ASSERT_TRUE(b_.Join(*standbys).ok());
    ASSERT_TRUE(b_.TakeAll().ok());
    standbys->Tick();
    ASSERT_TRUE(b_.TakeAll().ok());  // It learns that it lacks no rows.
    if (has_begun_next) {
      standbys->OfferNextDay(kDay, kDay + 1);
      ASSERT_TRUE(b_.TakeAll().ok());
    }
    b_.Kill();
    clock_.mono_ns += 2 * kNsPerSecond;
    standbys->Tick();
    ASSERT_TRUE(plant->EndDayTo(kDay + 1).ok());
    ASSERT_TRUE(c_.Join(*standbys).ok());
    ASSERT_TRUE(c_.TakeAll().ok());
    StageAndCommit(1);
    ASSERT_TRUE(c_.TakeAll().ok());
    c_.Forget();
    KillLeader();
    set_.members = {};
    Lead("c", 0, "a", c_.log->Release());
    ASSERT_TRUE(b_.Join(*standbys).ok());
    ASSERT_TRUE(b_.TakeAll().ok());
    ExpectSame("c", "b", kDay + 1);
    if (has_begun_next) {
      ExpectSame("a", "b", kDay);
    } else {  // It cannot know whether it has all of the day.
      const std::string path = fmt::format("{}/b/sym{}", directory_, FormatDate(kDay));
      EXPECT_FALSE(std::filesystem::exists(path));
      EXPECT_EQ(Content(path + ".not-compared"), LogOf("a", kDay));
    }
    b_.Forget();
    c_.Forget();
    KillLeader();
  }
}

// Method: a standby begins a day that the cluster does not reach, because it is down on that day.
TEST_F(StandbysTest, AStandbyDropsAnEmptyDayThatTheLeaderHasSkipped) {
  Lead("a", 1);
  ASSERT_TRUE(b_.Join(*standbys).ok());
  standbys->Tick();
  StageAndCommit(1);
  ASSERT_TRUE(b_.TakeAll().ok());
  ASSERT_TRUE(plant->Commit().ok());
  standbys->OfferNextDay(kDay, kDay + 1);
  ASSERT_TRUE(b_.Take().ok());
  b_.Forget();
  KillLeader();
  Lead("a", 1);
  EXPECT_EQ(set_.members, MemberNames{"b"});
  ASSERT_TRUE(plant->EndDayTo(kDay + 3).ok());
  ASSERT_TRUE(b_.Join(*standbys).ok());
  ASSERT_TRUE(b_.TakeAll().ok());
  EXPECT_TRUE(standbys->is_settled());
  for (const int32_t day : {kDay, kDay + 3}) ExpectSame("a", "b", day);
}

// Goal: a standby that has acknowledged a row may lead at once. Method: its log is new, so it may
// lack rows until it is told that it does not.
TEST_F(StandbysTest, AStandbyLearnsThatItLacksNoRowsBeforeItAcknowledgesOne) {
  Lead("a", 1);
  ASSERT_TRUE(b_.Join(*standbys).ok());
  EXPECT_FALSE(standbys->is_settled());
  standbys->Tick();
  EXPECT_TRUE(b_.log->may_lack_rows());
  EXPECT_TRUE(standbys->is_settled());
  StageAndCommit(1);
  ASSERT_TRUE(b_.TakeAll().ok());
  EXPECT_FALSE(b_.log->may_lack_rows());
  ASSERT_TRUE(plant->Commit().ok());
  EXPECT_EQ(plant->logged_seq(), 1u);
}

// A connection that is dead without an error says nothing, and must not look like a standby.
TEST_F(StandbysTest, HasEverybodyOnlyWhileTheyAnswer) {
  Lead("a", 1);
  ASSERT_TRUE(b_.Join(*standbys).ok());
  standbys->Tick();
  for (int i = 0; i < 20; ++i) {
    clock_.mono_ns += kNsPerSecond / 5;
    standbys->Tick();
    ASSERT_TRUE(b_.TakeAll().ok());
    EXPECT_TRUE(standbys->has_everybody());
  }
  // A pause of the leader counts as a short one.
  clock_.mono_ns += 5 * kNsPerSecond;
  standbys->Tick();
  EXPECT_TRUE(standbys->has_everybody());
  for (int i = 0; i < 25; ++i) {
    clock_.mono_ns += kNsPerSecond / 20;
    standbys->Tick();
  }
  EXPECT_FALSE(standbys->has_everybody());
}

// Goal: whoever leads next, no acknowledged row is lost, none is doubled, and all logs become
// equal. Method: random sequences of rows, deliveries, kills of the leader and of standbys; the
// next leader is one of the in-sync set; feeds send again what was not acknowledged.
TEST_F(StandbysTest, LosesNoAcknowledgedRowWhoeverLeadsNext) {
  const std::vector<std::string> names = {"a", "b", "c"};
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    for (const std::string& name : names) {
      std::filesystem::remove_all(directory_ + "/" + name);
    }
    std::mt19937_64 rng(seed);
    const auto draw = [&](uint64_t below) { return rng() % below; };
    std::map<std::string, FakeStandby> others;
    for (const std::string& name : names) {
      others.emplace(name, FakeStandby(name, directory_ + "/" + name));
    }
    set_.members = {};
    std::string leader = "a";
    Lead(leader, 1);
    uint64_t acknowledged = 0;
    const auto note = [&] {
      ASSERT_TRUE(plant->Commit().ok());
      if (!standbys->is_settled()) return;
      acknowledged =
          std::max<uint64_t>(acknowledged, static_cast<uint64_t>(plant->LoggedFeedRows("nyse")[0]));
    };
    std::set<std::string> joined;
    for (int step = 0; step < 150; ++step) {
      clock_.mono_ns += kNsPerSecond / 10;
      const std::string& name = names[draw(3)];
      FakeStandby& standby = others.at(name);
      const uint64_t what = draw(20);
      if (what < 8) {
        Stage();
      } else if (what < 16 && name != leader) {
        if (!joined.contains(name)) {
          ASSERT_TRUE(standby.Join(*standbys).ok());
          joined.insert(name);
        } else if (standby.closed.ok()) {
          ASSERT_TRUE(standby.Take(draw(4)).ok());
          if (draw(2) == 0) {
            ASSERT_TRUE(standby.Acknowledge().ok());
          }
        } else {
          standby.Kill();
          joined.erase(name);
        }
      } else if (what == 17 && name != leader && joined.contains(name)) {
        standby.Kill();
        joined.erase(name);
      } else if (what == 18) {
        MemberNames possible = set_.members;
        possible.insert(leader);
        const std::string next =
            *std::next(possible.begin(), static_cast<long>(draw(possible.size())));
        note();
        for (auto& [each, of_each] : others) {
          if (each != leader) of_each.Forget();
        }
        KillLeader();
        OpenedLog opened;
        if (others.at(next).log != nullptr && draw(2) == 0) opened = others.at(next).log->Release();
        others.at(next).Kill();
        if (next != leader && draw(2) == 0) set_.members.insert(leader);
        set_.members.erase(next);
        leader = next;
        Lead(leader, 1, "", std::move(opened));
        joined.clear();
        // The feed's rows that it was told are logged are there, all of them.
        ASSERT_GE(static_cast<uint64_t>(plant->LoggedFeedRows("nyse")[0]), acknowledged);
      }
      note();
      standbys->Tick();
    }
    // Everybody catches up.
    for (const std::string& name : names) {
      if (name == leader) continue;
      others.at(name).Kill();
      ASSERT_TRUE(others.at(name).Join(*standbys).ok());
    }
    for (int i = 0; i < 4; ++i) {
      for (const std::string& name : names) {
        if (name == leader) continue;
        ASSERT_TRUE(others.at(name).TakeAll().ok());
      }
      clock_.mono_ns += kNsPerSecond / 10;
      standbys->Tick();
      note();
    }
    EXPECT_FALSE(plant->has_staged());
    EXPECT_EQ(static_cast<uint64_t>(plant->LoggedFeedRows("nyse")[0]), plant->logged_seq());
    for (const std::string& name : names) ExpectSame(leader, name);
    for (auto& [each, of_each] : others) of_each.Forget();
    KillLeader();
  }
}

TEST_F(StandbysTest, CutsWhatNoLeaderHasLogged) {
  Lead("a", 0);
  StageAndCommit(5);
  ASSERT_TRUE(b_.Join(*standbys).ok());
  ASSERT_TRUE(b_.TakeAll().ok());
  b_.Forget();
  KillLeader();
  std::filesystem::remove_all(directory_ + "/a");
  set_.members = {};
  Lead("a", 0);
  StageAndCommit(5);
  // Both begin with nothing, so everything else of the standby's log is a tail that no leader has.
  ASSERT_TRUE(b_.Join(*standbys).ok());
  ASSERT_TRUE(b_.TakeAll().ok());
  ExpectSame("a", "b");
}

TEST_F(StandbysTest, RefusesAStandbyThatHasSeenALaterLeader) {
  Lead("a", 0);
  b_.epoch = 9;
  EXPECT_THAT(b_.Join(*standbys).ToString(), HasSubstr("epoch: standby b has seen leader 9"));
  EXPECT_EQ(b_.arrived(), 0u);
}

// A leader's own tail may have blocks that its leader never logged, as others did not have them.
TEST_F(StandbysTest, IsSettledOnceTheSetHasEverythingThatTheNewLeaderHas) {
  Lead("a", 0);
  EXPECT_TRUE(standbys->is_settled());
  ASSERT_TRUE(b_.Join(*standbys).ok());
  ASSERT_TRUE(c_.Join(*standbys).ok());
  standbys->Tick();
  StageAndCommit(2);
  ASSERT_TRUE(b_.TakeAll().ok());
  EXPECT_EQ(plant->logged_seq(), 0u);
  KillLeader();
  b_.log = nullptr;
  set_.members = {"c"};
  Lead("b", 0);
  EXPECT_EQ(plant->logged_seq(), 2u);
  EXPECT_FALSE(standbys->is_settled());
  ASSERT_TRUE(c_.Join(*standbys).ok());
  EXPECT_FALSE(standbys->is_settled());
  ASSERT_TRUE(c_.TakeAll().ok());
  EXPECT_TRUE(standbys->is_settled());
  ExpectSame("b", "c");
}

// Goal: a standby that returns with blocks that were in flight finds its place, however many blocks
// one read has staged. Method: two feeds take turns, so each row is a block.
// A request that is refused does not end the connection of the standby whose name it has.
TEST_F(StandbysTest, RefusesANameOrALogWithoutDroppingAnotherStandby) {
  Lead("a", 0);
  ASSERT_TRUE(b_.Join(*standbys).ok());
  const auto join = [&](const ReplicaRequest& request) {
    return standbys->Join(request, 999, std::make_unique<FakeStandby::ToStandby>(&c_)).status();
  };
  for (const std::string& name : {std::string("x\ninsync a"), std::string("a b"), std::string()}) {
    EXPECT_EQ(join({name, 1, kNullInt, {}}).code(), absl::StatusCode::kInvalidArgument) << name;
  }
  EXPECT_EQ(join({"b", 1, kDay + 5, {{7, 7}}}).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(b_.closed.ok());
  EXPECT_TRUE(standbys->HasConnection(b_.connection));
  EXPECT_FALSE(standbys->HasConnection(999));
}

// Goal: the leader takes acknowledgements of its standbys as they arrive, and leaves all else to
// its verbs. Method: the same bytes on other connections and as a sync request, and places that
// were never sent.
TEST_F(StandbysTest, TakesAcknowledgementsOfItsStandbysOnly) {
  Lead("a", 0);
  ASSERT_TRUE(b_.Join(*standbys).ok());
  const auto take = [&](uint64_t connection, wire::MessageKind kind, const Value& value) {
    ByteBuffer body;
    wire::Encode(value, body);
    const std::shared_ptr<const void> owner;
    return standbys->TakeMessage(connection, {kind, body.span(), owner},
                                 wire::PeekVerb(body.span()));
  };
  const Value ack = AckMessage({b_.epoch, b_.log->place(), std::nullopt});
  const std::optional<absl::Status> taken = take(b_.connection, wire::MessageKind::kAsync, ack);
  ASSERT_TRUE(taken.has_value());
  EXPECT_TRUE(taken->ok()) << *taken;
  EXPECT_FALSE(take(999, wire::MessageKind::kAsync, ack).has_value());
  EXPECT_FALSE(take(b_.connection, wire::MessageKind::kSync, ack).has_value());
  const Value other = Value::List({Value::Symbol(".u.upd"), Value::Symbol("trade"), Value()});
  EXPECT_FALSE(take(b_.connection, wire::MessageKind::kAsync, other).has_value());
  const Value beyond = AckMessage({b_.epoch, {kDay, 77}, std::nullopt});
  EXPECT_EQ(take(b_.connection, wire::MessageKind::kAsync, beyond)->code(),
            absl::StatusCode::kInvalidArgument);
  const Value short_one = Value::List({Value::Symbol(protocol::kReplicaAcked), Value()});
  EXPECT_EQ(take(b_.connection, wire::MessageKind::kAsync, short_one)->code(),
            absl::StatusCode::kInvalidArgument);
}

// Goal: a standby with another map of shards gets no rows, which it would continue by its own map.
TEST_F(StandbysTest, RefusesAStandbyOfAnotherShard) {
  Lead("a", 0);
  ReplicaRequest request{"b", 1, kNullInt, {}, {"b", "0123456789abcdef"}};
  const auto join = [&] {
    return standbys->Join(request, 999, std::make_unique<FakeStandby::ToStandby>(&c_)).status();
  };
  EXPECT_EQ(Message(join()),
            "shard: standby b is shard b of the map 0123456789abcdef, this leader is no shard: "
            "start both with one map");
  EXPECT_FALSE(standbys->HasConnection(999));
  request.shard = {};
  EXPECT_TRUE(join().ok());
}

// Goal: a standby that could not serve what clients expect is refused by name, and nobody else is.
// One of an earlier version does not say which tables it has.
TEST_F(StandbysTest, RefusesAStandbyWithOtherTables) {
  Lead("a", 0);
  ASSERT_TRUE(b_.Join(*standbys).ok());
  ReplicaRequest request{"c", 1, kNullInt, {}};
  const auto join = [&](std::string_view tables) {
    request.tables = tables;
    return std::string(Message(
        standbys->Join(request, 999, std::make_unique<FakeStandby::ToStandby>(&c_)).status()));
  };
  const std::string quote = "quote time p, sym s, n j\n", trade = "trade time p, sym s, n j\n";
  const std::string advice = ": start all members with the same [tables]";
  EXPECT_EQ(join(quote), "tables: table trade is only at the leader a" + advice);
  EXPECT_EQ(join(quote + trade + "x n j\n"), "tables: table x is only at the standby c" + advice);
  EXPECT_EQ(
      join(quote + "trade time n, sym s, n j\n"),
      "tables: table trade is \"time n, sym s, n j\" at the standby c, and \"time p, sym s, n "
      "j\" at the leader a" +
          advice);
  EXPECT_FALSE(standbys->HasConnection(999));
  EXPECT_TRUE(standbys->HasConnection(b_.connection));
  EXPECT_EQ(join(quote + trade), "");
  EXPECT_EQ(join(""), "");
}

TEST_F(StandbysTest, OffersFewerBlocksThanAStandbyTellsEndsOf) {
  Lead("a", 1);
  ASSERT_TRUE(b_.Join(*standbys).ok());
  standbys->Tick();
  for (int i = 0; i < 3000; ++i) Stage(i % 2 == 0 ? "nyse" : "lse");
  ASSERT_TRUE(plant->Commit().ok());
  EXPECT_EQ(standbys->in_flight_blocks(), CommitGate::kBlocksMax);
  ASSERT_TRUE(b_.Take().ok());
  b_.Kill();
  ASSERT_TRUE(b_.Join(*standbys).ok());
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(b_.TakeAll().ok());
    ASSERT_TRUE(plant->Commit().ok());
    EXPECT_LE(standbys->in_flight_blocks(), CommitGate::kBlocksMax);
  }
  EXPECT_FALSE(plant->has_staged());
  EXPECT_EQ(plant->logged_seq(), 3000u);
  ExpectSame("a", "b");
}

TEST_F(StandbysTest, LogsManyBlocksAloneIfNobodyMustAcknowledge) {
  Lead("a", 0);
  for (int i = 0; i < 3000; ++i) Stage(i % 2 == 0 ? "nyse" : "lse");
  ASSERT_TRUE(plant->Commit().ok());
  EXPECT_EQ(plant->logged_seq(), 3000u);
}

// Goal: a failover does not read the index of the day. Method: the log stays open from the standby
// to the leader. Opening it again would fail, because it has a writer.
TEST_F(StandbysTest, ANewLeaderContinuesInTheLogThatItHadOpenAsAStandby) {
  Lead("a", 1);
  ASSERT_TRUE(b_.Join(*standbys).ok());
  standbys->Tick();
  StageAndCommit(3);
  ASSERT_TRUE(b_.TakeAll().ok());
  ASSERT_TRUE(plant->Commit().ok());
  b_.Forget();
  KillLeader();
  set_.members = {};
  Lead("b", 0, "a", b_.log->Release());
  EXPECT_EQ(plant->logged_seq(), 3u);
  EXPECT_EQ(plant->LoggedFeedRows("nyse")[0], 3);
  StageAndCommit(2);
  EXPECT_EQ(plant->logged_seq(), 5u);
  ASSERT_TRUE(c_.Join(*standbys).ok());
  ASSERT_TRUE(c_.TakeAll().ok());
  ExpectSame("b", "c");
}

// Goal: a failover frees no user's names, in the day in which rows came and in the next one.
// Method: names of several owners, one of which was offered to standbys under its first owner only.
TEST_F(StandbysTest, ANewLeaderKnowsTheOwnersOfNames) {
  Lead("a", 1);
  ASSERT_TRUE(b_.Join(*standbys).ok());
  standbys->Tick();
  Stage("nyse", "al");
  Stage("arca");
  Stage("nyse", "al");
  ASSERT_TRUE(plant->Commit().ok());
  Stage("nyse", "bo");
  Stage("bats", "bo");
  ASSERT_TRUE(plant->Commit().ok());
  ASSERT_TRUE(b_.TakeAll().ok());
  ASSERT_TRUE(plant->Commit().ok());
  EXPECT_EQ(plant->logged_seq(), 5u);
  standbys->OfferNextDay(kDay, kDay + 1);
  ASSERT_TRUE(b_.TakeAll().ok());
  ASSERT_TRUE(plant->EndDayTo(kDay + 1).ok());
  standbys->OnLogged({kDay + 1, 0});
  Stage("bats", "bo");
  ASSERT_TRUE(plant->Commit().ok());
  ASSERT_TRUE(b_.TakeAll().ok());
  ASSERT_TRUE(plant->Commit().ok());
  for (const int32_t day : {kDay, kDay + 1}) ExpectSame("a", "b", day);
  b_.Forget();
  KillLeader();
  set_.members = {};
  Lead("b", 0, "a", b_.log->Release());
  EXPECT_EQ(plant->OwnerOf("nyse"), "bo");
  EXPECT_EQ(plant->OwnerOf("bats"), "bo");
  EXPECT_EQ(plant->OwnerOf("arca"), "");
  EXPECT_EQ(plant->LoggedFeedRows("nyse")[0], 3);
  EXPECT_EQ(plant->LoggedFeedRows("bats")[0], 2);
  EXPECT_EQ(plant->LoggedFeedRows("arca")[0], 1);
}

TEST_F(StandbysTest, RefusesAcknowledgementsOfWhatWasNotSent) {
  Lead("a", 0);
  ASSERT_TRUE(b_.Join(*standbys).ok());
  EXPECT_FALSE(standbys->OnAck(b_.connection, {1, {kDay, 1}}).ok());
  EXPECT_FALSE(standbys->OnAck(b_.connection, {1, {kDay + 1, 0}}).ok());
  EXPECT_FALSE(standbys->OnAck(b_.connection + 1, {1, {kDay, 0}}).ok());
  EXPECT_TRUE(standbys->OnAck(b_.connection, {1, {kDay, 0}}).ok());
}

}  // namespace
}  // namespace tickstack::tickerplant
