#include "tickerplant/ended_logs.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>

#include "base/byte_buffer.h"
#include "table/schema.h"
#include "tickerplant/tickerplant.h"
#include "tplog/tplog_state.h"
#include "wire/codec.h"

namespace {

// What syncs of the log of 2020.03.09 do; those of other files succeed.
std::atomic<bool> syncs_wait = false;
std::atomic<bool> syncs_fail = false;
std::atomic<int> syncs = 0;

bool IsOfTheEndedLog(int fd) {
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  std::error_code ignored;
  return std::filesystem::read_symlink(link, ignored).native().ends_with("/sym2020.03.09");
}

}  // namespace

// The C library's function, which the test stops or lets fail.
extern "C" int fdatasync(int fd) {
  if (IsOfTheEndedLog(fd)) {
    ++syncs;
    syncs.notify_all();
    syncs_wait.wait(true);
    if (syncs_fail) {
      errno = EIO;
      return -1;
    }
  }
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}

namespace tickstack::tickerplant {
namespace {

const int32_t kDay = *ParseDate("2020.03.09");
const int64_t kNoon = int64_t{kDay} * kNsPerDay + kNsPerDay / 2;

class EndedLogsTest : public testing::Test {
 protected:
  EndedLogsTest() {
    std::filesystem::remove_all(directory_);
    syncs_wait = syncs_fail = false;
    syncs = 0;
  }
  ~EndedLogsTest() override {
    plant_.reset();
    std::filesystem::remove_all(directory_);
  }

  void Open(tplog::FsyncPolicy fsync = tplog::FsyncPolicy::kNone) {
    plant_.reset();
    TickerplantOptions options;
    options.schemas = {*ParseSchema("trade", "time p, sym s, price f")};
    options.log_directory = directory_;
    options.log.fsync = fsync;
    auto opened = Tickerplant::Open(options, *DayClock::Create("UTC", 0, std::nullopt), &clock_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    plant_ = *std::move(opened);
  }
  void LogRow() {
    const std::vector<int64_t> times = {kNoon};
    const std::vector<double> prices = {1};
    auto body = std::make_shared<ByteBuffer>();
    wire::Encode(
        Value::List({Value::Symbol(".u.upd"), Value::Symbol("trade"),
                     Value::List({Value::Vector(Type::kTimestamp, std::span<const int64_t>(times)),
                                  Value::Symbols(SymbolVector{"IBM"}),
                                  Value::Vector(Type::kFloat, std::span<const double>(prices))})}),
        *body);
    ASSERT_TRUE(plant_->StageUpd(*body, body).ok());
    ASSERT_TRUE(plant_->Commit().ok());
  }
  void Roll() {
    syncs = 0;  // Without those of the log's creation.
    clock_.Set(kNoon + kNsPerDay);
    const absl::StatusOr<bool> rolled = plant_->RollIfDue();
    ASSERT_TRUE(rolled.ok() && *rolled) << rolled.status();
  }
  tplog::TplogState State() { return *tplog::ReadTplogState(LogPath()); }
  std::string LogPath() const { return directory_ + "/sym2020.03.09"; }

  const std::string directory_ =
      std::filesystem::temp_directory_path() / ("ended_logs_test." + std::to_string(::getpid()));
  ManualClock clock_{kNoon};
  std::unique_ptr<Tickerplant> plant_;
};

// Goal: rows of the new day do not wait for the disk. Method: the sync of the ended log does not
// return before rows of the new day were logged and published.
TEST_F(EndedLogsTest, AreSyncedWhileTheNewDayGoesOn) {
  Open();
  LogRow();
  syncs_wait = true;
  Roll();
  syncs.wait(0);  // The sync has begun.
  LogRow();
  plant_->Publish();
  EXPECT_EQ(plant_->published_seq(), 1u);
  EXPECT_TRUE(State().ended);
  EXPECT_TRUE(State().open);  // Not durable yet.
  syncs_wait = false;
  syncs_wait.notify_all();
  plant_->ended_logs().Wait();
  EXPECT_EQ(syncs, 1);
  EXPECT_FALSE(State().open);
}

TEST_F(EndedLogsTest, AreDurableWhenTheTickerplantHasClosed) {
  Open();
  LogRow();
  Roll();
  ASSERT_TRUE(plant_->Close().ok());
  EXPECT_EQ(syncs, 1);
  EXPECT_FALSE(State().open);
}

// A log whose pages may be lost counts as one that was not closed: after a reboot all of it is
// compared with its index.
TEST_F(EndedLogsTest, StayOpenIfTheirSyncFails) {
  Open();
  LogRow();
  syncs_fail = true;
  Roll();
  LogRow();
  plant_->ended_logs().Wait();
  EXPECT_EQ(syncs, 1);
  EXPECT_TRUE(State().ended);
  EXPECT_TRUE(State().open);
  ASSERT_TRUE(plant_->Close().ok());
}

// Goal: a tickerplant that was killed before the sync leaves it to the next one. Method: a failed
// sync leaves the files as the kill does, but for the note about it.
TEST_F(EndedLogsTest, AreSyncedByTheNextProcess) {
  Open();
  LogRow();
  syncs_fail = true;
  Roll();
  plant_.reset();
  syncs_fail = false;
  tplog::TplogState state = State();
  EXPECT_TRUE(state.synced.has_value());
  state.synced.reset();
  ASSERT_TRUE(tplog::WriteTplogState(LogPath(), state).ok());
  syncs = 0;
  Open();
  plant_->ended_logs().Wait();
  EXPECT_EQ(syncs, 1);
  EXPECT_FALSE(State().open);
  EXPECT_TRUE(State().ended);
}

// After a failed sync, the next process writes the log again and syncs that first.
TEST_F(EndedLogsTest, AreWrittenAgainIfTheirSyncFailed) {
  Open();
  LogRow();
  syncs_fail = true;
  Roll();
  plant_.reset();
  syncs_fail = false;
  syncs = 0;
  Open();
  plant_->ended_logs().Wait();
  EXPECT_EQ(syncs, 2);
  EXPECT_FALSE(State().open);
  EXPECT_FALSE(State().synced.has_value());
  EXPECT_TRUE(State().ended);
}

// Goal: the log of a day that ended while no tickerplant ran is synced, too.
TEST_F(EndedLogsTest, AreSyncedIfTheDayEndedWithoutATickerplant) {
  Open();
  syncs = 0;
  LogRow();
  plant_.reset();
  EXPECT_EQ(syncs, 0);
  clock_.Set(kNoon + kNsPerDay);
  Open();
  plant_->ended_logs().Wait();
  EXPECT_EQ(syncs, 1);
  EXPECT_FALSE(State().open);
}

}  // namespace
}  // namespace tickstack::tickerplant
