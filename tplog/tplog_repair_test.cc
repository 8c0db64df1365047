// Check and repair together: repair fixes what check finds.

#include "tplog/tplog_repair.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/fixtures.h"
#include "tplog/tplog_check.h"
#include "tplog/tplog_for_test.h"
#include "tplog/tplog_index.h"

namespace tickstack::tplog {
namespace {

using Kind = TplogProblem::Kind;

class TplogRepairTest : public TplogTest {
 protected:
  // Ten blocks of two messages.
  void WriteSome() {
    const auto writer = OpenWriter();
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE(BlockOf("sim").Add("quote", 2, i).Add("trade", 1, i).AppendTo(*writer).ok());
    }
    totals_ = writer->totals();
    block_bytes_ = UpdMessage("quote", 2).size() + UpdMessage("trade", 1).size();
  }
  uint64_t BlockOffset(uint64_t block) const { return kTplogHeaderBytes + block * block_bytes_; }

  // Sets the type at `offset` to one that does not exist: a message has that of its verb at 6, and
  // x's at 18.
  void BreakType(uint64_t offset) {
    std::string log = Content(path_);
    log[offset] = 80;
    Write(path_, log);
  }

  TplogReport Check() const {
    const auto report = CheckTplog(path_);
    EXPECT_TRUE(report.ok()) << report.status();
    return *report;
  }
  TplogRepairReport Repair(bool skip_damaged = false) const {
    const auto report = RepairTplog(path_, {.skip_damaged = skip_damaged});
    EXPECT_TRUE(report.ok()) << report.status();
    return *report;
  }
  static std::string Text(const TplogReport& report) {
    return report.problems.empty() ? "" : report.problems[0].text;
  }

  TplogTotals totals_;
  uint64_t block_bytes_ = 0;
};

TEST_F(TplogRepairTest, ASoundLogIsSoundAndStaysAsItIs) {
  WriteSome();
  const TplogReport report = Check();
  EXPECT_EQ(report.problem_count, 0u) << Text(report);
  EXPECT_EQ(report.totals, totals_);
  EXPECT_EQ(report.blocks, 10u);
  EXPECT_EQ(report.messages_indexed, 20u);
  EXPECT_FALSE(report.live);
  const std::string log = Content(path_), index = Content(index_path_);
  EXPECT_EQ(Repair().totals, totals_);
  EXPECT_EQ(Content(path_), log);
  EXPECT_EQ(Content(index_path_), index);
}

TEST_F(TplogRepairTest, CheckNamesTheBlockOfEveryFlippedBit) {
  WriteSome();
  const std::string log = Content(path_);
  for (uint64_t at = kTplogHeaderBytes; at < log.size(); ++at) {
    FlipBit(path_, at);
    const TplogReport report = Check();
    ASSERT_EQ(report.problem_count, 1u) << at;
    EXPECT_EQ(report.problems[0].kind, Kind::kLogDamaged);
    EXPECT_EQ(report.problems[0].offset, at - (at - 8) % block_bytes_);
    EXPECT_EQ(report.totals.messages, 20u);
    Write(path_, log);
  }
}

TEST_F(TplogRepairTest, CheckFindsEveryFlippedBitOfTheIndex) {
  WriteSome();
  const std::string index = Content(index_path_);
  for (uint64_t at = 0; at < index.size(); ++at) {
    FlipBit(index_path_, at);
    const TplogReport report = Check();
    ASSERT_GE(report.problem_count, 1u) << at;
    EXPECT_TRUE(report.Has(Kind::kIndexDamaged) || report.Has(Kind::kFlippedIndex)) << at;
    EXPECT_TRUE(report.damaged.empty());
    EXPECT_EQ(report.totals.messages, 20u);
    Write(index_path_, index);
  }
}

TEST_F(TplogRepairTest, ADamagedIndexIsCutWhereTheDamageBeginsAndMadeAnew) {
  WriteSome();
  const std::string index = Content(index_path_);
  const std::string log = Content(path_);
  uint64_t mended = 0;
  for (uint64_t at = 0; at < index.size(); at += 5) {
    FlipBit(index_path_, at);
    const TplogRepairReport report = Repair();
    EXPECT_EQ(report.totals.messages, 20u);
    EXPECT_EQ(report.totals.rows, totals_.rows);
    if (report.totals.feed_progress_known) {
      // A record that reaches to the end, or past it, gets its bit back.
      ++mended;
      EXPECT_EQ(report.totals, totals_) << at;
      EXPECT_EQ(Content(index_path_), index) << at;
    } else {
      EXPECT_GT(report.messages_indexed, 0u) << at;
    }
    EXPECT_EQ(Content(path_), log);
    EXPECT_EQ(Check().problem_count, 0u) << at << ": " << Text(Check());
    Write(index_path_, index);
  }
  EXPECT_GE(mended, 10u);
  EXPECT_LE(mended, 20u);  // Of 141 that are tried.
}

TEST_F(TplogRepairTest, CheckComparesTheIndexsCountsWithTheMessages) {
  const auto expect_problem = [&](auto change, std::string_view expected) {
    std::filesystem::remove(path_);
    std::filesystem::remove(index_path_);
    WriteSome();
    TplogIndexReader reader = TplogIndexReader::Open(index_path_).value();
    TplogIndexReader::Record last;
    for (auto record = reader.Next(); record->has_value(); record = reader.Next()) last = **record;
    change(last.block);
    ByteBuffer bytes(AsBytes(Content(index_path_)).first(last.begin));
    AppendBlockRecord(RecordKind::kBlock, last.block, bytes);
    Write(index_path_, AsText(bytes));
    const TplogReport report = Check();
    EXPECT_EQ(report.problem_count, 1u);
    EXPECT_TRUE(report.Has(Kind::kIndexDamaged));
    EXPECT_NE(Text(report).find(expected), std::string::npos) << Text(report);
    Repair();
    EXPECT_EQ(Check().problem_count, 0u);
  };
  expect_problem([](IndexBlock& block) { block.messages = 3; }, "has 2 messages, the index says 3");
  expect_problem([](IndexBlock& block) { block.rows[0].rows = 7; },
                 "has 2 rows of quote, the index says 7");
  expect_problem([](IndexBlock& block) { block.rows.pop_back(); },
                 "has 1 rows of trade, the index says 0");
}

TEST_F(TplogRepairTest, ATornTailIsReportedAndCutAndKept) {
  WriteSome();
  const std::string log = Content(path_);
  for (const bool indexed : {true, false}) {
    for (uint64_t bytes = BlockOffset(9) + 1; bytes < log.size(); ++bytes) {
      if (!indexed) std::filesystem::remove(index_path_);
      Write(path_, log.substr(0, bytes));
      const uint64_t whole = bytes - BlockOffset(9) >= UpdMessage("quote", 2).size() ? 19u : 18u;
      const TplogReport found = Check();
      ASSERT_EQ(found.totals.messages, whole);
      ASSERT_EQ(found.totals.log_bytes + found.torn_bytes, bytes);
      const bool torn = indexed || found.torn_bytes != 0;
      ASSERT_EQ(found.problem_count, torn ? 1u : 0u);
      ASSERT_EQ(found.Has(Kind::kTornLog), torn);

      const TplogRepairReport report = Repair();
      ASSERT_EQ(report.totals.messages, whole);
      ASSERT_EQ(report.log_bytes_cut, found.torn_bytes);
      if (found.torn_bytes != 0) {
        ASSERT_EQ(Content(report.cut_path), log.substr(found.totals.log_bytes, found.torn_bytes));
        std::filesystem::remove(report.cut_path);
      }
      ASSERT_EQ(Check().problem_count, 0u) << Text(Check());
      std::filesystem::remove(index_path_);
      Write(path_, log);
      if (indexed) {
        std::filesystem::remove(path_);
        WriteSome();
      }
    }
  }
}

TEST_F(TplogRepairTest, DamageInTheMiddleIsRefusedAndNothingIsChanged) {
  WriteSome();
  FlipBit(path_, BlockOffset(4) + 30);
  for (const bool indexed : {true, false}) {
    if (!indexed) {
      std::filesystem::remove(index_path_);
      BreakType(BlockOffset(4) + 6);
    }
    const std::string log = Content(path_);
    const absl::Status status = RepairTplog(path_, {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_NE(Message(status).find(fmt::format("byte {}", BlockOffset(4))), std::string_view::npos)
        << status;
    EXPECT_EQ(Content(path_), log);
    EXPECT_EQ(*FileExists(index_path_), indexed);
  }
}

TEST_F(TplogRepairTest, SkippingDamageWritesWhatIsWholeToAnotherFile) {
  WriteSome();
  FlipBit(path_, BlockOffset(4) + 30);
  const std::string log = Content(path_), index = Content(index_path_);
  const TplogRepairReport report = Repair(true);
  EXPECT_EQ(report.repaired_path, path_ + ".repaired");
  EXPECT_EQ(report.totals.messages, 18u);
  ASSERT_EQ(report.left_out.size(), 1u);
  EXPECT_EQ(report.left_out[0].offset, BlockOffset(4));
  EXPECT_EQ(report.left_out[0].bytes, block_bytes_);
  EXPECT_EQ(Content(report.repaired_path),
            log.substr(0, BlockOffset(4)) + log.substr(BlockOffset(5)));
  EXPECT_EQ(Content(path_), log);
  EXPECT_EQ(Content(index_path_), index);
  // An existing file is not overwritten.
  EXPECT_EQ(RepairTplog(path_, {.skip_damaged = true}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(TplogRepairTest, WithoutAnIndexSkippingGoesOnWithTheNextMessage) {
  WriteSome();
  std::filesystem::remove(index_path_);
  BreakType(BlockOffset(2) + 6);
  BreakType(BlockOffset(7) + 18);
  Write(path_, Content(path_).substr(0, BlockOffset(10) - 5));
  const TplogReport found = Check();
  EXPECT_EQ(found.damaged.size(), 2u);
  EXPECT_EQ(found.totals.messages, 17u);
  const TplogRepairReport report = Repair(true);
  EXPECT_EQ(report.left_out.size(), 3u);  // Also the torn tail.
  EXPECT_EQ(report.totals.messages, 17u);
  const auto reader = TplogReader::Open(report.repaired_path).value();
  EXPECT_EQ(Replay(*reader).size(), 17u);
  EXPECT_EQ(reader->torn_bytes(), 0u);
}

TEST_F(TplogRepairTest, ALiveLogIsCheckedButNotRepaired) {
  WriteSome();
  const auto writer = OpenWriter();
  AppendTo(index_path_, AsBytes("a record that is being written"));
  const TplogReport report = Check();
  EXPECT_TRUE(report.live);
  EXPECT_EQ(report.problem_count, 0u);
  EXPECT_EQ(RepairTplog(path_, {}).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(TplogRepairTest, WhatKdbAppendedIsSound) {
  WriteSome();
  AppendTo(path_, UpdMessage("trade", 3));
  const TplogReport report = Check();
  EXPECT_EQ(report.problem_count, 0u) << Text(report);
  EXPECT_EQ(report.totals.messages, 21u);
  EXPECT_EQ(report.messages_indexed, 20u);
  EXPECT_FALSE(report.totals.feed_progress_known);
}

TEST_F(TplogRepairTest, TheListOfProblemsIsBounded) {
  {
    const auto writer = OpenWriter();
    for (int i = 0; i < 150; ++i) ASSERT_TRUE(BlockOf().Add("t", 1).AppendTo(*writer).ok());
  }
  std::string log = Content(path_);
  for (size_t at = 20; at < log.size(); at += 30) log[at] = static_cast<char>(log[at] ^ 1);
  Write(path_, log);
  const TplogReport report = Check();
  EXPECT_EQ(report.problem_count, 150u);
  EXPECT_EQ(report.problems.size(), kTplogProblemsMax);
  EXPECT_EQ(report.damaged.size(), 150u);
}

// A real damaged log and its repaired form: well-formed, and not all of its items are messages.
TEST(TplogRepairFixtures, EveryRealLogIsSound) {
  TS_REQUIRE_FIXTURE(folder, "kdb");
  const char* logs[] = {
      "DunnyDon-advancedKdb/section2/tplog", "DunnyDon-advancedKdb/section2/newtp",
      "chanjam03-AdvKDB/logs/replay/sym2023.04.24", "SirCsimbok-kdb-tick/schema2024.01.29"};
  for (const char* log : logs) {
    const auto report = CheckTplog((folder / log).string());
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->problem_count, 0u) << report->problems[0].text;
    EXPECT_FALSE(report->indexed);
  }
}

}  // namespace
}  // namespace tickstack::tplog
