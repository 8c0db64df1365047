#include "tplog/tplog_power_cut.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/directory.h"
#include "tplog/tplog_for_test.h"
#include "tplog/tplog_format.h"
#include "tplog/tplog_index.h"
#include "tplog/tplog_repair.h"
#include "tplog/tplog_state.h"
#include "wire/upd.h"

namespace tickstack::tplog {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr int64_t kBlockNs = 10'000'000;  // Interval between two blocks.

class PowerCutTest : public TplogTest {
 protected:
  static TplogOptions OptionsOf(std::string boot) {
    TplogOptions options;
    options.boot = std::move(boot);
    return options;
  }

  // Appends `blocks` blocks of the feed `sim`, whose row numbers continue.
  void AppendBlocks(TplogWriter& writer, int blocks, std::mt19937_64& rng) {
    for (int i = 0; i < blocks; ++i) {
      const int rows = 1 + static_cast<int>(rng() % 90);
      time_ns_ += kBlockNs;
      ASSERT_TRUE(
          BlockOf("sim").Add("trade", rows, RowsOf(writer)).AppendTo(writer, time_ns_).ok());
    }
  }
  static int64_t RowsOf(const TplogWriter& writer) {
    const auto feed = writer.totals().feed_rows.find("sim");
    return feed == writer.totals().feed_rows.end() ? 0
                                                   : static_cast<int64_t>(feed->second.at("trade"));
  }

  // Damages a file as a power cut may: beyond byte `synced` it ends anywhere, and any of its pages,
  // or the rest of one, was not written.
  static void CutPower(const std::string& path, uint64_t synced, std::mt19937_64& rng) {
    std::string content = Content(path);
    content.resize(synced + rng() % (content.size() - synced + 1));
    const uint64_t pages_lost = rng() % 3;  // None, some or most of them.
    for (uint64_t begin = synced; begin < content.size();) {
      const uint64_t end =
          std::min<uint64_t>((begin / kPageBytes + 1) * kPageBytes, content.size());
      if (rng() % 3 < pages_lost) {
        const uint64_t from = begin + rng() % (end - begin);
        std::fill(content.begin() + static_cast<std::ptrdiff_t>(from),
                  content.begin() + static_cast<std::ptrdiff_t>(end), '\0');
      }
      begin = end;
    }
    Write(path, content);
  }

  int64_t time_ns_ = 582'044'400'000'000'000;
};

// Goal: whatever a power cut leaves of the files beyond their last sync, the log opens; it has
// every synced message and no byte that was not written; and the feed's progress matches exactly
// the rows in it. Method: 400 lives of three cuts. After each cut the feed resumes where the log
// says.
TEST_F(PowerCutTest, LeavesAPrefixWithTheProgressOfExactlyItsRows) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    std::filesystem::remove_all(directory_);
    for (int life = 0; life < 3; ++life) {
      // The machine keeps running after the previous life's recovery.
      auto writer = OpenWriter(OptionsOf("boot " + std::to_string(life)));
      ASSERT_NE(writer, nullptr);
      AppendBlocks(*writer, static_cast<int>(rng() % 40), rng);
      ASSERT_TRUE(writer->Sync().ok());
      const std::string synced = Content(path_);
      const uint64_t synced_index = Content(index_path_).size();
      const uint64_t synced_messages = writer->totals().messages;
      AppendBlocks(*writer, static_cast<int>(rng() % 40), rng);
      writer = nullptr;  // Killed. The policy is none, so nothing is synced.
      const std::string written = Content(path_);
      CutPower(path_, synced.size(), rng);
      CutPower(index_path_, synced_index, rng);

      writer = OpenWriter(OptionsOf("boot " + std::to_string(life + 1)));
      ASSERT_NE(writer, nullptr);
      EXPECT_TRUE(writer->recovery().power_cut);
      EXPECT_GE(writer->totals().messages, synced_messages);
      EXPECT_TRUE(writer->totals().feed_progress_known);
      const std::string kept = Content(path_);
      EXPECT_EQ(kept, written.substr(0, kept.size()));
      ASSERT_EQ(writer->state().cuts.size(), static_cast<size_t>(life) + 1);
      EXPECT_EQ(writer->state().cuts.back().messages, writer->totals().messages);
      EXPECT_EQ(Replay().size(), writer->totals().messages);
      EXPECT_EQ(writer->totals().rows.contains("trade") ? writer->totals().rows.at("trade") : 0,
                static_cast<uint64_t>(RowsOf(*writer)));
      if (writer->recovery().log_bytes_cut > 0) {
        EXPECT_EQ(Content(writer->recovery().cut_path).size(), writer->recovery().log_bytes_cut);
      }
    }
    const TplogReport report = CheckTplog(path_).value();
    EXPECT_EQ(report.problem_count, 0u) << report.problems.front().text;
    // Each row of the feed occurs once, in order.
    int64_t row = 0;
    const auto reader = OpenReader();
    wire::UpdDecoder decoder;
    while (true) {
      const auto message = reader->Next().value();
      if (!message) break;
      wire::UpdView upd;
      ASSERT_TRUE(decoder.Decode(message->body, &upd).ok());
      EXPECT_EQ(AsText(message->body),
                AsText(UpdMessage("trade", static_cast<int>(upd.batch.rows), row)));
      row += static_cast<int64_t>(upd.batch.rows);
    }
  }
}

// Goal: damage that is too old for a power cut is kept for a person to examine, and does not
// prevent a start.
TEST_F(PowerCutTest, LeavesOldDamageInItsPlace) {
  std::mt19937_64 rng(1);
  auto writer = OpenWriter(OptionsOf("before"));
  AppendBlocks(*writer, 10, rng);
  const uint64_t old_block = writer->totals().log_bytes;
  AppendBlocks(*writer, 1, rng);
  time_ns_ += kLostNs;
  AppendBlocks(*writer, 10, rng);
  const TplogTotals totals = writer->totals();
  writer = nullptr;
  FlipBit(path_, old_block + 40);

  writer = OpenWriter(OptionsOf("after"));
  EXPECT_EQ(writer->totals(), totals);
  EXPECT_EQ(writer->recovery().messages_damaged, 1u);
  EXPECT_EQ(writer->recovery().log_bytes_cut, 0u);
  absl::Status status;
  EXPECT_EQ(Replay(*OpenReader(), &status).size(), 10u);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
}

TEST_F(PowerCutTest, CutsYoungDamageAndKeepsWhatIsCut) {
  std::mt19937_64 rng(1);
  auto writer = OpenWriter(OptionsOf("before"));
  AppendBlocks(*writer, 10, rng);
  const uint64_t young_block = writer->totals().log_bytes;
  AppendBlocks(*writer, 5, rng);
  writer = nullptr;
  const std::string written = Content(path_);
  FlipBit(path_, young_block + 40);

  writer = OpenWriter(OptionsOf("after"));
  EXPECT_EQ(writer->totals().messages, 10u);
  EXPECT_EQ(writer->recovery().messages_not_logged, 5u);
  std::string damaged = written.substr(young_block);
  damaged[40] = static_cast<char>(damaged[40] ^ 4);
  EXPECT_EQ(Content(writer->recovery().cut_path), damaged);
}

TEST_F(PowerCutTest, TakesNoOldDamageOfTheIndexForALostTail) {
  std::mt19937_64 rng(1);
  auto writer = OpenWriter(OptionsOf("before"));
  AppendBlocks(*writer, 3, rng);
  const uint64_t record = Content(index_path_).size();
  AppendBlocks(*writer, 1, rng);
  const uint64_t young_record = Content(index_path_).size();
  AppendBlocks(*writer, 1, rng);
  writer = nullptr;
  FlipBit(index_path_, young_record + 20);
  EXPECT_EQ(OpenWriter(OptionsOf("after"))->totals().messages, 4u);

  writer = OpenWriter(OptionsOf("after"));
  ASSERT_NE(writer, nullptr);
  time_ns_ += 2 * kLostNs;
  AppendBlocks(*writer, 2, rng);
  writer = nullptr;
  const std::string before = Content(path_);
  FlipBit(index_path_, record + 20);
  const auto refused = TplogWriter::Open(path_, OptionsOf("later"));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Content(path_), before);
}

// Goal: a page of the index that was lost after a quiet night is not taken for old damage. Method:
// blocks after the night fill more than a page of the index, whose first page is as it was before.
TEST_F(PowerCutTest, LosesAPageOfTheIndexAfterAQuietNight) {
  std::mt19937_64 rng(1);
  auto writer = OpenWriter(OptionsOf("before"));
  AppendBlocks(*writer, 3, rng);
  const uint64_t evening = Content(index_path_).size();
  time_ns_ += 12 * 3600 * kNsPerSecond;
  AppendBlocks(*writer, 200, rng);
  writer = nullptr;
  std::string index = Content(index_path_);
  ASSERT_GT(index.size(), 2 * kPageBytes);
  std::fill(index.begin() + static_cast<std::ptrdiff_t>(evening),
            index.begin() + static_cast<std::ptrdiff_t>(kPageBytes), '\0');
  Write(index_path_, index);

  writer = OpenWriter(OptionsOf("after"));
  ASSERT_NE(writer, nullptr);
  EXPECT_EQ(writer->totals().messages, 3u);
  EXPECT_TRUE(writer->totals().feed_progress_known);
}

// Goal: a log whose messages a power cut took opens again, although its index lost a page. Method:
// the log ends after its header, and of the index remain the feeds' progress, which was synced when
// it was created, and its second page. Without a power cut the same is damage.
TEST_F(PowerCutTest, LosesAllMessagesAndAPageOfTheIndex) {
  std::mt19937_64 rng(1);
  TplogOptions options = OptionsOf("before");
  options.carried_progress["sim"]["trade"] = 1000;
  auto writer = OpenWriter(options);
  const uint64_t synced = Content(index_path_).size();
  AppendBlocks(*writer, 200, rng);
  writer = nullptr;
  std::filesystem::resize_file(path_, kTplogHeaderBytes);
  std::string index = Content(index_path_);
  ASSERT_GT(index.size(), 2 * kPageBytes);
  std::fill(index.begin() + static_cast<std::ptrdiff_t>(synced),
            index.begin() + static_cast<std::ptrdiff_t>(kPageBytes), '\0');
  Write(index_path_, index);

  EXPECT_EQ(TplogWriter::Open(path_, options).status().code(), absl::StatusCode::kDataLoss);
  options.boot = "after";
  writer = OpenWriter(options);
  ASSERT_NE(writer, nullptr);
  EXPECT_TRUE(writer->recovery().power_cut);
  EXPECT_EQ(writer->totals().messages, 0u);
  EXPECT_EQ(writer->totals().feed_rows, options.carried_progress);
  EXPECT_EQ(Content(index_path_).size(), synced);
}

// A log that was closed, or whose machine kept running, and that another program continued: its
// rows are kept.
TEST_F(PowerCutTest, IsNotSeenWhereThereWasNone) {
  std::mt19937_64 rng(1);
  {
    TplogOptions options = OptionsOf("before");
    options.fsync = FsyncPolicy::kBatch;
    const auto writer = OpenWriter(options);
    AppendBlocks(*writer, 3, rng);
    ASSERT_TRUE(writer->Close().ok());
  }
  AppendTo(path_, UpdMessage("quote", 1));
  EXPECT_FALSE(ReadTplogState(path_)->open);
  auto writer = OpenWriter(OptionsOf("after"));
  EXPECT_FALSE(writer->recovery().power_cut);
  EXPECT_EQ(writer->totals().messages, 4u);
  writer = nullptr;
  AppendTo(path_, UpdMessage("quote", 1));
  writer = OpenWriter(OptionsOf("after"));
  EXPECT_FALSE(writer->recovery().power_cut);
  EXPECT_EQ(writer->totals().messages, 5u);
}

// Goal: in the same boot, another mount of the file system is taken for a power cut: the rows of
// the log that its index lacks are not counted as those of another program, after which their feed
// would send them again. Method: the index loses its last records, which it does not get back.
TEST_F(PowerCutTest, AMountAgainLosesThePageCacheToo) {
  for (const bool was_repaired : {false, true}) {
    std::filesystem::remove_all(directory_);
    std::mt19937_64 rng(1);
    TplogOptions options = OptionsOf("one");
    options.mount = "/sys/fs/ext4/sda1/.17";
    auto writer = OpenWriter(options);
    AppendBlocks(*writer, 5, rng);
    const uint64_t index_bytes = Content(index_path_).size();
    AppendBlocks(*writer, 5, rng);
    writer = nullptr;
    std::filesystem::resize_file(index_path_, index_bytes);

    if (was_repaired) {
      TplogRepairOptions repair;
      repair.boot = "one";
      repair.mount = "/sys/fs/ext4/sda1/.18";
      EXPECT_EQ(RepairTplog(path_, repair)->totals.messages, 5u);
    }
    options.mount = "/sys/fs/ext4/sda1/.18";
    writer = OpenWriter(options);
    EXPECT_EQ(writer->recovery().power_cut, !was_repaired);
    EXPECT_EQ(writer->totals().messages, 5u);
    EXPECT_TRUE(writer->totals().feed_progress_known);
    EXPECT_EQ(ReadTplogState(path_)->cuts.size(), 1u);
    writer = nullptr;
    EXPECT_FALSE(OpenWriter(options)->recovery().power_cut);
  }
}

// A mount that is not known, then or now, is no other one.
TEST_F(PowerCutTest, AnUnknownMountIsNoPowerCut) {
  std::mt19937_64 rng(1);
  TplogOptions options = OptionsOf("one");
  uint64_t messages = 0;
  for (const char* const mount : {"", "17", "", "18", "18"}) {
    options.mount = mount;
    const auto writer = OpenWriter(options);
    EXPECT_FALSE(writer->recovery().power_cut) << mount;
    EXPECT_EQ(writer->totals().messages, messages++);
    EXPECT_EQ(ReadTplogState(path_)->mount, mount);
    EXPECT_EQ(ReadTplogState(path_)->boot, "one");
    AppendBlocks(*writer, 1, rng);
  }
}

TEST_F(PowerCutTest, IsFoundAgainUntilItWasTaken) {
  std::mt19937_64 rng(1);
  {
    const auto writer = OpenWriter(OptionsOf("one"));
    AppendBlocks(*writer, 3, rng);
  }
  TplogOptions options = OptionsOf("two");
  for (int start = 0; start < 3; ++start) {
    bool was_cut = false;
    options.repaired = [&](const TplogRecovery& recovery) {
      was_cut = recovery.power_cut;
      return start < 2 ? absl::UnavailableError("no disk") : absl::OkStatus();
    };
    EXPECT_EQ(TplogWriter::Open(path_, options).ok(), start == 2);
    EXPECT_TRUE(was_cut);
  }
  EXPECT_FALSE(OpenWriter(OptionsOf("two"))->recovery().power_cut);
}

TEST_F(PowerCutTest, IsAssumedWhereTheStateIsNotLegible) {
  std::mt19937_64 rng(1);
  auto writer = OpenWriter(OptionsOf("same"));
  AppendBlocks(*writer, 3, rng);
  writer = nullptr;
  Write(TplogStatePath(path_), "tickstack log state 1\nwriter perhaps\n");
  TplogOptions dying = OptionsOf("same");
  dying.repaired = [](const TplogRecovery&) { return absl::UnavailableError("no disk"); };
  EXPECT_FALSE(TplogWriter::Open(path_, dying).ok());
  writer = OpenWriter(OptionsOf("same"));
  EXPECT_TRUE(writer->recovery().power_cut);
  EXPECT_EQ(writer->totals().messages, 3u);
  EXPECT_EQ(Content(TplogStatePath(path_) + ".cut-0"), "tickstack log state 1\nwriter perhaps\n");
}

TEST_F(PowerCutTest, IsMendedByRepairWithoutRowsOfUnknownFeeds) {
  std::mt19937_64 rng(1);
  auto writer = OpenWriter(OptionsOf("before"));
  AppendBlocks(*writer, 5, rng);
  const uint64_t index_bytes = Content(index_path_).size();
  const uint64_t log_bytes = Content(path_).size();
  AppendBlocks(*writer, 5, rng);
  writer = nullptr;
  std::string index = Content(index_path_);
  std::fill(index.begin() + static_cast<std::ptrdiff_t>(index_bytes) + 30, index.end(), '\0');
  Write(index_path_, index);
  TplogRepairOptions options;
  options.boot = "after";
  const TplogRepairReport report = RepairTplog(path_, options).value();
  EXPECT_EQ(report.totals.messages, 5u);
  EXPECT_TRUE(report.totals.feed_progress_known);
  EXPECT_EQ(Content(path_).size(), log_bytes);
  EXPECT_EQ(Content(report.cut_path).size(), report.log_bytes_cut);
  EXPECT_FALSE(OpenWriter(OptionsOf("after"))->recovery().power_cut);
}

TEST_F(PowerCutTest, StateSurvivesAWriterAndNamesTheEndOfItsDay) {
  auto writer = OpenWriter(OptionsOf("one"));
  TplogState expected;
  expected.open = true;
  expected.boot = "one";
  EXPECT_EQ(ReadTplogState(path_).value(), expected);
  ASSERT_TRUE(writer->SetEnded(true).ok());
  writer = nullptr;
  writer = OpenWriter(OptionsOf("two"));
  EXPECT_TRUE(writer->state().ended);
  ASSERT_TRUE(writer->SetEnded(false).ok());
  EXPECT_FALSE(ReadTplogState(path_)->ended);
}

// An index from a program that kept no state, with the end that a power cut left it.
TEST_F(PowerCutTest, ZerosAtTheEndOfAnIndexAreNoDamage) {
  std::mt19937_64 rng(1);
  auto writer = OpenWriter();
  AppendBlocks(*writer, 3, rng);
  writer = nullptr;
  std::filesystem::remove(TplogStatePath(path_));
  for (const size_t zeros : {1u, 7u, 8u, 181u, 323u, 5000u}) {
    AppendTo(index_path_, AsBytes(std::string(zeros, '\0')));
    EXPECT_EQ(OpenReader()->Next().status(), absl::OkStatus());
    EXPECT_EQ(OpenWriter()->totals().messages, 3u) << zeros;
  }
}

}  // namespace
}  // namespace tickstack::tplog
