#include "tplog/log_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "rdb/rdb.h"
#include "table/value.h"
#include "tests/support/fixtures.h"
#include "wire/codec.h"

namespace tickstack::rdb {
namespace {

using namespace std::chrono_literals;

// What is in a log: `messages` as the fixtures' README counts them, and rows as a reader counted
// them that shares no code with ours.
struct KnownLog {
  std::string_view path;
  uint64_t messages;
  uint64_t other;  // Messages that are not upds; included in `messages`.
  std::map<std::string, size_t> rows;
  uint64_t refused = 0;  // Upds of other types than their table's, which q's insert refuses too.
};

const std::vector<KnownLog>& KnownLogs() {
  static const std::vector<KnownLog> logs = {
      {"chanjam03-AdvKDB/debugging/Q1/tplog", 10, 3, {{"trade", 20}}, 3},
      {"chanjam03-AdvKDB/logs/replay/ENB2023.04.24", 3, 0, {{"trade", 3}}},
      {"chanjam03-AdvKDB/logs/replay/sym2023.04.24",
       8799,
       0,
       {{"quote", 10234}, {"OHLC", 1002}, {"trade", 1136}, {"optTrades", 3000}}},
      {"DataIntellectTech-TorQ/tests/merge/tplogreplay/testlogs/stp1_quote20220616122504",
       308,
       0,
       {{"quote", 11307}}},
      {"DataIntellectTech-TorQ/tests/merge/tplogreplay/testlogs/stp1_trade20220616122504",
       306,
       0,
       {{"trade", 2409}}},
      {"DataIntellectTech-TorQ/tests/stp/tickerlog/logs/oldlog/testoldlog",
       100,
       0,
       {{"quote", 1965}, {"trade", 400}}},
      {"DataIntellectTech-TorQ/tests/stp/tickerlog/logs/stpnone/stpnone_20201006204450",
       2,
       0,
       {{"trade", 10}, {"quote", 10}}},
      {"DataIntellectTech-TorQ/tests/stp/tickerlog/logs/stptabperiod/quote20201006204520",
       1,
       0,
       {{"quote", 10}}},
      {"DataIntellectTech-TorQ/tests/stp/tickerlog/logs/stptabperiod/quote20201006204524",
       1,
       0,
       {{"quote", 10}}},
      {"DataIntellectTech-TorQ/tests/stp/tickerlog/logs/stptabperiod/trade20201006204520",
       1,
       0,
       {{"trade", 10}}},
      {"DataIntellectTech-TorQ/tests/stp/tickerlog/logs/stptabperiod/trade20201006204524",
       1,
       0,
       {{"trade", 10}}},
      {"DunnyDon-advancedKdb/section2/newtp", 8, 1, {{"trade", 35}}},
      {"DunnyDon-advancedKdb/section2/tplog", 10, 3, {{"trade", 20}}, 3},
      {"DunnyDon-advancedKdb/tpLogs/schema2019.06.21",
       46,
       0,
       {{"quote", 50}, {"statsTab", 118}, {"bid", 4}}},
      {"DunnyDon-advancedKdb/tpLogs/schema2019.06.24",
       95,
       0,
       {{"quote", 94}, {"statsTab", 297}, {"bid", 8}}},
      {"ghlian-AdvancedKDB/AdvancedKDB/Question2_Answers/tplog_fixed", 8, 0, {{"trade", 40}}},
      {"glimKX-advKDB/tplog/IBM.2018.06.11", 1, 0, {{"quote", 1}}},
      {"pmcnamee99-10-advanced-kdb-tick-arch/kdb-tick/schema2026.02.19",
       418,
       0,
       {{"quote", 209}, {"trade", 209}}},
      {"SirCsimbok-kdb-tick/schema2024.01.29", 1696, 0, {{"quote", 3058}, {"trade", 334}}},
  };
  return logs;
}

struct Fixture {
  explicit Fixture(bool infer_schemas = true)
      : rdb({.table = {}, .infer_schemas = infer_schemas}, Placement(tier.get()), &clock) {}
  std::map<std::string, size_t> Rows() {
    std::map<std::string, size_t> rows;
    for (const std::string& name : rdb.TableNames()) rows[name] = rdb.FindTable(name)->rows();
    return rows;
  }
  ManualClock clock{0};
  std::unique_ptr<mem::Tier> tier = mem::MakeDramTier("dram");
  Rdb rdb;
};

// A file with a log of `messages` upds of one row each.
class LogFile {
 public:
  explicit LogFile(int messages) {
    std::string name = (std::filesystem::temp_directory_path() / "tickstack_log_XXXXXX").string();
    const int fd = mkstemp(name.data());
    EXPECT_GE(fd, 0);
    close(fd);
    path_ = name;
    ByteBuffer bytes;
    bytes.Append(std::string_view("\xff\x01\0\0\0\0\0\0", 8));
    for (int i = 0; i < messages; ++i) {
      const size_t begin = bytes.size();
      wire::Encode(Value::List({Value::Symbol("upd"), Value::Symbol("t"),
                                Value::List({Value::Longs({i}), Value::Symbols({"A"})})}),
                   bytes);
      bodies_.push_back(std::string(AsText(bytes.span().subspan(begin))));
    }
    Write(AsText(bytes));
  }
  ~LogFile() { std::filesystem::remove(path_); }
  void Write(std::string_view bytes) {
    std::ofstream(path_, std::ios::binary | std::ios::app) << bytes;
  }
  const std::string& path() const { return path_; }
  const std::vector<std::string>& bodies() const { return bodies_; }

 private:
  std::string path_;
  std::vector<std::string> bodies_;
};

TEST(LogReplay, ReplaysEveryLogOfTheFixtures) {
  TS_REQUIRE_FIXTURE(folder, "kdb");
  for (const KnownLog& known : KnownLogs()) {
    SCOPED_TRACE(known.path);
    Fixture f;
    absl::StatusOr<std::unique_ptr<tplog::LogReplay>> replay =
        tplog::LogReplay::Open((folder / known.path).string());
    ASSERT_TRUE(replay.ok()) << replay.status();
    const absl::StatusOr<tplog::LogReplay::Progress> progress =
        (*replay)->Step(f.rdb, UINT64_MAX, 60s);
    ASSERT_TRUE(progress.ok()) << progress.status();
    EXPECT_EQ(*progress, tplog::LogReplay::Progress::kLogEnds);
    EXPECT_EQ((*replay)->torn_bytes(), 0u);
    EXPECT_EQ(f.rdb.counters().messages_replayed, known.messages);
    EXPECT_EQ(f.rdb.counters().messages_other, known.other);
    EXPECT_EQ(f.rdb.counters().upds_refused, known.refused);
    EXPECT_EQ(f.rdb.position().seq(), known.messages);
    EXPECT_EQ(f.Rows(), known.rows);
  }
}

// Goal: an rdb that serves a log does not pass for complete if noise has made one message of
// several, or left one that is no upd. Method: the third argument's count takes in two messages.
TEST(OddMessages, AreFoundByAReplay) {
  const LogFile sound(6);
  const auto odd_of = [](const std::string& path) {
    Fixture f;
    const std::unique_ptr<tplog::LogReplay> replay = *tplog::LogReplay::Open(path, true);
    EXPECT_EQ(*replay->Step(f.rdb, UINT64_MAX, 10s), tplog::LogReplay::Progress::kLogEnds);
    return replay->FindOdd();
  };
  EXPECT_TRUE(odd_of(sound.path()).empty());
  std::string joined = sound.bodies()[2];
  joined[2] += 2;
  LogFile damaged(2);
  damaged.Write(joined + sound.bodies()[3] + sound.bodies()[4] + sound.bodies()[5]);
  const std::vector<tplog::MessageCensus::Odd> odd = odd_of(damaged.path());
  ASSERT_EQ(odd.size(), 1u);
  EXPECT_EQ(odd[0].messages, 1u);
  EXPECT_EQ(odd[0].first.seq, 2u);
  EXPECT_TRUE(odd[0].hides_rows);

  Fixture f;
  EXPECT_EQ(f.rdb.counters().incomplete, 0u);
  f.rdb.NoteMissing(odd[0].messages);
  EXPECT_EQ(f.rdb.counters().incomplete, 1u);
  EXPECT_EQ(f.rdb.counters().messages_missing, 1u);
}

TEST(LogReplay, GoesInSlicesAndStopsWhereItIsTold) {
  const LogFile log(1000);
  Fixture f;
  const std::unique_ptr<tplog::LogReplay> replay = *tplog::LogReplay::Open(log.path());
  int slices = 0;
  while (*replay->Step(f.rdb, 700, 0ns) == tplog::LogReplay::Progress::kMore) ++slices;
  EXPECT_GT(slices, 5);
  EXPECT_EQ(f.rdb.position().seq(), 700u);
  EXPECT_EQ(f.Rows()["t"], 700u);
  EXPECT_EQ(*replay->Step(f.rdb, 2000, 10s), tplog::LogReplay::Progress::kLogEnds);
  EXPECT_EQ(f.Rows()["t"], 1000u);
}

TEST(LogReplay, BeginsWhereTheRdbStands) {
  const LogFile log(10);
  Fixture f;
  ASSERT_TRUE(f.rdb.position().OnCaughtUp(7));
  EXPECT_EQ(*(*tplog::LogReplay::Open(log.path()))->Step(f.rdb, 9, 10s),
            tplog::LogReplay::Progress::kReached);
  EXPECT_EQ(f.Rows()["t"], 2u);
  ASSERT_TRUE(f.rdb.position().OnCaughtUp(70));
  EXPECT_EQ(*(*tplog::LogReplay::Open(log.path()))->Step(f.rdb, 80, 10s),
            tplog::LogReplay::Progress::kLogEnds);
}

TEST(LogReplay, ATornTailIsTheEndOfTheLog) {
  LogFile log(3);
  log.Write(log.bodies()[0].substr(0, 20));
  Fixture f;
  const std::unique_ptr<tplog::LogReplay> replay = *tplog::LogReplay::Open(log.path());
  EXPECT_EQ(*replay->Step(f.rdb, UINT64_MAX, 10s), tplog::LogReplay::Progress::kLogEnds);
  EXPECT_EQ(f.Rows()["t"], 3u);
  EXPECT_EQ(replay->torn_bytes(), 20u);
}

TEST(LogReplay, ReadsOneMessageAside) {
  const LogFile log(3);
  Fixture f;
  const std::unique_ptr<tplog::LogReplay> replay = *tplog::LogReplay::Open(log.path());
  EXPECT_EQ(AsText(*replay->ReadMessage(0)), log.bodies()[0]);
  EXPECT_EQ(replay->ReadMessage(7)->size(), 0u);
  EXPECT_EQ(*replay->Step(f.rdb, 3, 10s), tplog::LogReplay::Progress::kReached);
  EXPECT_EQ(f.Rows()["t"], 3u);
}

TEST(ReplayBytes, TakesMessagesBackToBackUpToWhereItIsTold) {
  const LogFile log(3);
  Fixture f;
  const std::string all = log.bodies()[0] + log.bodies()[1] + log.bodies()[2];
  EXPECT_TRUE(tplog::ReplayBytes(AsBytes(all), f.rdb, 2).ok());
  EXPECT_EQ(f.rdb.position().seq(), 2u);
  EXPECT_EQ(f.Rows()["t"], 2u);
}

TEST(ReplayBytes, NamesTheMessageThatIsNotWhole) {
  const LogFile log(2);
  Fixture f;
  const std::string cut = log.bodies()[0] + log.bodies()[1].substr(0, 9);
  const absl::Status status = tplog::ReplayBytes(AsBytes(cut), f.rdb, 9);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Message(status), "log message 1: 9 bytes are not a whole value");
}

}  // namespace
}  // namespace tickstack::rdb
