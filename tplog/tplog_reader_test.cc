#include "tplog/tplog_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/status.h"
#include "tests/support/fixtures.h"
#include "tplog/tplog_check.h"
#include "tplog/tplog_for_test.h"
#include "tplog/tplog_index.h"
#include "tplog/tplog_scanner.h"

namespace {
// A read fails after this number of reads; negative: none does.
std::atomic<int> reads_to_error = -1;
}  // namespace

// The C library's function, which fails when a test wants it to.
extern "C" ssize_t pread(int fd, void* bytes, size_t count, off_t offset) {
  if (reads_to_error >= 0 && reads_to_error.fetch_sub(1) == 0) {
    errno = EIO;
    return -1;
  }
  return ::syscall(SYS_pread64, fd, bytes, count, offset);
}

namespace tickstack::tplog {
namespace {

class TplogReaderTest : public TplogTest {
 protected:
  // 40 blocks of 1 to 4 messages.
  void WriteSome() {
    const auto writer = OpenWriter();
    for (int i = 0; i < 40; ++i) {
      BlockOf block("sim");
      for (int message = 0; message <= i % 4; ++message) {
        block.Add(message % 2 == 0 ? "quote" : "trade", 1 + i % 5, i);
        messages_.emplace_back(
            AsText(UpdMessage(message % 2 == 0 ? "quote" : "trade", 1 + i % 5, i)));
      }
      ASSERT_TRUE(block.AppendTo(*writer).ok());
    }
  }

  std::vector<std::string> messages_;
};

TEST_F(TplogReaderTest, ReplaysWithAnIndexAndWithout) {
  WriteSome();
  const auto with = OpenReader();
  EXPECT_TRUE(with->indexed());
  EXPECT_EQ(Replay(*with), messages_);
  EXPECT_EQ(with->next_seq(), messages_.size());
  EXPECT_EQ(with->offset(), Content(path_).size());

  const auto without = OpenReader({.use_index = false});
  EXPECT_FALSE(without->indexed());
  EXPECT_EQ(Replay(*without), messages_);
  EXPECT_EQ(without->torn_bytes(), 0u);
}

TEST_F(TplogReaderTest, SeeksToAnyMessage) {
  WriteSome();
  for (const bool use_index : {true, false}) {
    const auto reader = OpenReader({.use_index = use_index});
    // Forwards and backwards, in strides that do not divide the blocks.
    for (size_t i = 0; i < 3 * messages_.size(); ++i) {
      const size_t seq = i * 37 % messages_.size();
      ASSERT_TRUE(reader->Seek(seq).ok());
      const auto message = reader->Next();
      ASSERT_TRUE(message.ok() && message->has_value()) << message.status();
      EXPECT_EQ((*message)->seq, seq);
      ASSERT_EQ(AsText((*message)->body), messages_[seq]);
    }
    EXPECT_TRUE(reader->Seek(messages_.size()).ok());
    EXPECT_FALSE(reader->Next().value().has_value());
    EXPECT_EQ(reader->Seek(messages_.size() + 1).code(), absl::StatusCode::kNotFound);
  }
}

// A reader that starts at the writer's end, at each of them, and frees its memory at every message.
TEST_F(TplogReaderTest, StartsAtItsWritersEnd) {
  const auto writer = OpenWriter();
  const TplogFiles files = TplogFiles::Open(path_).value();
  std::vector<std::pair<size_t, std::unique_ptr<TplogReader>>> readers;
  std::vector<std::string> messages;
  for (int i = 0; i < 40; ++i) {
    readers.emplace_back(messages.size(), TplogReader::OpenAt(files, writer->End()));
    const std::string feed = "feed" + std::to_string(i % 7), table = "t" + std::to_string(i / 3);
    BlockOf block(feed);
    for (int message = 0; message <= i % 4; ++message) {
      block.Add(table, 1 + i % 5, i);
      messages.emplace_back(AsText(UpdMessage(table, 1 + i % 5, i)));
    }
    ASSERT_TRUE(block.AppendTo(*writer, 1000 + i).ok());
  }
  for (const auto& [begin, reader] : readers) {
    for (size_t seq = begin; seq < messages.size(); ++seq) {
      const auto message = reader->Next();
      ASSERT_TRUE(message.ok() && message->has_value()) << message.status();
      EXPECT_EQ((*message)->seq, seq);
      ASSERT_EQ(AsText((*message)->body), messages[seq]);
      if (begin % 2 == 0) reader->ReleaseMemory();
    }
    EXPECT_EQ(reader->time_ns(), 1039);
    EXPECT_FALSE(reader->Next().value().has_value());
    ASSERT_TRUE(reader->Seek(0).ok()) << "it also reads what is before its beginning";
    EXPECT_EQ(AsText((*reader->Next())->body), messages[0]);
  }
  EXPECT_TRUE(absl::IsNotFound(TplogFiles::Open(path_ + "none").status()));
}

TEST_F(TplogReaderTest, HandsOutRangesOfWholeMessages) {
  WriteSome();
  std::string expected;
  for (size_t i = 5; i < 60; ++i) expected += messages_[i];
  for (const uint64_t bytes_max : {1u, 200u, 1000u, 1u << 20}) {
    const auto reader = OpenReader();
    std::string found;
    while (true) {
      const auto range =
          reader->ReadRange(reader->next_seq() < 5 ? 5 : reader->next_seq(), 60, bytes_max);
      ASSERT_TRUE(range.ok()) << range.status();
      if (range->empty()) break;
      EXPECT_TRUE(range->size() <= bytes_max || ValueBytes(*range)->value() == range->size());
      found += AsText(*range);
    }
    EXPECT_EQ(found, expected);
    EXPECT_EQ(reader->next_seq(), 60u);
  }
  const auto reader = OpenReader();
  EXPECT_TRUE(reader->ReadRange(messages_.size(), 1000, 100).value().empty());
  EXPECT_EQ(reader->ReadRange(messages_.size() + 1, 1000, 100).status().code(),
            absl::StatusCode::kNotFound);
  // A second reader of the same range, starting in the middle, is served by a seek.
  EXPECT_EQ(AsText(reader->ReadRange(3, 4, 1).value()), messages_[3]);
}

// A torn tail is the end of the log; damage within what the index covers is an error.
TEST_F(TplogReaderTest, WithoutAnIndexReplaysTheWholeMessagesBeforeAnyCut) {
  WriteSome();
  const std::string log = Content(path_).substr(0, 1500);
  std::filesystem::remove(index_path_);
  for (size_t bytes = kTplogHeaderBytes; bytes <= log.size(); ++bytes) {
    Write(path_, log.substr(0, bytes));
    const auto reader = OpenReader();
    const std::vector<std::string> found = Replay(*reader);
    ASSERT_LT(found.size(), messages_.size());
    ASSERT_TRUE(std::equal(found.begin(), found.end(), messages_.begin()));
    ASSERT_EQ(reader->offset() + reader->torn_bytes(), bytes);
    ASSERT_LT(reader->torn_bytes(), messages_[found.size()].size());
  }
}

// Goal: noise in the middle of a log without an index is no end of it. Method: four bytes at each
// place are replaced. A replay that has fewer messages ends with an error, unless the noise joined
// messages to others, which the check then calls odd. At the end of the log it may be a torn tail.
TEST_F(TplogReaderTest, NoiseInALogWithoutAnIndexIsNoEnd) {
  WriteSome();
  std::filesystem::remove(index_path_);
  const std::string log = Content(path_);
  const size_t last = log.size() - messages_.back().size();
  size_t errors = 0;
  for (const std::string_view noise : {"\xde\xad\xbe\xef", "\xff\xff\xff\x7f"}) {
    for (size_t at = kTplogHeaderBytes; at + noise.size() <= last; at += 3) {
      std::string damaged = log;
      damaged.replace(at, noise.size(), noise);
      Write(path_, damaged);
      absl::Status status;
      const size_t found = Replay(*OpenReader(), &status).size();
      const TplogReport report = CheckTplog(path_).value();
      if (status.ok()) {
        ASSERT_TRUE(found == messages_.size() || !report.odd.empty()) << at;
        ASSERT_EQ(report.problem_count, 0u) << at;
        continue;
      }
      ++errors;
      ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss) << at;
      ASSERT_NE(Message(status).find("is damaged: whole ones follow from byte"),
                std::string_view::npos)
          << status;
      ASSERT_EQ(report.damaged.size(), 1u) << at;
      ASSERT_GE(report.totals.messages, messages_.size() - 2) << at;
    }
  }
  EXPECT_GT(errors, log.size() / 20);
}

// The same if only the end of the log has no index, if the log begins with a message that is no
// upd, if its upds have another verb, and if its first message is damaged.
TEST_F(TplogReaderTest, NoiseIsFoundWhateverTheLogBeginsWith) {
  WriteSome();
  const std::string log = Content(path_);
  const auto status_of = [&](std::string damaged, size_t at) {
    damaged.replace(at, 4, "\xde\xad\xbe\xef");
    Write(path_, damaged);
    absl::Status status;
    Replay(*OpenReader(), &status);
    return status;
  };
  ByteBuffer more = UpdMessage("trade", 3);
  std::string tail;
  for (int i = 0; i < 3; ++i) tail += AsText(more);
  EXPECT_TRUE(absl::IsDataLoss(status_of(log + tail, log.size() + 4)));

  std::filesystem::remove(index_path_);
  const std::string header = log.substr(0, kTplogHeaderBytes), rest = log.substr(kTplogHeaderBytes);
  ByteBuffer other;
  wire::Encode(Value::List({Value::Symbol("start"), Value::Long(1)}), other);
  const std::string first(AsText(other));
  EXPECT_TRUE(absl::IsDataLoss(status_of(header + first + rest, 600)));
  EXPECT_TRUE(absl::IsDataLoss(status_of(log, kTplogHeaderBytes)));
  std::string verb = log;
  for (size_t at = 0; (at = verb.find("upd", at)) != verb.npos; ++at) verb.replace(at, 3, "ins");
  EXPECT_TRUE(absl::IsDataLoss(status_of(verb, kTplogHeaderBytes)));
  EXPECT_TRUE(absl::IsDataLoss(status_of(verb, messages_[0].size() + kTplogHeaderBytes)));
}

TEST_F(TplogReaderTest, NamesTheDamagedBlockWhateverBitIsFlipped) {
  WriteSome();
  const std::string log = Content(path_);
  TplogIndexReader index = TplogIndexReader::Open(index_path_).value();
  IndexBlock block = index.Next().value()->block;
  for (uint64_t at = kTplogHeaderBytes; at < log.size(); ++at) {
    if (at >= block.end_offset()) block = index.Next().value()->block;
    std::string damaged = log;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    Write(path_, damaged);
    absl::Status status;
    const auto reader = OpenReader();
    EXPECT_EQ(Replay(*reader, &status).size(), block.first_seq);
    ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss) << at;
    ASSERT_NE(Message(status).find(fmt::format("block at byte {}:", block.offset)),
              std::string_view::npos)
        << status;
  }
}

TEST_F(TplogReaderTest, ABlockThatIsNotWholeYetIsTheEndUntilItIs) {
  WriteSome();
  const std::string log = Content(path_);
  const size_t last = messages_.size() - 4;  // The last block has four messages.
  for (size_t cut = 1; cut < 300; cut += 7) {
    Write(path_, log.substr(0, log.size() - cut));
    const auto reader = OpenReader();
    ASSERT_EQ(Replay(*reader).size(), last);
    EXPECT_GT(reader->torn_bytes(), 0u);
    AppendTo(path_, AsBytes(log).subspan(log.size() - cut));
    ASSERT_EQ(Replay(*reader).size(), 4u);
    EXPECT_EQ(reader->torn_bytes(), 0u);
  }
}

TEST_F(TplogReaderTest, SurvivesThatTheWritersSuccessorCutsABlock) {
  WriteSome();
  Write(path_, Content(path_).substr(0, Content(path_).size() - 10));
  const auto reader = OpenReader();
  const size_t before = messages_.size() - 4;
  ASSERT_EQ(Replay(*reader).size(), before);
  const auto writer = OpenWriter();
  ASSERT_EQ(writer->totals().messages, before + 3);
  // The log grows beyond the end of the block that was cut.
  ASSERT_TRUE(BlockOf().Add("trade", 100).AppendTo(*writer).ok());
  EXPECT_EQ(Replay(*reader).size(), 4u);
}

TEST_F(TplogReaderTest, ReadsOnWhenPartOfWhatItReadIsIndexedLater) {
  WriteSome();
  const std::string log = Content(path_);
  std::filesystem::remove(index_path_);
  Write(path_, log.substr(0, 8));
  {
    OpenWriter();
  }  // An index without blocks.
  AppendTo(path_, AsBytes(log).subspan(8));
  const auto reader = OpenReader();
  for (size_t i = 0; i < 20; ++i) ASSERT_TRUE(reader->Next().value().has_value());
  // One block for all messages, some of which have been read already.
  const auto writer = OpenWriter();
  ASSERT_TRUE(BlockOf().Add("trade", 1).AppendTo(*writer).ok());
  EXPECT_EQ(Replay(*reader).size(), messages_.size() - 20 + 1);
  EXPECT_TRUE(reader->Seek(30).ok());
  EXPECT_EQ(AsText(reader->Next().value()->body), messages_[30]);
}

TEST_F(TplogReaderTest, ReadsWhatKdbAppendedBehindTheIndex) {
  WriteSome();
  AppendTo(path_, UpdMessage("trade", 3));
  AppendTo(path_, UpdMessage("trade", 3).span().first(9));
  const auto reader = OpenReader();
  EXPECT_EQ(Replay(*reader).size(), messages_.size() + 1);
  EXPECT_EQ(reader->torn_bytes(), 9u);
}

TEST_F(TplogReaderTest, AnIndexOfAnotherLogIsDamage) {
  WriteSome();
  const std::string index = Content(index_path_);
  std::filesystem::remove(path_);
  std::filesystem::remove(index_path_);
  {
    const auto writer = OpenWriter();
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(BlockOf().Add("x", i + 1).AppendTo(*writer).ok());
  }
  Write(index_path_, index);
  absl::Status status;
  EXPECT_TRUE(Replay(*OpenReader(), &status).empty());
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
}

// Goal: a reader beside a live writer sees every message once, in order, and only whole ones.
// Method: another thread appends 4,000 blocks, some of them large, while this one reads.
// Goal: if a file system cannot say whether a log has an index, the log is not read without its
// checksums, and no new index is written, which would not know the feeds. Method: the index is a
// link that leads to itself.
TEST_F(TplogReaderTest, AnIndexThatCannotBeLookedForIsAnError) {
  WriteSome();
  std::filesystem::remove(index_path_);
  std::filesystem::create_symlink(index_path_, index_path_);
  const std::string error = index_path_ + ": stat: Too many levels of symbolic links";
  EXPECT_EQ(Message(TplogReader::Open(path_).status()), error);
  EXPECT_EQ(Message(TplogWriter::Open(path_, {}).status()), error);
  EXPECT_EQ(Message(CheckTplog(path_).status()), error);
  EXPECT_EQ(Message(MessagesIndexed(path_).status()), error);
  EXPECT_TRUE(std::filesystem::is_symlink(index_path_));
}

TEST_F(TplogReaderTest, FollowsALiveWriter) {
  constexpr int kBlocks = 4000;
  const auto writer = OpenWriter();
  const auto reader = OpenReader();
  std::atomic<bool> done = false;
  std::thread appending([&] {
    for (int i = 0; i < kBlocks; ++i) {
      EXPECT_TRUE(
          BlockOf("sim").Add("t", i % 100 == 0 ? 2000 : 1 + i % 7, i).AppendTo(*writer).ok());
    }
    done.store(true, std::memory_order_release);
  });
  int seen = 0;
  bool last_look = false;
  while (seen < kBlocks && !last_look) {
    last_look = done.load(std::memory_order_acquire);
    for (auto message = reader->Next();; message = reader->Next()) {
      ASSERT_TRUE(message.ok()) << message.status();
      if (!message->has_value()) break;
      const int i = seen++;
      ASSERT_EQ((*message)->seq, static_cast<uint64_t>(i));
      ASSERT_EQ(AsText((*message)->body),
                AsText(UpdMessage("t", i % 100 == 0 ? 2000 : 1 + i % 7, i)));
    }
  }
  appending.join();
  EXPECT_EQ(seen, kBlocks);
}

// Goal: a read that fails once costs one error, and no message is wrong or missing after it.
// Method: each of the reads of a whole replay fails in turn.
TEST_F(TplogReaderTest, GoesOnAfterAReadThatFailed) {
  WriteSome();
  AppendTo(path_, UpdMessage("trade", 3));  // Not in the index.
  messages_.emplace_back(AsText(UpdMessage("trade", 3)));
  for (const bool use_index : {true, false}) {
    for (int fails = 0, errors = 1; errors > 0; ++fails) {
      const auto reader = OpenReader({.use_index = use_index, .verify = fails % 2 == 0});
      reads_to_error = fails;
      std::vector<std::string> got;
      errors = 0;
      while (true) {
        const absl::StatusOr<std::optional<TplogMessage>> message = reader->Next();
        if (!message.ok()) {
          ASSERT_THAT(message.status().message(), testing::HasSubstr("Input/output error"));
          ASSERT_EQ(++errors, 1);
          continue;
        }
        if (!message->has_value()) break;
        got.emplace_back(AsText((*message)->body));
      }
      EXPECT_EQ(got, messages_);
      EXPECT_TRUE(errors == 1 || fails > 0) << "no read failed";
    }
  }
  reads_to_error = -1;
}

TEST_F(TplogReaderTest, SaysWhatIsNoLog) {
  EXPECT_EQ(TplogReader::Open(path_).status().code(), absl::StatusCode::kNotFound);
  Write(path_, "kxzippedxxxxxxxx");
  const absl::Status compressed = TplogReader::Open(path_).status();
  EXPECT_NE(Message(compressed).find("compressed"), std::string_view::npos) << compressed;
  Write(path_, "\xff\x01");
  EXPECT_EQ(TplogReader::Open(path_).status().code(), absl::StatusCode::kInvalidArgument);
}

// A message that declares 2^31-1 longs in a small file takes no more memory than the file.
TEST_F(TplogReaderTest, ADeclaredCountTakesNoMemory) {
  Write(path_, std::string_view("\xff\1\0\0\0\0\0\0\7\0\xff\xff\xff\x7f 12345678", 23));
  const auto reader = OpenReader();
  EXPECT_TRUE(Replay(*reader).empty());
  EXPECT_EQ(reader->torn_bytes(), 15u);
}

// Logs that real kdb+ processes wrote, with the counts of the fixtures' README.
struct RealLog {
  const char* path;
  uint64_t messages;
  TableRows messages_by_table;
};

TEST(TplogReaderFixtures, EveryRealLogReplaysWithItsCounts) {
  const RealLog logs[] = {
      {"chanjam03-AdvKDB/debugging/Q1/tplog", 10, {{"trade", 7}}},
      {"chanjam03-AdvKDB/logs/replay/ENB2023.04.24", 3, {{"trade", 3}}},
      {"chanjam03-AdvKDB/logs/replay/sym2023.04.24",
       8799,
       {{"quote", 5117}, {"OHLC", 114}, {"trade", 568}, {"optTrades", 3000}}},
      {"DataIntellectTech-TorQ/tests/merge/tplogreplay/testlogs/stp1_quote20220616122504",
       308,
       {{"quote", 308}}},
      {"DataIntellectTech-TorQ/tests/merge/tplogreplay/testlogs/stp1_trade20220616122504",
       306,
       {{"trade", 306}}},
      {"DataIntellectTech-TorQ/tests/merge/tplogreplay/testlogs/stp1_packets20220616122504", 0, {}},
      {"DataIntellectTech-TorQ/tests/stp/tickerlog/logs/oldlog/testoldlog",
       100,
       {{"quote", 50}, {"trade", 50}}},
      {"DataIntellectTech-TorQ/tests/stp/tickerlog/logs/stpnone/stpnone_20201006204450",
       2,
       {{"trade", 1}, {"quote", 1}}},
      {"DataIntellectTech-TorQ/tests/stp/tickerlog/logs/stptabperiod/quote20201006204520",
       1,
       {{"quote", 1}}},
      {"DataIntellectTech-TorQ/tests/stp/tickerlog/logs/stptabperiod/quote20201006204524",
       1,
       {{"quote", 1}}},
      {"DataIntellectTech-TorQ/tests/stp/tickerlog/logs/stptabperiod/trade20201006204520",
       1,
       {{"trade", 1}}},
      {"DataIntellectTech-TorQ/tests/stp/tickerlog/logs/stptabperiod/trade20201006204524",
       1,
       {{"trade", 1}}},
      {"DunnyDon-advancedKdb/section2/newtp", 8, {{"trade", 7}}},
      {"DunnyDon-advancedKdb/section2/tplog", 10, {{"trade", 7}}},
      {"DunnyDon-advancedKdb/tpLogs/schema2019.06.21",
       46,
       {{"quote", 25}, {"statsTab", 19}, {"bid", 2}}},
      {"DunnyDon-advancedKdb/tpLogs/schema2019.06.24",
       95,
       {{"quote", 47}, {"statsTab", 44}, {"bid", 4}}},
      {"exxeleron-enterprise-components/components/stream/test/data/jrn2012.01.11", 0, {}},
      {"ghlian-AdvancedKDB/AdvancedKDB/Question2_Answers/tplog_fixed", 8, {{"trade", 8}}},
      {"glimKX-advKDB/tplog/IBM.2018.06.11", 1, {{"quote", 1}}},
      {"glimKX-advKDB/tplog/2018.06.09", 0, {}},
      {"pmcnamee99-10-advanced-kdb-tick-arch/kdb-tick/schema2026.02.19",
       418,
       {{"quote", 209}, {"trade", 209}}},
      {"SirCsimbok-kdb-tick/schema2024.01.29", 1696, {{"quote", 1529}, {"trade", 167}}},
  };
  TS_REQUIRE_FIXTURE(folder, "kdb");
  for (const RealLog& log : logs) {
    SCOPED_TRACE(log.path);
    const auto reader = TplogReader::Open((folder / log.path).string());
    ASSERT_TRUE(reader.ok()) << reader.status();
    TableRows by_table;
    uint64_t messages = 0;
    for (auto message = (*reader)->Next();; message = (*reader)->Next()) {
      ASSERT_TRUE(message.ok()) << message.status();
      if (!message->has_value()) break;
      ++messages;
      BlockCounter counter;
      counter.Add((*message)->body);
      for (const auto& [table, rows] : counter.rows()) ++by_table[table];
    }
    EXPECT_EQ(messages, log.messages);
    EXPECT_EQ(by_table, log.messages_by_table);
    EXPECT_EQ((*reader)->torn_bytes(), 0u);
  }
}

}  // namespace
}  // namespace tickstack::tplog
