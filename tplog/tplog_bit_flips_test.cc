// Flips single bits in a log, its index and its state: whoever reads or continues the log gets the
// messages that were written, or an error.
//
// TICKSTACK_FLIPS sets the number of flips, TICKSTACK_SEED the first seed. Each flip has its own
// seed, which a failure prints.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/logging.h"
#include "tests/support/environment.h"
#include "tplog/tplog_check.h"
#include "tplog/tplog_for_test.h"
#include "tplog/tplog_state.h"

namespace tickstack::tplog {
namespace {

constexpr int64_t kBlockNs = 10'000'000;  // Interval between two blocks.

// How the process that wrote the log ended, and what the next one is.
enum class Ending { kShutdown, kKill, kKilledBeforeABlock, kReboot };

// The files of a log.
struct Image {
  std::string log, index, state;
};

class TplogBitFlips : public TplogTest, public testing::WithParamInterface<Ending> {
 protected:
  TplogBitFlips() { InitLogging("test", LogLevel::kOff); }

  static TplogOptions OptionsOf(std::string boot, FsyncPolicy fsync = FsyncPolicy::kNone) {
    TplogOptions options;
    options.boot = std::move(boot);
    options.fsync = fsync;
    return options;
  }
  TplogOptions NextOptions() const {
    return OptionsOf(GetParam() == Ending::kReboot ? "later" : "first");
  }

  // Writes blocks of one to three messages, of two feeds and of none.
  void WriteLog() {
    const FsyncPolicy fsync =
        GetParam() == Ending::kShutdown ? FsyncPolicy::kInterval : FsyncPolicy::kNone;
    const auto writer = OpenWriter(OptionsOf("first", fsync));
    std::mt19937_64 rng(11);
    const char* const feeds[] = {"", "sim", "other"};
    for (int i = 0; i < 40; ++i) {
      if (i == 39) before_the_last_block_ = Content(path_);
      BlockOf block(feeds[rng() % 3]);
      for (uint64_t messages = 1 + rng() % 3; messages > 0; --messages) {
        block.Add(rng() % 2 == 0 ? "trade" : "quote", 1 + static_cast<int>(rng() % 30), i);
      }
      ASSERT_TRUE(block.AppendTo(*writer, (i + 1) * kBlockNs).ok());
    }
  }

  Image Files() const {
    return {Content(path_), Content(index_path_), Content(TplogStatePath(path_))};
  }
  void Restore(const Image& image) {
    Write(path_, image.log);
    Write(index_path_, image.index);
    Write(TplogStatePath(path_), image.state);
  }

  // True if the log was read to its end without an error.
  static bool IsWhole(const absl::Status& status, const std::vector<std::string>& got,
                      const std::vector<std::string>& expected) {
    EXPECT_TRUE(got.size() <= expected.size() &&
                std::equal(got.begin(), got.end(), expected.begin()))
        << "a wrong message";
    if (status.ok()) {
      EXPECT_EQ(got.size(), expected.size()) << "messages are missing without an error";
    }
    return status.ok();
  }

  // Reads it as a subscriber that opens the file. Returns whether it got everything.
  bool ReadsWhole(const std::vector<std::string>& expected) {
    const auto reader = TplogReader::Open(path_);
    if (!reader.ok()) return false;
    absl::Status status;
    const std::vector<std::string> got = Replay(**reader, &status);
    return IsWhole(status, got, expected);
  }

  // Reads a range as the tickerplant does for a subscriber.
  bool StreamsWhole(std::mt19937_64& rng, const std::vector<std::string>& expected) {
    const auto reader = TplogReader::Open(path_);
    if (!reader.ok()) return false;
    const uint64_t begin = rng() % expected.size();
    const uint64_t end = begin + 1 + rng() % (expected.size() - begin);
    std::string wanted, got;
    for (uint64_t seq = begin; seq < end; ++seq) wanted += expected[seq];
    while (got.size() < wanted.size()) {
      const absl::StatusOr<ByteBuffer> part = (*reader)->ReadRange(
          (*reader)->next_seq() < begin ? begin : (*reader)->next_seq(), end, 1 + rng() % 4000);
      if (!part.ok()) return false;
      if (part->empty()) break;
      got += AsText(part->span());
    }
    EXPECT_TRUE(got == wanted) << "a wrong range";
    return true;
  }

  // Opens it for writing, appends, and reads everything. Returns whether nothing wrong was found.
  bool ContinuesWhole(const TplogTotals& totals, const std::vector<std::string>& expected) {
    absl::StatusOr<std::unique_ptr<TplogWriter>> writer = TplogWriter::Open(path_, NextOptions());
    if (!writer.ok()) return false;
    const TplogRecovery recovery = (*writer)->recovery();
    const TplogTotals& found = (*writer)->totals();
    std::vector<std::string> kept = expected;
    if (recovery.power_cut && found.messages < kept.size()) {
      EXPECT_TRUE(recovery.messages_not_logged > 0 || !recovery.cut_path.empty())
          << "messages were cut off in silence";
      EXPECT_EQ((*writer)->state().cuts.size(), 1U);
      kept.resize(found.messages);
    } else {
      EXPECT_EQ(found.messages, totals.messages);
      EXPECT_EQ(found.rows, totals.rows);
      EXPECT_TRUE(found.feed_rows == totals.feed_rows || !found.feed_progress_known)
          << "wrong progress of feeds";
    }
    BlockOf more("sim");
    EXPECT_TRUE(more.Add("trade", 5).AppendTo(**writer, 60 * kBlockNs).ok());
    writer->reset();
    kept.push_back(std::string(AsText(UpdMessage("trade", 5))));
    const bool whole = ReadsWhole(kept);
    return whole && kept.size() == expected.size() + 1 && recovery.messages_damaged == 0;
  }

  std::string before_the_last_block_;
};

INSTANTIATE_TEST_SUITE_P(Endings, TplogBitFlips,
                         testing::Values(Ending::kShutdown, Ending::kKill,
                                         Ending::kKilledBeforeABlock, Ending::kReboot),
                         [](const auto& of) {
                           switch (of.param) {
                             case Ending::kShutdown:
                               return "shutdown";
                             case Ending::kKill:
                               return "kill";
                             case Ending::kKilledBeforeABlock:
                               return "killed_before_a_block";
                             case Ending::kReboot:
                               return "reboot";
                           }
                           return "";
                         });

// Goal: no wrong message, none lost in silence, and no wrong progress of a feed. Method: 5 of 8
// flips are in the log, 2 in the index, 1 in the state.
TEST_P(TplogBitFlips, AreFoundOrHarmless) {
  WriteLog();
  if (GetParam() == Ending::kKilledBeforeABlock) Write(path_, before_the_last_block_);
  const Image image = Files();
  const std::vector<std::string> expected = Replay();
  ASSERT_GT(expected.size(), 60U);
  const TplogTotals totals = OpenWriter(NextOptions())->totals();
  Restore(image);
  std::mt19937_64 any(5);
  ASSERT_TRUE(ReadsWhole(expected) && StreamsWhole(any, expected));
  ASSERT_TRUE(ContinuesWhole(totals, expected));

  const uint64_t flips = NumberFromEnvironment("TICKSTACK_FLIPS", 300);
  const uint64_t first_seed = NumberFromEnvironment("TICKSTACK_SEED", 1);
  uint64_t found = 0, harmless = 0;
  for (uint64_t seed = first_seed; seed < first_seed + flips && !HasFailure(); ++seed) {
    std::mt19937_64 rng(seed);
    Image damaged = image;
    const uint64_t choice = rng() % 8;
    std::string& file = choice < 5 ? damaged.log : choice < 7 ? damaged.index : damaged.state;
    const size_t byte = rng() % file.size();
    const auto flip = static_cast<char>(1 << rng() % 8);
    file[byte] = static_cast<char>(file[byte] ^ flip);
    SCOPED_TRACE(fmt::format("seed {}: byte {} of the {}, xor {}", seed, byte,
                             choice < 5   ? "log"
                             : choice < 7 ? "index"
                                          : "state",
                             static_cast<unsigned char>(flip)));
    Restore(damaged);
    const absl::StatusOr<TplogReport> report = CheckTplog(path_);
    // The header's attribute and count mean nothing: see tplog_format.h.
    const bool means_nothing = choice < 5 && byte >= 3 && byte < kTplogHeaderBytes;
    EXPECT_TRUE(choice == 7 || means_nothing || !report.ok() || report->problem_count > 0)
        << "not found";
    const absl::StatusOr<TableRows> counted = CountTplogRows(path_);
    EXPECT_TRUE(!counted.ok() || *counted == totals.rows) << "wrong counts";
    const bool read = ReadsWhole(expected), streamed = StreamsWhole(rng, expected);
    const bool continued = ContinuesWhole(totals, expected);
    read&& streamed&& continued ? ++harmless : ++found;
  }
  fmt::print("{} flips: {} found, {} harmless, seeds {} to {}\n", flips, found, harmless,
             first_seed, first_seed + flips - 1);
}

}  // namespace
}  // namespace tickstack::tplog
