#include "tplog/tplog_writer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/crc32c.h"
#include "table/bytes_for_test.h"
#include "table/types.h"
#include "tplog/tplog_for_test.h"
#include "tplog/tplog_index.h"
#include "tplog/tplog_state.h"

namespace {

std::atomic<int> syncs = 0;
// The next sync of a file whose name ends with this fails, if it is not null; after that, the same
// goes for the second name.
std::atomic<const char*> fails_next = nullptr;
std::atomic<const char*> fails_then = nullptr;

bool FailsNow(int fd) {
  const char* end = fails_next;
  if (end == nullptr) return false;
  std::error_code ignored;
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const bool fails = std::filesystem::read_symlink(link, ignored).native().ends_with(end);
  return fails && fails_next.compare_exchange_strong(end, fails_then.exchange(nullptr));
}

}  // namespace

// The C library's function, counted. A sync that fails does so once, as the kernel reports an error
// once for each open file.
extern "C" int fdatasync(int fd) {
  ++syncs;
  if (FailsNow(fd)) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}

namespace tickstack::tplog {
namespace {

using TplogWriterTest = TplogTest;

TEST_F(TplogWriterTest, WritesTheBytesThatKdbWould) {
  {
    auto writer = OpenWriter();
    EXPECT_TRUE(writer->recovery().created);
    EXPECT_TRUE(BlockOf().Add("trade", 2).Add("quote", 1).AppendTo(*writer).ok());
    EXPECT_TRUE(BlockOf().Add("trade", 1).AppendTo(*writer).ok());
  }
  std::string expected("\xff\1\0\0\0\0\0\0", 8);
  expected += AsText(UpdMessage("trade", 2));
  expected += AsText(UpdMessage("quote", 1));
  expected += AsText(UpdMessage("trade", 1));
  EXPECT_EQ(Content(path_), expected);
}

// Goal: whoever opens a log learns where each table's last rows are. Method: logs as they were
// closed, with a torn last block, and without an index.
TEST_F(TplogWriterTest, FindsTheLastBlockOfEachTable) {
  const auto found = [this] { return OpenWriter()->recovery().last_blocks; };
  EXPECT_TRUE(found().empty());
  std::vector<IndexBlock> blocks;
  {
    const auto writer = OpenWriter();
    ASSERT_TRUE(BlockOf("sim").Add("trade", 2).Add("quote", 20).AppendTo(*writer).ok());
    ASSERT_TRUE(BlockOf().Add("trade", 5).Add("quote", 0).AppendTo(*writer).ok());
    ASSERT_TRUE(
        BlockOf("sim").Add("quote", 3).Add("depth", 1).Add("quote", 4).AppendTo(*writer).ok());
  }
  auto index = TplogIndexReader::Open(index_path_);
  for (auto next = index->Next(); next->has_value(); next = index->Next()) {
    blocks.push_back((*next)->block);
  }
  ASSERT_EQ(blocks.size(), 3u);
  using Places = NameMap<BlockPlace>;
  EXPECT_EQ(found(), (Places{{"trade", PlaceOf(blocks[1])},
                             {"quote", PlaceOf(blocks[2])},
                             {"depth", PlaceOf(blocks[2])}}));

  // The last block loses its last message, and then all of them.
  const ByteBuffer first = UpdMessage("quote", 3), second = UpdMessage("depth", 1);
  std::filesystem::resize_file(path_, blocks[2].end_offset() - 1);
  Places places = found();
  BlockPlace cut = PlaceOf(blocks[2]);
  cut.messages = 2;
  cut.bytes = static_cast<uint32_t>(first.size() + second.size());
  cut.crc = ExtendCrc32c(Crc32c(first.span()), second.span());
  EXPECT_EQ(places, (Places{{"trade", PlaceOf(blocks[1])}, {"quote", cut}, {"depth", cut}}));
  std::filesystem::resize_file(path_, blocks[2].offset + 1);
  EXPECT_EQ(found(), (Places{{"trade", PlaceOf(blocks[1])}, {"quote", PlaceOf(blocks[0])}}));

  std::filesystem::remove(index_path_);
  places = found();
  EXPECT_EQ(places.size(), 2u);
  EXPECT_EQ(places["trade"].messages, 4u);
  EXPECT_EQ(places["trade"], places["quote"]);
}

// The log of docs/formats.md and its index.
TEST_F(TplogWriterTest, WritesTheExampleOfTheFormatsPage) {
  const ByteBuffer body = FromHex(
      "000003000000 f575706400 f571756f746500 000006000000"
      "100001000000f8114629cc0f0000 0b000100000049424d00 0700010000009001000000000000"
      "09000100000000e05eb7b9068c40 0700010000003200000000000000 09000100000000a85084e9e99d40");
  // In two segments: messages may be assembled from pieces.
  const std::vector<std::span<const std::byte>> segments = {body.span().first(30),
                                                            body.span().subspan(30)};
  const TplogBlock::Rows rows[] = {{"quote", 1}};
  const auto writer = OpenWriter();
  ASSERT_TRUE(writer->Append({segments, 1, 582'044'400'000'000'000, "sim", rows}).ok());
  EXPECT_EQ(
      ToHex(AsBytes(Content(index_path_))),
      "7473696e6465780a0100000090960f69e2e8a28e0f0001020100000073696d7eaf97b4110001010000000071"
      "756f74655ff28e763800020008000000000000000000000000000000006081494cd61308010000008fae4830"
      "68000000010000000000000001000000");
  EXPECT_EQ(Content(path_).size(), 112u);
}

TEST_F(TplogWriterTest, GoesOnWhereTheLastOneStopped) {
  TplogTotals totals;
  {
    const auto writer = OpenWriter();
    ASSERT_TRUE(BlockOf("sim").Add("trade", 2).Add("quote", 20).AppendTo(*writer).ok());
    ASSERT_TRUE(BlockOf().Add("trade", 5).AppendTo(*writer).ok());
    ASSERT_TRUE(BlockOf("lean").Add("trade", 7).AppendTo(*writer).ok());
    totals = writer->totals();
    ASSERT_TRUE(writer->Close().ok());
    EXPECT_TRUE(writer->Close().ok());
    EXPECT_EQ(BlockOf().Add("trade", 1).AppendTo(*writer).code(),
              absl::StatusCode::kFailedPrecondition);
  }
  EXPECT_EQ(totals.messages, 4u);
  EXPECT_EQ(totals.rows, (TableRows{{"trade", 14}, {"quote", 20}}));
  EXPECT_EQ(totals.feed_rows.at("sim"), (TableRows{{"trade", 2}, {"quote", 20}}));
  EXPECT_EQ(totals.feed_rows.at("lean"), (TableRows{{"trade", 7}}));
  EXPECT_TRUE(totals.feed_progress_known);

  const auto writer = OpenWriter();
  EXPECT_EQ(writer->totals(), totals);
  EXPECT_FALSE(writer->recovery().created);
  EXPECT_EQ(writer->recovery().log_bytes_cut, 0u);
  ASSERT_TRUE(BlockOf("sim").Add("quote", 3).AppendTo(*writer).ok());
  EXPECT_EQ(writer->totals().feed_rows.at("sim"), (TableRows{{"trade", 2}, {"quote", 23}}));
  EXPECT_EQ(Replay().size(), 5u);
}

TEST_F(TplogWriterTest, CarriesProgressIntoTheNextDaysLog) {
  TplogOptions options;
  options.carried_progress["sim"]["quote"] = 1000;
  {
    const auto writer = OpenWriter(options);
    EXPECT_EQ(writer->totals().feed_rows, options.carried_progress);
    ASSERT_TRUE(BlockOf("sim").Add("quote", 3).AppendTo(*writer).ok());
  }
  // Only once, whatever the next Open is given.
  const auto writer = OpenWriter(options);
  EXPECT_EQ(writer->totals().feed_rows.at("sim"), (TableRows{{"quote", 1003}}));
  EXPECT_EQ(writer->totals().rows, (TableRows{{"quote", 3}}));
}

TEST_F(TplogWriterTest, LetsNoSecondWriterIn) {
  const auto writer = OpenWriter();
  EXPECT_EQ(TplogWriter::Open(path_, {}).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(TplogWriterTest, RefusesBlocksThatAreNone) {
  const auto writer = OpenWriter();
  const ByteBuffer body = UpdMessage("trade", 1);
  const std::vector<std::span<const std::byte>> segments = {body};
  EXPECT_EQ(writer->Append({}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(writer->Append({segments, 0, 0, "", {}}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(writer->Append({{}, 1, 0, "", {}}).code(), absl::StatusCode::kInvalidArgument);
  const std::string name(kIndexNameBytesMax + 1, 'x');
  EXPECT_EQ(writer->Append({segments, 1, 0, name, {}}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Content(path_).size(), kTplogHeaderBytes);
  EXPECT_EQ(Content(index_path_).size(), kIndexHeaderBytes);
}

// Goal: whenever the writer dies, the next one finds a prefix of the messages, and the progress of
// exactly those. Method: the two files in every state that the writing passes through: the record's
// bytes appear one by one, then those of the messages.
class TplogCrashTest : public TplogTest {
 protected:
  struct Step {
    std::string feed;
    std::vector<std::pair<std::string, int>> messages;
  };
  const std::vector<Step> steps_ = {{"sim", {{"trade", 1}, {"quote", 3}, {"quote", 2}}},
                                    {"", {{"trade", 2}}},
                                    {"lean", {{"quote", 1}, {"trade", 1}}},
                                    {"sim", {{"quote", 4}, {"quote", 1}, {"trade", 6}}}};

  // Returns the totals after the first `messages` messages.
  TplogTotals Expected(size_t messages) const {
    TplogTotals totals;
    totals.log_bytes = kTplogHeaderBytes;
    for (const Step& step : steps_) {
      for (const auto& [table, rows] : step.messages) {
        if (totals.messages == messages) return totals;
        ++totals.messages;
        totals.log_bytes += UpdMessage(table, rows).size();
        totals.rows[table] += static_cast<uint64_t>(rows);
        if (!step.feed.empty()) totals.feed_rows[step.feed][table] += static_cast<uint64_t>(rows);
      }
    }
    return totals;
  }

  static void DropZeros(TableRows& rows) {
    absl::erase_if(rows, [](const auto& entry) { return entry.second == 0; });
  }
  // A cut block keeps the names of tables that it has no rows of any more.
  static TplogTotals WithoutZeros(TplogTotals totals) {
    DropZeros(totals.rows);
    for (auto& [feed, rows] : totals.feed_rows) DropZeros(rows);
    absl::erase_if(totals.feed_rows, [](const auto& entry) { return entry.second.empty(); });
    return totals;
  }

  void WriteStep(TplogWriter& writer, const Step& step) {
    BlockOf block(step.feed);
    for (const auto& [table, rows] : step.messages) block.Add(table, rows);
    ASSERT_TRUE(block.AppendTo(writer).ok());
  }

  void ExpectRecovered(std::string_view log, std::string_view index, const std::string& whole_log) {
    Write(path_, log);
    Write(index_path_, index);
    TplogTotals totals;
    {
      const auto writer = TplogWriter::Open(path_, {});
      ASSERT_TRUE(writer.ok()) << writer.status();
      totals = (*writer)->totals();
      ASSERT_EQ(WithoutZeros(totals), Expected(totals.messages));
      ASSERT_EQ((*writer)->recovery().messages_indexed, 0u);
      ASSERT_EQ((*writer)->recovery().log_bytes_cut, log.size() - totals.log_bytes);
      // Every complete message is still there.
      ASSERT_TRUE(totals.messages == 9 || Expected(totals.messages + 1).log_bytes > log.size());
      ASSERT_TRUE(BlockOf("sim").Add("after", 1).AppendTo(**writer).ok());
    }
    ASSERT_EQ(Content(path_),
              whole_log.substr(0, totals.log_bytes) + std::string(AsText(UpdMessage("after", 1))));
    // Both files agree: replay checks every block, and nothing needs repair.
    ASSERT_EQ(Replay().size(), totals.messages + 1);
    const auto again = OpenWriter();
    ASSERT_EQ(again->totals().messages, totals.messages + 1);
    ASSERT_EQ(again->recovery().index_bytes_cut, 0u);
    ASSERT_EQ(again->totals().feed_rows.at("sim").at("after"), 1u);
  }
};

TEST_F(TplogCrashTest, AfterDeathAtAnyByteTheWholeMessagesAndTheirProgressAreThere) {
  std::vector<std::pair<size_t, size_t>> sizes;  // Sizes of log and index after each step.
  {
    const auto writer = OpenWriter();
    sizes.emplace_back(Content(path_).size(), Content(index_path_).size());
    for (const Step& step : steps_) {
      WriteStep(*writer, step);
      sizes.emplace_back(Content(path_).size(), Content(index_path_).size());
    }
  }
  const std::string log = Content(path_);
  const std::string index = Content(index_path_);
  const std::string_view log_view = log, index_view = index;
  for (size_t step = 1; step < sizes.size(); ++step) {
    const auto [log_before, index_before] = sizes[step - 1];
    const auto [log_after, index_after] = sizes[step];
    for (size_t bytes = index_before; bytes <= index_after; ++bytes) {
      SCOPED_TRACE("index cut to " + std::to_string(bytes));
      ASSERT_NO_FATAL_FAILURE(
          ExpectRecovered(log_view.substr(0, log_before), index_view.substr(0, bytes), log));
    }
    for (size_t bytes = log_before; bytes <= log_after; ++bytes) {
      SCOPED_TRACE("log cut to " + std::to_string(bytes));
      ASSERT_NO_FATAL_FAILURE(
          ExpectRecovered(log_view.substr(0, bytes), index_view.substr(0, index_after), log));
    }
  }
}

// Goal: dying during a repair does no harm either. Method: the states between the steps of a
// repair.
TEST_F(TplogCrashTest, DyingWhileMendingIsMendedTheSameWay) {
  {
    const auto writer = OpenWriter();
    WriteStep(*writer, steps_[0]);
  }
  const std::string log = Content(path_);
  const std::string index = Content(index_path_);
  const std::string torn_log = log.substr(0, Expected(2).log_bytes + 10);
  Write(path_, torn_log);
  OpenWriter();
  const std::string mended_index = Content(index_path_);
  ASSERT_GT(mended_index.size(), index.size());

  for (size_t bytes = index.size(); bytes <= mended_index.size(); ++bytes) {
    SCOPED_TRACE(bytes);
    ASSERT_NO_FATAL_FAILURE(
        ExpectRecovered(torn_log, std::string_view(mended_index).substr(0, bytes), log));
    ASSERT_NO_FATAL_FAILURE(ExpectRecovered(torn_log.substr(0, torn_log.size() - 10),
                                            std::string_view(mended_index).substr(0, bytes), log));
  }
  // The log was cut further after its repair.
  ASSERT_NO_FATAL_FAILURE(
      ExpectRecovered(log.substr(0, Expected(1).log_bytes + 3), mended_index, log));
  ASSERT_NO_FATAL_FAILURE(ExpectRecovered(log.substr(0, 8), mended_index, log));
}

TEST_F(TplogCrashTest, BlocksThatNeverReachedTheLogAreForgottenAndCounted) {
  {
    const auto writer = OpenWriter();
    for (const Step& step : steps_) WriteStep(*writer, step);
  }
  Write(path_, Content(path_).substr(0, Expected(3).log_bytes));
  const auto writer = OpenWriter();
  EXPECT_EQ(writer->totals(), Expected(3));
  EXPECT_EQ(writer->recovery().messages_not_logged, 6u);
  EXPECT_GT(writer->recovery().index_bytes_cut, 0u);
}

TEST_F(TplogCrashTest, ALogThatIsGoneIsNotSilentlyBegunAnew) {
  {
    const auto writer = OpenWriter();
    WriteStep(*writer, steps_[0]);
  }
  std::filesystem::remove(path_);
  EXPECT_EQ(TplogWriter::Open(path_, {}).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(TplogCrashTest, DyingWhileCreatingLeavesAnEmptyLog) {
  {
    OpenWriter();
  }
  const std::string index = Content(index_path_);
  for (size_t bytes = 0; bytes < kTplogHeaderBytes; ++bytes) {
    Write(path_, Content(path_).substr(0, bytes));
    const auto writer = OpenWriter();
    EXPECT_EQ(writer->totals().messages, 0u);
    EXPECT_EQ(Content(path_).size(), kTplogHeaderBytes);
  }
  EXPECT_EQ(Content(index_path_), index);
  std::filesystem::remove(index_path_);
  EXPECT_TRUE(OpenWriter()->recovery().index_created);
}

TEST_F(TplogWriterTest, IndexesALogThatHasNoIndex) {
  {
    const auto writer = OpenWriter();
    for (int i = 0; i < 50; ++i) {
      ASSERT_TRUE(BlockOf("sim").Add("quote", 2000, i).Add("trade", 1).AppendTo(*writer).ok());
    }
  }
  std::filesystem::remove(index_path_);
  {
    const auto writer = OpenWriter();
    EXPECT_TRUE(writer->recovery().index_created);
    EXPECT_EQ(writer->recovery().messages_indexed, 100u);
    EXPECT_EQ(writer->totals().rows, (TableRows{{"quote", 100'000}, {"trade", 50}}));
    EXPECT_FALSE(writer->totals().feed_progress_known);
    EXPECT_TRUE(writer->totals().feed_rows.empty());
  }
  // In blocks of about 1 MiB.
  TplogIndexReader index = TplogIndexReader::Open(index_path_).value();
  const IndexBlock first = index.Next().value()->block;
  EXPECT_GE(first.bytes, kRebuiltBlockBytes);
  EXPECT_LT(first.bytes, kRebuiltBlockBytes + 100'000);
  EXPECT_EQ(first.time_ns, kNullLong);
  EXPECT_FALSE(OpenWriter()->totals().feed_progress_known);  // It stays unknown.
  EXPECT_EQ(Replay().size(), 100u);
}

TEST_F(TplogWriterTest, TakesInWhatSomebodyElseAppended) {
  {
    const auto writer = OpenWriter();
    ASSERT_TRUE(BlockOf("sim").Add("quote", 2).AppendTo(*writer).ok());
  }
  AppendTo(path_, UpdMessage("trade", 4));
  AppendTo(path_, UpdMessage("trade", 5).span().first(20));
  const auto writer = OpenWriter();
  EXPECT_EQ(writer->recovery().messages_indexed, 1u);
  EXPECT_EQ(writer->recovery().log_bytes_cut, 20u);
  EXPECT_EQ(writer->totals().rows, (TableRows{{"quote", 2}, {"trade", 4}}));
  EXPECT_EQ(writer->totals().feed_rows.at("sim"), (TableRows{{"quote", 2}}));
  EXPECT_FALSE(writer->totals().feed_progress_known);
}

// The writer died between record and messages, and a plain kdb+ tickerplant continued the log.
TEST_F(TplogWriterTest, WhatSomebodyElseAppendedInPlaceOfABlockIsKept) {
  {
    const auto writer = OpenWriter();
    ASSERT_TRUE(BlockOf("sim").Add("quote", 2).AppendTo(*writer).ok());
  }
  const std::string log = Content(path_);
  {
    const auto writer = OpenWriter();
    ASSERT_TRUE(BlockOf("other").Add("trade", 1000).Add("new", 1000).AppendTo(*writer).ok());
  }
  Write(path_, log);
  for (int i = 0; i < 4; ++i) AppendTo(path_, UpdMessage("trade", 1));
  AppendTo(path_, UpdMessage("trade", 1).span().first(20));
  const auto writer = OpenWriter();
  EXPECT_EQ(writer->totals().messages, 5u);
  EXPECT_EQ(writer->recovery().messages_indexed, 4u);
  EXPECT_EQ(writer->recovery().messages_not_logged, 2u);
  EXPECT_EQ(writer->recovery().log_bytes_cut, 20u);
  EXPECT_EQ(writer->totals().rows, (TableRows{{"quote", 2}, {"trade", 4}}));
  EXPECT_FALSE(writer->totals().feed_progress_known);
  ASSERT_TRUE(BlockOf("third").Add("x", 1).AppendTo(*writer).ok());
  EXPECT_EQ(Replay().size(), 6u);
  EXPECT_EQ(writer->totals().feed_rows.size(), 2u);
}

TEST_F(TplogWriterTest, ZerosAtTheEndAreNoMessages) {
  {
    const auto writer = OpenWriter();
    ASSERT_TRUE(BlockOf().Add("quote", 2).AppendTo(*writer).ok());
  }
  AppendTo(path_, std::vector<std::byte>(5000));
  const auto writer = OpenWriter();
  EXPECT_EQ(writer->recovery().log_bytes_cut, 5000u);
  EXPECT_EQ(writer->totals().messages, 1u);
}

TEST_F(TplogWriterTest, NeverCutsOffMessagesThatFollowDamage) {
  {
    const auto writer = OpenWriter();
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(BlockOf().Add("quote", 2).AppendTo(*writer).ok());
  }
  std::filesystem::remove(index_path_);
  const uint64_t second = kTplogHeaderBytes + UpdMessage("quote", 2).size();
  for (const uint64_t at : {second + 2, second + 6, second + 18, second + 20}) {
    FlipBit(path_, at);
    const std::string before = Content(path_);
    const absl::Status status = TplogWriter::Open(path_, {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << at << ": " << status;
    EXPECT_EQ(Content(path_), before);
    FlipBit(path_, at);
  }
}

TEST_F(TplogWriterTest, RefusesALogWhoseLastBlockIsNotWhatWasWritten) {
  {
    const auto writer = OpenWriter();
    ASSERT_TRUE(BlockOf().Add("quote", 2).AppendTo(*writer).ok());
  }
  const std::string log = Content(path_);
  for (uint64_t at = kTplogHeaderBytes; at < log.size(); ++at) {
    FlipBit(path_, at);
    const absl::Status status = TplogWriter::Open(path_, {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << at << ": " << status;
    EXPECT_NE(Message(status).find("block at byte 8"), std::string_view::npos) << status;
    FlipBit(path_, at);
  }
  EXPECT_EQ(Content(path_), log);
}

// Cut off as a torn record, the last one would take the feed's progress with it.
TEST_F(TplogWriterTest, MendsOrRefusesAFlippedBitOfTheLastIndexRecord) {
  TplogOptions options;
  options.carried_progress["sim"]["quote"] = 1000;
  for (const int blocks : {0, 1, 2}) {  // Without one, the last record is the carried progress.
    if (blocks > 0) {
      const auto writer = OpenWriter(options);
      ASSERT_TRUE(BlockOf("sim").Add("quote", blocks).AppendTo(*writer).ok());
    } else {
      OpenWriter(options);
    }
    const std::string index = Content(index_path_), log = Content(path_);
    const TplogTotals totals = OpenWriter()->totals();
    const size_t record_bytes = blocks == 0 ? 24 : 56;
    size_t refused = 0;
    for (size_t bit = 8 * (index.size() - record_bytes); bit < 8 * index.size(); ++bit) {
      std::string flipped = index;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
      Write(index_path_, flipped);
      const absl::StatusOr<std::unique_ptr<TplogWriter>> writer = TplogWriter::Open(path_, {});
      if (!writer.ok()) {
        EXPECT_EQ(writer.status().code(), absl::StatusCode::kDataLoss) << writer.status();
        ++refused;
        continue;
      }
      EXPECT_EQ((*writer)->totals(), totals) << "bit " << bit;
      EXPECT_EQ(Content(index_path_), index) << "bit " << bit;
      EXPECT_EQ(Content(path_), log) << "bit " << bit;
    }
    EXPECT_LE(refused, 6u);  // A shorter size, which looks as if another record followed.
    Write(index_path_, index);
  }
}

// A size that was made larger reaches past the end of the index: all the rest looks torn.
TEST_F(TplogWriterTest, MendsTheSizeOfAnIndexRecordThatReachesPastTheEnd) {
  {
    const auto writer = OpenWriter();
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(BlockOf("sim").Add("quote", 2).AppendTo(*writer).ok());
  }
  const TplogTotals totals = OpenWriter()->totals();
  const std::string index = Content(index_path_);
  std::string flipped = index;
  flipped[kIndexHeaderBytes + 5] = static_cast<char>(flipped[kIndexHeaderBytes + 5] ^ 0x80);
  Write(index_path_, flipped);
  EXPECT_EQ(OpenWriter()->totals(), totals);
  EXPECT_EQ(Content(index_path_), index);
}

TEST_F(TplogWriterTest, RefusesWhatIsNoLog) {
  for (const std::string_view content : {"hello world", "kxzipped....", "hello"}) {
    Write(path_, content);
    EXPECT_EQ(TplogWriter::Open(path_, {}).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(Content(path_), content);
    EXPECT_FALSE(*FileExists(index_path_));
  }
}

// Goal: a full disk loses the block and nothing else. Method: a child process with a limit on file
// sizes, which fails as a full disk does, after a partial write.
TEST_F(TplogWriterTest, AFullDiskLeavesALogThatIsWhole) {
  for (const rlim_t limit : {400u, 1000u, 1024u, 1100u, 1500u}) {
    SCOPED_TRACE(limit);
    std::filesystem::remove(path_);
    std::filesystem::remove(index_path_);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::signal(SIGXFSZ, SIG_IGN);
      auto writer = TplogWriter::Open(path_, {});
      if (!writer.ok()) ::_exit(1);
      const rlimit small = {limit, RLIM_INFINITY};
      ::setrlimit(RLIMIT_FSIZE, &small);
      int appended = 0;
      absl::Status status;
      while (appended < 1000 && (status = BlockOf("sim").Add("t", 1).AppendTo(**writer)).ok()) {
        ++appended;
      }
      if (status.code() != absl::StatusCode::kResourceExhausted) ::_exit(2);
      // Another table, because the name that was taken back now has another number.
      const rlimit large = {RLIM_INFINITY, RLIM_INFINITY};
      if (!BlockOf("other").Add("u", 1).Add("u", 20).AppendTo(**writer).ok() &&
          ::setrlimit(RLIMIT_FSIZE, &large) == 0 &&
          BlockOf("third").Add("v", 1).AppendTo(**writer).ok() &&
          (*writer)->totals().rows.at("v") == 1) {
        ::_exit(100 + appended);
      }
      ::_exit(3);
    }
    int result = 0;
    ASSERT_EQ(::waitpid(child, &result, 0), child);
    ASSERT_TRUE(WIFEXITED(result));
    const int appended = WEXITSTATUS(result) - 100;
    ASSERT_GE(appended, 1) << WEXITSTATUS(result);

    EXPECT_EQ(Replay().size(), static_cast<size_t>(appended) + 1);
    const auto writer = OpenWriter();
    EXPECT_EQ(writer->recovery().log_bytes_cut, 0u);
    EXPECT_EQ(writer->recovery().index_bytes_cut, 0u);
    EXPECT_EQ(writer->totals().feed_rows.size(), 2u);
    EXPECT_EQ(writer->totals().rows.at("t"), static_cast<uint64_t>(appended));
    EXPECT_FALSE(writer->totals().rows.contains("u"));
  }
}

TEST_F(TplogWriterTest, SyncsAsItWasTold) {
  for (const FsyncPolicy policy : {FsyncPolicy::kBatch, FsyncPolicy::kInterval}) {
    TplogOptions options;
    options.fsync = policy;
    options.fsync_interval_ms = 1;
    const auto writer = OpenWriter(options);
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(BlockOf().Add("trade", 10).AppendTo(*writer).ok());
      EXPECT_TRUE(i != 10 || writer->Sync().ok());
      std::this_thread::yield();
    }
    EXPECT_TRUE(writer->Close().ok());
  }
  EXPECT_EQ(Replay().size(), 40u);
  TplogOptions options;
  options.fsync = FsyncPolicy::kInterval;
  options.fsync_interval_ms = 0;
  EXPECT_EQ(TplogWriter::Open(path_, options).status().code(), absl::StatusCode::kInvalidArgument);
}

// Feeds are told what the log has, so that must be durable, whoever wrote it.
TEST_F(TplogWriterTest, SyncsWhatAWriterThatDiedMayHaveLeft) {
  ASSERT_TRUE(BlockOf().Add("trade", 1).AppendTo(*OpenWriter()).ok());
  TplogOptions options;
  options.fsync = FsyncPolicy::kBatch;
  const auto syncs_of_open = [&] {
    const int before = syncs;
    const std::unique_ptr<TplogWriter> writer = OpenWriter(options);
    const int of_open = syncs - before;
    EXPECT_TRUE(writer->Close().ok());
    return of_open;
  };
  const int after_death = syncs_of_open();  // Without syncs, a writer leaves the log open.
  const int after_close = syncs_of_open();
  EXPECT_EQ(after_death, after_close + 2);  // The index and the log.
}

constexpr const char* kLogEnd = "/sym2013.10.07";
constexpr const char* kIndexEnd = "/sym2013.10.07.idx";
constexpr const char* kStateEnd = "/sym2013.10.07.state.new";

TplogOptions SyncedBy(FsyncPolicy policy) {
  TplogOptions options;
  options.fsync = policy;
  options.fsync_interval_ms = 1;
  return options;
}

// Appends until a sync fails.
void AppendUntilClosed(TplogWriter& writer) {
  for (int i = 0; i < 10'000; ++i) {
    if (!BlockOf().Add("trade", 1).AppendTo(writer).ok()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  FAIL() << "no sync failed";
}

// Goal: after a failed sync, the next start writes everything again that may not be on the disk,
// whichever file and policy. Method: some blocks are synced and one sync fails; then the writer
// that opens the log says how many bytes it wrote again, and a third one has nothing to do.
TEST_F(TplogWriterTest, WritesAgainWhatAFailedSyncMayHaveLost) {
  for (const FsyncPolicy policy : {FsyncPolicy::kBatch, FsyncPolicy::kInterval}) {
    for (const char* fails : {kLogEnd, kIndexEnd}) {
      std::filesystem::remove_all(directory_);
      uint64_t bytes = 0;
      {
        const auto writer = OpenWriter(SyncedBy(policy));
        ASSERT_TRUE(BlockOf().Add("trade", 1).AppendTo(*writer).ok());
        ASSERT_TRUE(writer->Sync().ok());
        fails_next = fails;
        AppendUntilClosed(*writer);
        EXPECT_FALSE(writer->Close().ok());
        bytes = writer->totals().log_bytes;
      }
      EXPECT_TRUE(ReadTplogState(path_)->synced.has_value());
      const size_t messages = Replay().size();
      {
        const auto writer = OpenWriter(SyncedBy(policy));
        EXPECT_TRUE(writer->recovery().sync_failed);
        EXPECT_FALSE(writer->recovery().power_cut);
        EXPECT_GT(writer->recovery().log_bytes_written_again, 0u);
        EXPECT_LT(writer->recovery().log_bytes_written_again, bytes);
        EXPECT_EQ(writer->totals().messages, messages);
        EXPECT_TRUE(writer->state().cuts.empty());
        EXPECT_FALSE(ReadTplogState(path_)->synced.has_value());
      }
      EXPECT_FALSE(OpenWriter()->recovery().sync_failed);
      EXPECT_EQ(Replay().size(), messages);
    }
  }
}

TEST_F(TplogWriterTest, SaysThatASyncFailedAlthoughNothingIsAppended) {
  const auto writer = OpenWriter(SyncedBy(FsyncPolicy::kInterval));
  EXPECT_TRUE(writer->status().ok());
  fails_next = kLogEnd;
  ASSERT_TRUE(BlockOf().Add("trade", 1).AppendTo(*writer).ok());
  for (int i = 0; i < 10'000 && writer->status().ok(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(writer->status().code(), absl::StatusCode::kFailedPrecondition);
}

// Goal: a day does not end as if its log were durable if a sync in the background has failed, which
// the kernel does not report again.
TEST_F(TplogWriterTest, ASyncSaysThatAnEarlierOneFailed) {
  for (const char* fails : {kLogEnd, kIndexEnd}) {
    std::filesystem::remove_all(directory_);
    const auto writer = OpenWriter(SyncedBy(FsyncPolicy::kInterval));
    fails_next = fails;
    ASSERT_TRUE(BlockOf().Add("trade", 1).AppendTo(*writer).ok());
    for (int i = 0; i < 10'000 && fails_next != nullptr; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(writer->Sync().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_TRUE(ReadTplogState(path_)->synced.has_value());
  }
}

// With `fsync = "none"` nothing is known to be on the disk.
TEST_F(TplogWriterTest, WritesALogAgainWhoseFirstSyncFailed) {
  {
    const auto writer = OpenWriter();
    ASSERT_TRUE(BlockOf().Add("trade", 1).AppendTo(*writer).ok());
  }
  const auto writer = OpenWriter();
  fails_next = kLogEnd;
  EXPECT_FALSE(writer->CloseDurably().ok());
  EXPECT_EQ(ReadTplogState(path_)->synced, (TplogState::Bytes{}));
  const auto next = OpenWriter();
  EXPECT_EQ(next->recovery().log_bytes_written_again, next->totals().log_bytes);
}

// Goal: pages that the kernel dropped after it failed to write them are not taken for rows. Method:
// zeros in the place of some of them.
TEST_F(TplogWriterTest, CutsOffWhatAFailedSyncHasLost) {
  uint64_t synced_bytes = 0;
  {
    const auto writer = OpenWriter(SyncedBy(FsyncPolicy::kBatch));
    ASSERT_TRUE(BlockOf("sim").Add("trade", 3).AppendTo(*writer).ok());
    synced_bytes = writer->totals().log_bytes;
    fails_next = kLogEnd;
    EXPECT_FALSE(BlockOf("sim").Add("trade", 900).AppendTo(*writer).ok());
  }
  std::string content = Content(path_);
  std::fill(content.begin() + static_cast<std::ptrdiff_t>(synced_bytes) + 100,
            content.begin() + static_cast<std::ptrdiff_t>(synced_bytes) + 4000, '\0');
  Write(path_, content);
  const auto writer = OpenWriter(SyncedBy(FsyncPolicy::kBatch));
  EXPECT_EQ(writer->totals().log_bytes, synced_bytes);
  EXPECT_EQ(writer->totals().feed_rows.at("sim").at("trade"), 3u);
  EXPECT_EQ(writer->recovery().messages_not_logged, 1u);
  EXPECT_EQ(writer->state().cuts.size(), 1u);
  EXPECT_FALSE(writer->recovery().cut_path.empty());
}

// Goal: a block that had reached the disk before the sync failed is not cut off, with the rows that
// follow, because one of its bits was flipped.
TEST_F(TplogWriterTest, TakesNoDamageBeforeAFailedSyncForALoss) {
  {
    const auto writer = OpenWriter(SyncedBy(FsyncPolicy::kBatch));
    ASSERT_TRUE(BlockOf("sim").Add("trade", 3).AppendTo(*writer).ok());
    ASSERT_TRUE(BlockOf("sim").Add("trade", 4, 3).AppendTo(*writer).ok());
    fails_next = kLogEnd;
    EXPECT_FALSE(BlockOf("sim").Add("trade", 5, 7).AppendTo(*writer).ok());
  }
  FlipBit(path_, 60);
  const auto writer = OpenWriter(SyncedBy(FsyncPolicy::kBatch));
  EXPECT_EQ(writer->recovery().messages_damaged, 1u);
  EXPECT_EQ(writer->recovery().messages_not_logged, 0u);
  EXPECT_EQ(writer->totals().feed_rows.at("sim").at("trade"), 12u);
}

// Goal: the next start knows of the failed sync even if the state cannot be made durable either, or
// if it was a start whose sync failed.
TEST_F(TplogWriterTest, RemembersAFailedSyncInEachCase) {
  {
    const auto writer = OpenWriter(SyncedBy(FsyncPolicy::kBatch));
    fails_then = kStateEnd;
    fails_next = kLogEnd;
    EXPECT_FALSE(BlockOf().Add("trade", 1).AppendTo(*writer).ok());
    EXPECT_EQ(fails_next, nullptr);
  }
  EXPECT_TRUE(ReadTplogState(path_)->synced.has_value());
  EXPECT_TRUE(OpenWriter()->recovery().sync_failed);

  fails_next = kLogEnd;  // The writer before did not sync.
  EXPECT_FALSE(TplogWriter::Open(path_, SyncedBy(FsyncPolicy::kBatch)).ok());
  EXPECT_EQ(fails_next, nullptr);
  const auto writer = OpenWriter(SyncedBy(FsyncPolicy::kBatch));
  EXPECT_TRUE(writer->recovery().sync_failed);
  EXPECT_EQ(Replay().size(), 1u);
}

// Goal: no power cut leaves zeros in the place of a header. Method: a new log whose sync failed has
// its header in the page cache only, which a start must not take for durable; so the next start
// syncs the log, too, and fails if that does.
TEST_F(TplogWriterTest, WritesAHeaderAgainWhoseSyncFailed) {
  for (int start = 0; start < 3; ++start) {
    fails_next = kLogEnd;
    EXPECT_FALSE(TplogWriter::Open(path_, SyncedBy(FsyncPolicy::kBatch)).ok());
    EXPECT_EQ(fails_next, nullptr);
    EXPECT_EQ(Content(path_).size(), kTplogHeaderBytes);
  }
  const auto writer = OpenWriter(SyncedBy(FsyncPolicy::kBatch));
  EXPECT_TRUE(BlockOf().Add("trade", 1).AppendTo(*writer).ok());
}

TEST_F(TplogWriterTest, MakesTheDirectory) {
  path_ = directory_ + "/tplog/today/sym2013.10.07";
  index_path_ = TplogIndexPath(path_);
  OpenWriter();
  EXPECT_TRUE(*FileExists(path_));
}

}  // namespace
}  // namespace tickstack::tplog
