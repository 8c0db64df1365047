#include "tickerplant/day_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "tickerplant/standby/replication_for_test.h"
#include "tplog/tplog_check.h"
#include "wire/codec.h"
#include "wire/simulation.h"

namespace tickstack::tickerplant {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using State = DayEnd::State;

constexpr int32_t kDay = 7373;  // 2020.03.09.
// Half a second before its end.
constexpr int64_t kLate = int64_t{kDay + 1} * kNsPerDay - 500'000'000;

// The end of days of a tickerplant that has no connections.
class DayEndTest : public testing::Test, public DayEnd::Host {
 protected:
  DayEndTest()
      : directory_(std::filesystem::temp_directory_path() /
                   ("day_end_test." + std::to_string(::getpid()) + "." +
                    testing::UnitTest::GetInstance()->current_test_info()->name())) {
    InitLogging("test", LogLevel::kOff);
    std::filesystem::remove_all(directory_);
    TickerplantOptions options;
    options.schemas = {*ParseSchema("trade", "time p, sym s, price f")};
    options.log_directory = directory_;
    plant_ = *Tickerplant::Open(options, *DayClock::Create("UTC", 0, std::nullopt), &loop_.clock());
    day_.emplace(loop_, plant_.get(), this);
  }
  ~DayEndTest() override {
    day_.reset();
    plant_.reset();
    std::filesystem::remove_all(directory_);
  }

  // DayEnd::Host:
  void CommitStaged() override { EXPECT_TRUE(plant_->Commit().ok()); }
  bool has_failed() const override { return has_failed_; }
  void SendInOrder(uint64_t connection, const Value& message) override {
    sent_.emplace_back(connection, message);
  }
  void TakeHeld(std::vector<HeldMessage> held) override {
    for (const HeldMessage& message : held) {
      const std::string text(wire::Decode(message.body->span())->text());
      taken_.emplace_back(message.connection, text);
      if (on_taken_) on_taken_(text);
    }
  }

  void Lead() {
    plant_->set_gate(&replication_);
    day_->set_replication(&replication_);
  }
  void Hold(uint64_t connection, std::string_view text) {
    ByteBuffer body;
    wire::Encode(Value::String(text), body);
    day_->Hold({connection, wire::MessageKind::kAsync, body.span()});
  }
  void StageRow() {
    auto body = std::make_shared<ByteBuffer>();
    wire::Encode(
        Value::List({Value::Symbol(".u.upd"), Value::Symbol("trade"),
                     Value::List({Value::Timestamp(5), Value::Symbol("A"), Value::Float(1)})}),
        *body);
    ASSERT_TRUE(plant_->StageUpd(*body, body).ok());
  }
  // Makes the log of a day impossible to open, until it is called with `false`.
  void Obstruct(const std::string& date, bool is_obstructed) {
    const std::string path = directory_ + "/sym" + date;
    if (is_obstructed) {
      std::filesystem::create_directories(path + "/x");
    } else {
      std::filesystem::remove_all(path);
    }
  }
  bool HasBegun(int32_t date) const { return !day_->is_ending() && plant_->date() == date; }

  const std::string directory_;
  wire::Simulation simulation_{kLate};
  wire::EventLoop& loop_ = simulation_.loop();
  FakeReplication replication_{1};
  std::unique_ptr<Tickerplant> plant_;
  std::optional<DayEnd> day_;
  bool has_failed_ = false;
  std::vector<std::pair<uint64_t, Value>> sent_;
  std::vector<std::pair<uint64_t, std::string>> taken_;
  std::function<void(const std::string&)> on_taken_;
};

TEST_F(DayEndTest, EndsWhenTheClockSaysSo) {
  day_->EndIfDue();
  EXPECT_TRUE(HasBegun(kDay));
  simulation_.RunFor(1s);
  day_->EndIfDue();
  EXPECT_TRUE(HasBegun(kDay + 1));
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(DayEndTest, EndsByRequestOncePerDay) {
  EXPECT_TRUE(day_->EndByRequest().ok());
  EXPECT_TRUE(HasBegun(kDay + 1));
  EXPECT_EQ(Message(day_->EndByRequest()), "day: 2020.03.10 has not begun yet");
}

// Goal: the last rows of closers are in the log of their day, and those of others in the next one.
TEST_F(DayEndTest, WaitsForClosersAndHoldsTheRowsOfOthers) {
  day_->closers().Add("bars", 1);
  day_->closers().Add("vwap", 2);
  StageRow();
  ASSERT_TRUE(day_->EndByRequest().ok());
  EXPECT_EQ(day_->state(), State::kClosing);
  EXPECT_EQ(plant_->published_seq(), 1u) << "closers have all rows when they are asked";
  const Value closing = Value::List({Value::Symbol(".u.closing"), Value::Date(kDay)});
  EXPECT_THAT(sent_, ElementsAre(Pair(1, closing), Pair(2, closing)));
  EXPECT_FALSE(day_->MustWait(1, /*may_have_rows=*/true));
  EXPECT_TRUE(day_->MustWait(9, /*may_have_rows=*/true));
  EXPECT_FALSE(day_->MustWait(9, /*may_have_rows=*/false));
  Hold(9, "first");
  Hold(8, "second");
  Hold(9, "third");

  EXPECT_TRUE(day_->closers().OnClosed("bars", 1));
  simulation_.RunFor(1s);
  EXPECT_EQ(day_->state(), State::kClosing);
  EXPECT_THAT(taken_, IsEmpty());
  EXPECT_TRUE(day_->closers().OnClosed("vwap", 2));
  simulation_.RunFor(2ms);
  EXPECT_TRUE(HasBegun(kDay + 1));
  EXPECT_THAT(taken_, ElementsAre(Pair(9, "first"), Pair(8, "second"), Pair(9, "third")));
  EXPECT_FALSE(day_->MustWait(9, /*may_have_rows=*/true));
}

TEST_F(DayEndTest, GivesUpACloserThatDoesNotAnswer) {
  day_->closers().Add("bars", 1);
  simulation_.RunFor(1s);
  day_->EndIfDue();
  simulation_.RunFor(std::chrono::nanoseconds(DayClosers::kWaitNsMax) - 10ms);
  EXPECT_EQ(day_->state(), State::kClosing);
  simulation_.RunFor(20ms);
  EXPECT_TRUE(HasBegun(kDay + 1));
}

TEST_F(DayEndTest, EndsWhenTheLastCloserHasGone) {
  day_->closers().Add("bars", 1);
  ASSERT_TRUE(day_->EndByRequest().ok());
  day_->closers().OnConnectionGone(1);
  simulation_.RunFor(2ms);
  EXPECT_TRUE(HasBegun(kDay + 1));
}

TEST_F(DayEndTest, RefusesARequestWhileADayEnds) {
  day_->closers().Add("bars", 1);
  ASSERT_TRUE(day_->EndByRequest().ok());
  EXPECT_EQ(Message(day_->EndByRequest()), "day: it is ending already");
  day_->Stop();
}

TEST_F(DayEndTest, EndsAsTheUpstreamDid) {
  std::optional<absl::Status> ended;
  const auto done = [&](const absl::Status& status) {
    EXPECT_FALSE(day_->is_ending());
    ended = status;
  };
  day_->EndAsUpstream(kDay + 1, done);
  ASSERT_TRUE(ended && ended->ok());
  EXPECT_TRUE(HasBegun(kDay + 1));

  ended.reset();
  day_->closers().Add("bars", 1);
  day_->EndAsUpstream(kDay + 4, done);
  EXPECT_FALSE(ended.has_value());
  EXPECT_EQ(day_->state(), State::kClosing);
  StageRow();  // The closer publishes it.
  day_->closers().OnClosed("bars", 1);
  simulation_.RunFor(2ms);
  ASSERT_TRUE(ended && ended->ok());
  EXPECT_TRUE(HasBegun(kDay + 4));
  EXPECT_EQ(*tplog::CountTplogRows(directory_ + "/sym2020.03.10"),
            (tplog::TableRows{{"trade", 1}}));
}

TEST_F(DayEndTest, TellsTheUpstreamOfAnEndThatFails) {
  std::optional<absl::Status> ended;
  day_->closers().Add("bars", 1);
  day_->EndAsUpstream(kDay, [&](const absl::Status& status) { ended = status; });
  Hold(9, "row");
  day_->closers().OnClosed("bars", 1);
  simulation_.RunFor(2ms);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(Message(*ended), "day: 2020.03.09 does not follow 2020.03.09");
  EXPECT_TRUE(HasBegun(kDay));
  EXPECT_THAT(taken_, ElementsAre(Pair(9, "row")));
}

TEST_F(DayEndTest, TriesAgainAfterAnEndThatFails) {
  day_->closers().Add("bars", 1);
  simulation_.RunFor(1s);
  Obstruct("2020.03.10", true);
  day_->EndIfDue();
  Hold(9, "row");
  day_->closers().OnClosed("bars", 1);
  simulation_.RunFor(2ms);
  EXPECT_TRUE(HasBegun(kDay));
  EXPECT_THAT(taken_, ElementsAre(Pair(9, "row")));
  Obstruct("2020.03.10", false);
  day_->EndIfDue();
  EXPECT_EQ(day_->state(), State::kClosing) << "closers are asked again";
  day_->closers().OnClosed("bars", 1);
  simulation_.RunFor(2ms);
  EXPECT_TRUE(HasBegun(kDay + 1));
}

// Goal: a day ends at the standbys before it ends here, and after all of its rows are logged.
TEST_F(DayEndTest, EndsWithTheStandbys) {
  Lead();
  day_->closers().Add("bars", 1);
  simulation_.RunFor(1s);
  day_->EndIfDue();
  EXPECT_EQ(day_->state(), State::kClosing);
  StageRow();  // The closer publishes it.
  replication_.acknowledges = false;
  day_->closers().OnClosed("bars", 1);
  simulation_.RunFor(2ms);
  EXPECT_EQ(day_->state(), State::kDraining);
  EXPECT_TRUE(day_->MustWait(1, /*may_have_rows=*/true)) << "a closer's rows, too";
  EXPECT_FALSE(day_->MustWait(1, /*may_have_rows=*/false));
  Hold(9, "row");
  day_->Advance();
  EXPECT_EQ(day_->state(), State::kDraining);
  EXPECT_EQ(replication_.offered_day, 0);

  replication_.acknowledges = true;
  ASSERT_TRUE(plant_->Commit().ok());
  replication_.acknowledges = false;
  day_->Advance();
  EXPECT_EQ(day_->state(), State::kOffered);
  EXPECT_EQ(replication_.offered_day, kDay + 1);
  EXPECT_EQ(plant_->date(), kDay);
  EXPECT_TRUE(day_->MustWait(1, /*may_have_rows=*/true));

  replication_.acknowledges = true;
  day_->Advance();
  EXPECT_TRUE(HasBegun(kDay + 1));
  EXPECT_EQ(replication_.logged, (ReplicaPlace{kDay + 1, 0}));
  EXPECT_THAT(taken_, ElementsAre(Pair(9, "row")));
}

TEST_F(DayEndTest, EndsByRequestWithTheStandbys) {
  Lead();
  replication_.acknowledges = false;
  ASSERT_TRUE(day_->EndByRequest().ok());
  EXPECT_EQ(day_->state(), State::kOffered);
  EXPECT_EQ(Message(day_->EndByRequest()), "day: it is ending already");
  replication_.acknowledges = true;
  day_->Advance();
  EXPECT_TRUE(HasBegun(kDay + 1));
}

// Goal: a day that was offered ends, whatever happens meanwhile: the standbys have ended it.
TEST_F(DayEndTest, TriesAgainWhenTheStandbysHaveEndedTheDay) {
  Lead();
  Obstruct("2020.03.10", true);
  ASSERT_TRUE(day_->EndByRequest().ok());
  Hold(9, "row");
  simulation_.SetClock(-3600 * kNsPerSecond);
  EXPECT_EQ(day_->state(), State::kOffered);
  Obstruct("2020.03.10", false);
  day_->EndIfDue();
  EXPECT_EQ(day_->state(), State::kOffered) << "it is too early for another attempt";
  EXPECT_THAT(taken_, IsEmpty());
  simulation_.RunFor(std::chrono::nanoseconds(DayEnd::kPauseNs));
  day_->EndIfDue();
  EXPECT_TRUE(HasBegun(kDay + 1));
  EXPECT_THAT(taken_, ElementsAre(Pair(9, "row")));
}

TEST_F(DayEndTest, StaysOpenIfTheClockIsSetBackWhileItCloses) {
  Lead();
  day_->closers().Add("bars", 1);
  simulation_.RunFor(1s);
  day_->EndIfDue();
  Hold(9, "row");
  simulation_.SetClock(-3600 * kNsPerSecond);
  day_->closers().OnClosed("bars", 1);
  simulation_.RunFor(2ms);
  EXPECT_TRUE(HasBegun(kDay));
  EXPECT_EQ(replication_.offered_day, 0);
  EXPECT_THAT(taken_, ElementsAre(Pair(9, "row")));
}

TEST_F(DayEndTest, EndsNoReplicatedDayAfterAFailure) {
  Lead();
  has_failed_ = true;
  ASSERT_TRUE(day_->EndByRequest().ok());
  EXPECT_EQ(day_->state(), State::kDraining);
  has_failed_ = false;
  day_->Advance();
  EXPECT_TRUE(HasBegun(kDay + 1));
}

// Goal: a message that waited may end the next day, and those after it wait again.
TEST_F(DayEndTest, TakesAMessageThatEndsTheNextDay) {
  day_->closers().Add("bars", 1);
  simulation_.RunFor(1s);
  day_->EndIfDue();
  on_taken_ = [&](const std::string& text) {
    if (text == "end") {
      EXPECT_TRUE(day_->EndByRequest().ok());
    } else if (day_->MustWait(9, /*may_have_rows=*/true)) {
      Hold(9, text);
    }
  };
  Hold(9, "row");
  Hold(9, "end");
  Hold(9, "later");
  day_->closers().OnClosed("bars", 1);
  simulation_.RunFor(2ms);
  EXPECT_EQ(plant_->date(), kDay + 1);
  EXPECT_EQ(day_->state(), State::kClosing);
  day_->closers().OnClosed("bars", 1);
  simulation_.RunFor(2ms);
  EXPECT_TRUE(HasBegun(kDay + 2));
  EXPECT_THAT(taken_,
              ElementsAre(Pair(9, "row"), Pair(9, "end"), Pair(9, "later"), Pair(9, "later")));
}

}  // namespace
}  // namespace tickstack::tickerplant
