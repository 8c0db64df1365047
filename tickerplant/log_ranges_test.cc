#include "tickerplant/log_ranges.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "wire/codec.h"

namespace tickstack::tickerplant {
namespace {

constexpr int64_t kNoon = 7373 * kNsPerDay + kNsPerDay / 2;  // On 9 March 2020.

class LogRangesTest : public testing::Test {
 protected:
  LogRangesTest()
      : directory_(std::filesystem::temp_directory_path() /
                   ("log_ranges_test." + std::to_string(::getpid()) + "." +
                    testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(directory_);
    Open();
  }
  ~LogRangesTest() override {
    plant_.reset();
    std::filesystem::remove_all(directory_);
  }

  // Opens a tickerplant as after a restart; the one before it was killed, or closed its logs.
  void Open() {
    plant_.reset();
    TickerplantOptions options;
    options.schemas = {*ParseSchema("trade", "time p, sym s, price f")};
    options.log_directory = directory_;
    auto plant = Tickerplant::Open(options, *DayClock::Create("UTC", 0, std::nullopt), &clock_);
    ASSERT_TRUE(plant.ok()) << plant.status();
    plant_ = *std::move(plant);
  }

  void LogRows(int messages) {
    for (int i = 0; i < messages; ++i) {
      auto body = std::make_shared<ByteBuffer>();
      const Value row = Value::List({Value::Timestamp(kNoon), Value::Symbol("A"), Value::Float(i)});
      wire::Encode(Value::List({Value::Symbol(".u.upd"), Value::Symbol("trade"), row}), *body);
      ASSERT_TRUE(plant_->StageUpd(*body, body).ok());
    }
    ASSERT_TRUE(plant_->Commit().ok());
  }

  // Returns the number of messages from `from` on, by the tickerplant as it is now.
  absl::StatusOr<int> Count(const std::string& path, int64_t from) {
    LogRanges ranges;
    TS_ASSIGN_OR_RETURN(const ByteBuffer bytes, ranges.Read(*plant_, path, from, 1'000'000));
    int messages = 0;
    for (size_t at = 0; at < bytes.size(); ++messages) {
      size_t used = 0;
      TS_RETURN_IF_ERROR(wire::DecodePrefix(bytes.span().subspan(at), &used).status());
      at += used;
    }
    return messages;
  }

  void ExpectBothDaysAreServed() {
    EXPECT_EQ(*Count(ended_, 0), 3);
    EXPECT_EQ(*Count(ended_, 2), 1);
    EXPECT_EQ(*Count(ended_, 3), 0);
    EXPECT_EQ(Count(ended_, 4).status().message(), "length: .u.log from message 4, the log has 3");
    EXPECT_FALSE(Count(ended_, -1).ok());
    EXPECT_EQ(*Count(plant_->log().path(), 0), static_cast<int>(plant_->logged_seq()));
    EXPECT_TRUE(absl::IsNotFound(Count(directory_ + "/sym2020.03.08", 0).status()));
  }

  const std::string directory_;
  const std::string ended_ = directory_ + "/sym2020.03.09";
  ManualClock clock_{kNoon};
  std::unique_ptr<Tickerplant> plant_;
};

// Goal: a subscriber that lacks the last rows of a day can have them from a tickerplant that was
// restarted since. Method: the process ends at different moments around midnight; each time the
// next one is asked for both logs.
TEST_F(LogRangesTest, ServesTheLogBeforeTodaysAcrossRestarts) {
  LogRows(3);
  clock_.Advance(kNsPerDay);
  ASSERT_TRUE(*plant_->RollIfDue());
  ExpectBothDaysAreServed();
  Open();  // Nothing was logged on the new day.
  ExpectBothDaysAreServed();
  LogRows(2);
  ExpectBothDaysAreServed();
  plant_->ended_logs().Wait();
  Open();  // The ended log was closed.
  ExpectBothDaysAreServed();
  ASSERT_TRUE(plant_->Close().ok());
  Open();
  ExpectBothDaysAreServed();
}

TEST_F(LogRangesTest, ServesTheLogOfADayThatEndedWhileNoProcessRan) {
  LogRows(3);
  plant_.reset();
  clock_.Advance(kNsPerDay);
  Open();
  ExpectBothDaysAreServed();
}

}  // namespace
}  // namespace tickstack::tickerplant
