#include "tickerplant/standby/standby_log.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <random>

#include "base/logging.h"
#include "base/time.h"
#include "tplog/tplog_for_test.h"
#include "tplog/tplog_state.h"

namespace tickstack::tickerplant {
namespace {

using testing::HasSubstr;

constexpr int32_t kDay = 7373;  // 2020.03.09.

// A leader's log, and a standby that gets its blocks by messages.
class StandbyLogTest : public tplog::TplogTest {
 protected:
  StandbyLogTest() { InitLogging("test", LogLevel::kOff); }

  std::string PathOf(std::string_view member, int32_t day = kDay) const {
    return fmt::format("{}/{}/sym{}", directory_, member, FormatDate(day));
  }
  std::unique_ptr<tplog::TplogWriter> Leader(int32_t day = kDay,
                                             NameMap<tplog::TableRows> carried = {}) {
    tplog::TplogOptions options;
    options.carried_progress = std::move(carried);
    return tplog::TplogWriter::Open(PathOf("leader", day), options).value();
  }
  absl::StatusOr<std::unique_ptr<StandbyLog>> Standby() {
    return StandbyLog::Open({.directory = directory_ + "/standby"});
  }

  // Logs a block of trades at the leader, and returns its message.
  Value Log(tplog::TplogWriter& log, std::string_view feed, int rows, int64_t time_ns) {
    const ByteBuffer body = tplog::UpdMessage("trade", rows, static_cast<int64_t>(number_++));
    const std::span<const std::byte> segment = body;
    const tplog::TplogBlock::Rows counted{"trade", static_cast<uint32_t>(rows)};
    const tplog::TplogBlock block{{&segment, 1}, 1, time_ns, feed, {&counted, 1}};
    const ByteBuffer message = EncodeReplicaBlock(1, {kDay, log.totals().messages}, block).value();
    EXPECT_TRUE(log.Append(block).ok());
    return wire::Decode(message.span().subspan(wire::kHeaderBytes)).value();
  }
  static absl::Status Append(StandbyLog& standby, const Value& message) {
    const absl::StatusOr<ReplicaBlock> block = ParseReplicaBlock(message);
    if (!block.ok()) return block.status();
    return standby.Append(*block);
  }
  void ExpectSameLogs(int32_t day = kDay) {
    EXPECT_EQ(Content(PathOf("leader", day)), Content(PathOf("standby", day)));
    EXPECT_EQ(Content(tplog::TplogIndexPath(PathOf("leader", day))),
              Content(tplog::TplogIndexPath(PathOf("standby", day))));
  }

  uint64_t number_ = 0;
};

TEST_F(StandbyLogTest, HasTheSameLogAndIndexAsTheLeader) {
  auto leader = Leader();
  auto standby = *Standby();
  EXPECT_FALSE(standby->has_log());
  ASSERT_TRUE(standby->Begin(kDay, {}).ok());
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(Append(*standby, Log(*leader, i % 3 == 0 ? "" : "nyse", 1 + i, i)).ok());
  }
  EXPECT_EQ(standby->place(), (ReplicaPlace{kDay, 20}));
  ExpectSameLogs();
}

TEST_F(StandbyLogTest, BeginsWithTheRowsOfFeedsOfTheDayBefore) {
  const NameMap<tplog::TableRows> carried = {{"nyse", {{"trade", 7}, {"quote", 70}}}};
  auto leader = Leader(kDay, carried);
  auto standby = *Standby();
  ASSERT_TRUE(standby->Begin(kDay, carried).ok());
  ASSERT_TRUE(Append(*standby, Log(*leader, "nyse", 3, 1)).ok());
  ExpectSameLogs();
}

TEST_F(StandbyLogTest, EndsTheDayAsTheLeaderDoes) {
  auto leader = Leader();
  auto standby = *Standby();
  ASSERT_TRUE(standby->Begin(kDay, {}).ok());
  ASSERT_TRUE(Append(*standby, Log(*leader, "nyse", 3, 1)).ok());
  ASSERT_TRUE(standby->EndDay({1, kDay, kDay + 3}).ok());
  EXPECT_EQ(standby->place(), (ReplicaPlace{kDay + 3, 0}));
  auto next = Leader(kDay + 3, leader->totals().feed_rows);
  ExpectSameLogs(kDay);
  ExpectSameLogs(kDay + 3);
  EXPECT_TRUE(tplog::ReadTplogState(PathOf("standby"))->ended);
  EXPECT_FALSE(standby->EndDay({1, kDay, kDay + 4}).ok());
  EXPECT_FALSE(standby->EndDay({1, kDay + 3, kDay + 3}).ok());
}

TEST_F(StandbyLogTest, RefusesABlockThatDoesNotFollow) {
  auto leader = Leader();
  auto standby = *Standby();
  ASSERT_TRUE(standby->Begin(kDay, {}).ok());
  const Value first = Log(*leader, "", 1, 1), second = Log(*leader, "", 1, 2);
  EXPECT_THAT(Append(*standby, second).ToString(), HasSubstr("does not follow message 0"));
  EXPECT_TRUE(Append(*standby, first).ok());
  EXPECT_FALSE(Append(*standby, first).ok());
  EXPECT_TRUE(Append(*standby, second).ok());
  ExpectSameLogs();
}

// Goal: a standby that is killed, and whose tail is cut to any earlier block, continues to the same
// bytes. Method: cut to each end in turn, and append the rest again.
TEST_F(StandbyLogTest, ContinuesFromAnyBlockThatItIsCutTo) {
  auto leader = Leader();
  std::vector<Value> messages;
  {
    auto standby = *Standby();
    ASSERT_TRUE(standby->Begin(kDay, {}).ok());
    for (int i = 0; i < 12; ++i) {
      messages.push_back(Log(*leader, i % 4 == 3 ? fmt::format("feed{}", i) : "", 2, i));
      ASSERT_TRUE(Append(*standby, messages.back()).ok());
    }
  }
  for (size_t cut = 0; cut <= messages.size(); ++cut) {
    SCOPED_TRACE(cut);
    auto standby = *Standby();
    ASSERT_EQ(standby->place(), (ReplicaPlace{kDay, messages.size()}));
    ASSERT_TRUE(standby->CutTo(cut).ok());
    EXPECT_EQ(standby->place(), (ReplicaPlace{kDay, cut}));
    EXPECT_EQ(standby->Ends().size(), cut + 1);
    for (size_t i = cut; i < messages.size(); ++i) {
      ASSERT_TRUE(Append(*standby, messages[i]).ok());
    }
    ExpectSameLogs();
  }
  // What was cut is kept: a file for each cut that removed something.
  size_t kept = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_ + "/standby")) {
    if (entry.path().string().find(".cut-") != std::string::npos) ++kept;
  }
  EXPECT_EQ(kept, messages.size());
}

TEST_F(StandbyLogTest, DoesNotCutWhatALeaderHasLogged) {
  auto leader = Leader();
  auto standby = *Standby();
  ASSERT_TRUE(standby->Begin(kDay, {}).ok());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(Append(*standby, Log(*leader, "nyse", 1, i)).ok());
  }
  ASSERT_TRUE(standby->NoteLogged({kDay, 2}).ok());
  EXPECT_EQ(standby->CutTo(1).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(standby->place(), (ReplicaPlace{kDay, 3}));
  EXPECT_TRUE(standby->CutTo(2).ok());
  EXPECT_EQ(standby->place(), (ReplicaPlace{kDay, 2}));
}

TEST_F(StandbyLogTest, DoesNotCutWhatALeaderHasLoggedBeforeARestart) {
  auto leader = Leader();
  {
    auto standby = *Standby();
    ASSERT_TRUE(standby->Begin(kDay, {}).ok());
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(Append(*standby, Log(*leader, "nyse", 1, i)).ok());
    }
    ASSERT_TRUE(standby->NoteLogged({kDay, 1}).ok());
    ASSERT_TRUE(standby->NoteLogged({kDay, 9}).ok());  // It has only three of them.
  }
  auto standby = *Standby();
  EXPECT_EQ(standby->CutTo(2).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(standby->place(), (ReplicaPlace{kDay, 3}));
}

TEST_F(StandbyLogTest, DoesNotCutWhatItLoggedAsTheLeader) {
  auto leader = Leader();
  {
    auto standby = *Standby();
    ASSERT_TRUE(standby->Begin(kDay, {}).ok());
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(Append(*standby, Log(*leader, "nyse", 1, i)).ok());
    }
    standby->NoteComplete();
    const OpenedLog opened = standby->Release();
    EXPECT_EQ(opened.date, kDay);
    ASSERT_TRUE(standby->NoteLogged({kNullInt, 3}).ok());  // It does not serve clients yet.
    ASSERT_TRUE(standby->NoteLogged({kDay, 2}).ok());
  }
  auto standby = *Standby();
  EXPECT_EQ(standby->CutTo(1).code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(standby->CutTo(2).ok());
}

TEST_F(StandbyLogTest, MayLackRowsIfItIsShorterThanALeaderHasLogged) {
  auto leader = Leader();
  {
    auto standby = *Standby();
    ASSERT_TRUE(standby->Begin(kDay, {}).ok());
    ASSERT_TRUE(Append(*standby, Log(*leader, "nyse", 1, 0)).ok());
    ASSERT_TRUE(standby->NoteLogged({kDay, 1}).ok());
  }
  EXPECT_FALSE((*Standby())->may_lack_rows());
  const std::string mark = directory_ + "/standby/sym.logged";
  Write(mark, fmt::format("{:<39}\n", FormatDate(kDay) + " 2"));
  EXPECT_TRUE((*Standby())->may_lack_rows());
  // Files of another form say nothing.
  for (const std::string& text : {std::string(), std::string("x"), std::string(40, 'x'),
                                  FormatDate(kDay) + std::string(29, ' ') + "\n"}) {
    std::filesystem::remove(directory_ + "/standby/sym.may-lack-rows");
    Write(mark, text);
    EXPECT_FALSE((*Standby())->may_lack_rows()) << text;
  }
}

// A log that an operator moved away, so that the day is copied again.
TEST_F(StandbyLogTest, CutsANewLogAlthoughTheOldOneWasLonger) {
  auto leader = Leader();
  std::vector<Value> blocks;
  {
    auto standby = *Standby();
    ASSERT_TRUE(standby->Begin(kDay, {}).ok());
    for (int i = 0; i < 3; ++i) {
      blocks.push_back(Log(*leader, "nyse", 1, i));
      ASSERT_TRUE(Append(*standby, blocks.back()).ok());
    }
    ASSERT_TRUE(standby->NoteLogged({kDay, 3}).ok());
  }
  for (const char* suffix : {"", ".idx", ".state"}) {
    std::filesystem::remove(PathOf("standby") + suffix);
  }
  auto standby = *Standby();
  ASSERT_TRUE(standby->Begin(kDay, {}).ok());
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Append(*standby, blocks[static_cast<size_t>(i)]).ok());
  EXPECT_TRUE(standby->CutTo(1).ok());
}

// Its creator was killed between the creation of the log and that of its index, which has the rows
// with which feeds continue.
TEST_F(StandbyLogTest, GoesBackToTheDayBeforeIfTheNewestOneWasNotBegun) {
  auto leader = Leader();
  {
    auto standby = *Standby();
    ASSERT_TRUE(standby->Begin(kDay, {}).ok());
    ASSERT_TRUE(Append(*standby, Log(*leader, "nyse", 4, 1)).ok());
    ASSERT_TRUE(standby->EndDay({1, kDay, kDay + 1}).ok());
  }
  const std::string next = PathOf("standby", kDay + 1);
  {
    auto standby = *Standby();
    EXPECT_EQ(standby->place(), (ReplicaPlace{kDay + 1, 0}));
  }
  for (const char* suffix : {".idx", ".state"}) std::filesystem::remove(next + suffix);
  std::filesystem::resize_file(next, 0);
  auto standby = *Standby();
  EXPECT_EQ(standby->place(), (ReplicaPlace{kDay, 1}));
  EXPECT_FALSE(std::filesystem::exists(next));
}

// Goal: a standby that lost its disk is not taken for one that has every logged row, as soon as it
// has a log again.
TEST_F(StandbyLogTest, ANewLogMayLackRowsUntilItHasWhatTheLeaderHasLogged) {
  auto leader = Leader();
  {
    auto standby = *Standby();
    EXPECT_TRUE(standby->may_lack_rows());
    ASSERT_TRUE(standby->Begin(kDay, {}).ok());
    ASSERT_TRUE(Append(*standby, Log(*leader, "nyse", 1, 1)).ok());
    ASSERT_TRUE(standby->NoteLogged({kDay, 2}).ok());
    EXPECT_TRUE(standby->may_lack_rows());
  }
  {
    auto standby = *Standby();
    EXPECT_TRUE(standby->may_lack_rows());
    ASSERT_TRUE(Append(*standby, Log(*leader, "nyse", 1, 2)).ok());
    ASSERT_TRUE(
        standby->NoteLogged({kNullInt, 0}).ok());  // The leader does not know yet what is logged.
    EXPECT_TRUE(standby->may_lack_rows());
    ASSERT_TRUE(standby->NoteLogged({kDay, 2}).ok());
    EXPECT_FALSE(standby->may_lack_rows());
  }
  EXPECT_FALSE((*Standby())->may_lack_rows());
}

// Method: the log's state file from when it was open says that its writer never closed it, and the
// boot of the machine is another one.
TEST_F(StandbyLogTest, MayLackRowsAfterAPowerCutUnlessEachBlockWasSynced) {
  for (const bool is_synced : {false, true}) {
    SCOPED_TRACE(is_synced);
    StandbyLogOptions options{.directory = fmt::format("{}/synced{}", directory_, is_synced)};
    options.log.fsync = is_synced ? tplog::FsyncPolicy::kBatch : tplog::FsyncPolicy::kNone;
    options.log.boot = "one";
    const std::string state_path =
        tplog::TplogStatePath(fmt::format("{}/sym{}", options.directory, FormatDate(kDay)));
    auto leader = tplog::TplogWriter::Open(fmt::format("{}/leader{}", directory_, is_synced), {});
    ASSERT_TRUE(leader.ok());
    std::string state;
    {
      auto standby = *StandbyLog::Open(options);
      ASSERT_TRUE(standby->Begin(kDay, {}).ok());
      ASSERT_TRUE(Append(*standby, Log(**leader, "nyse", 1, 1)).ok());
      ASSERT_TRUE(standby->NoteLogged({kDay, 1}).ok());
      EXPECT_FALSE(standby->may_lack_rows());
      state = Content(state_path);
    }
    Write(state_path, state);
    options.log.boot = "two";
    for (int start = 0; start < 2; ++start) {
      EXPECT_EQ((*StandbyLog::Open(options))->may_lack_rows(), !is_synced);
    }
  }
}

// Goal: a standby that is killed while it opens its log may lead after that.
TEST_F(StandbyLogTest, AnOpeningThatFailsLeavesNoMark) {
  auto leader = Leader();
  {
    auto standby = *Standby();
    ASSERT_TRUE(standby->Begin(kDay, {}).ok());
    ASSERT_TRUE(Append(*standby, Log(*leader, "nyse", 1, 1)).ok());
    ASSERT_TRUE(standby->NoteLogged({kDay, 1}).ok());
  }
  const std::string log = Content(PathOf("standby"));
  std::string damaged = log;
  damaged.back() ^= 1;
  Write(PathOf("standby"), damaged);
  EXPECT_TRUE(absl::IsDataLoss(Standby().status()));
  Write(PathOf("standby"), log);
  EXPECT_FALSE((*Standby())->may_lack_rows());
}

TEST_F(StandbyLogTest, CutsOnlyWhereABlockEnds) {
  auto standby = *Standby();
  ASSERT_TRUE(standby->Begin(kDay, {}).ok());
  EXPECT_EQ(standby->CutTo(1).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(StandbyLogTest, EndsTellALogFromAnotherOfTheSameLength) {
  auto leader = Leader();
  auto standby = *Standby();
  ASSERT_TRUE(standby->Begin(kDay, {}).ok());
  const Value first = Log(*leader, "nyse", 1, 1);
  ASSERT_TRUE(Append(*standby, first).ok());
  // The second block differs in its time only.
  Value second = Log(*leader, "nyse", 1, 2);
  second.mutable_items()[4] = Value::Timestamp(3);
  ASSERT_TRUE(Append(*standby, second).ok());
  const auto blocks = *tplog::TplogBlocks::Open(PathOf("leader"));
  const std::vector<tplog::LogEnd> ends = standby->Ends();
  ASSERT_EQ(ends.size(), 3u);
  EXPECT_EQ(ends[0], blocks->end());
  ASSERT_TRUE(blocks->Next()->has_value());
  EXPECT_EQ(ends[1], blocks->end());
  ASSERT_TRUE(blocks->Next()->has_value());
  EXPECT_EQ(ends[2].seq, blocks->end().seq);
  EXPECT_NE(ends[2].digest, blocks->end().digest);
}

// Method: a leader dies after it has written the record of a block and before the block itself.
TEST_F(StandbyLogTest, BlocksOfWhichNothingIsLeftAreNotCopied) {
  auto leader = Leader();
  auto standby = *Standby();
  ASSERT_TRUE(standby->Begin(kDay, {}).ok());
  ASSERT_TRUE(Append(*standby, Log(*leader, "nyse", 1, 1)).ok());
  const auto bytes = std::filesystem::file_size(PathOf("leader"));
  Log(*leader, "nyse", 1, 2);
  leader = nullptr;
  std::filesystem::resize_file(PathOf("leader"), bytes);
  leader = Leader();
  EXPECT_EQ(leader->recovery().messages_not_logged, 1u);
  ASSERT_TRUE(Append(*standby, Log(*leader, "nyse", 1, 3)).ok());
  const auto blocks = *tplog::TplogBlocks::Open(PathOf("leader"));
  for (int block = 0; block < 2; ++block) {
    const auto next = blocks->Next();
    ASSERT_TRUE(next.ok() && next->has_value());
    EXPECT_EQ((*next)->messages, 1u);
  }
  EXPECT_FALSE((*blocks->Next()).has_value());
  EXPECT_EQ(standby->Ends().back(), blocks->end());
  EXPECT_EQ(Content(PathOf("leader")), Content(standby->path()));
}

TEST_F(StandbyLogTest, DropsADayThatTheLeaderHasNotBegun) {
  auto leader = Leader();
  auto standby = *Standby();
  ASSERT_TRUE(standby->Begin(kDay, {}).ok());
  ASSERT_TRUE(Append(*standby, Log(*leader, "nyse", 1, 1)).ok());
  EXPECT_FALSE(standby->DropEmptyDay().ok());
  ASSERT_TRUE(standby->EndDay({1, kDay, kDay + 1}).ok());
  ASSERT_TRUE(standby->DropEmptyDay().ok());
  EXPECT_EQ(standby->place(), (ReplicaPlace{kDay, 1}));
  EXPECT_FALSE(tplog::ReadTplogState(PathOf("standby"))->ended);
  ASSERT_TRUE(Append(*standby, Log(*leader, "nyse", 1, 2)).ok());
  ExpectSameLogs();
}

TEST_F(StandbyLogTest, GivesItsLogAwayOpen) {
  auto leader = Leader();
  auto standby = *Standby();
  ASSERT_TRUE(standby->Begin(kDay, {}).ok());
  ASSERT_TRUE(Append(*standby, Log(*leader, "nyse", 1, 1)).ok());
  ASSERT_TRUE(Append(*standby, Log(*leader, "nyse", 1, 2)).ok());
  OpenedLog opened = standby->Release();
  EXPECT_FALSE(standby->has_log());
  EXPECT_TRUE(standby->Close().ok());
  EXPECT_EQ(opened.writer->totals().messages, 2u);
  const auto last_blocks = opened.last_blocks;
  opened = {};
  EXPECT_EQ(last_blocks,
            (*tplog::TplogWriter::Open(PathOf("standby"), {}))->recovery().last_blocks);
}

TEST_F(StandbyLogTest, HasNoLogAfterItDropsItsOnlyDay) {
  auto standby = *Standby();
  ASSERT_TRUE(standby->Begin(kDay, {}).ok());
  ASSERT_TRUE(standby->DropEmptyDay().ok());
  EXPECT_FALSE(standby->has_log());
  EXPECT_TRUE(standby->Ends().empty());
  ASSERT_TRUE(standby->Begin(kDay + 1, {}).ok());
  EXPECT_EQ(standby->place(), (ReplicaPlace{kDay + 1, 0}));
}

TEST_F(StandbyLogTest, BeginsAnEmptyLogAnewIfTheLeadersBeginsWithOtherRows) {
  const NameMap<tplog::TableRows> carried = {{"nyse", {{"trade", 7}}}};
  auto leader = Leader(kDay, carried);
  {
    auto standby = *Standby();
    ASSERT_TRUE(standby->Begin(kDay, {}).ok());
  }
  auto standby = *Standby();
  ASSERT_TRUE(standby->Begin(kDay, carried).ok());
  ASSERT_TRUE(Append(*standby, Log(*leader, "nyse", 3, 1)).ok());
  ExpectSameLogs();
  EXPECT_FALSE(standby->Begin(kDay, carried).ok());
}

// Goal: no bytes from the network pass for a block. Method: flip each bit of a message in turn; it
// is refused, or it is parsed to something that differs from the block in a field only.
TEST_F(StandbyLogTest, RefusesDamagedMessagesByName) {
  const ByteBuffer body = tplog::UpdMessage("trade", 2);
  const std::span<const std::byte> segment = body;
  const tplog::TplogBlock::Rows counted{"trade", 2};
  ByteBuffer message =
      EncodeReplicaBlock(1, {kDay, 5}, {{&segment, 1}, 1, 17, "nyse", {&counted, 1}}).value();
  for (size_t bit = wire::kHeaderBytes * 8; bit < message.size() * 8; ++bit) {
    const std::byte mask{static_cast<uint8_t>(1u << (bit % 8))};
    message.data()[bit / 8] ^= mask;
    const absl::StatusOr<Value> value = wire::Decode(message.span().subspan(wire::kHeaderBytes));
    if (value.ok()) {
      const absl::StatusOr<ReplicaBlock> block = ParseReplicaBlock(*value);
      if (block.ok()) {
        EXPECT_EQ(AsText(block->bytes), AsText(body));
      }
      (void)ParseNextDay(*value);
      (void)ParseStart(*value);
    }
    message.data()[bit / 8] ^= mask;
  }
}

TEST(ReplicationMessages, TellARequestForTheReplicaFromOthers) {
  for (const std::string_view text : {".u.replica", ".u.replica[]"}) {
    EXPECT_TRUE(AsksForReplica(Value::String(text)));
  }
  EXPECT_TRUE(AsksForReplica(Value::List({Value::Symbol(".u.replica"), Value()})));
  EXPECT_TRUE(AsksForReplica(Value::List({Value::String(".u.replica")})));
  EXPECT_FALSE(AsksForReplica(Value::String(".u.replica[]`epoch")));
  EXPECT_FALSE(AsksForReplica(Value::List({Value::Symbol(".u.stats")})));
  EXPECT_FALSE(AsksForReplica(Value::List({})));
  EXPECT_FALSE(AsksForReplica(Value()));
}

TEST_F(StandbyLogTest, MessagesKeepWhatTheySay) {
  const ReplicaRequest request{"b", 3, kDay, {{0, 1}, {5, UINT64_MAX}}, {"b", "12ab"}};
  const Value said = RequestMessage(request);
  const auto parsed = ParseRequest(std::span(said.items()).subspan(1));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->name, "b");
  EXPECT_EQ(parsed->ends, request.ends);
  EXPECT_EQ(parsed->shard, request.shard);
  EXPECT_FALSE(parsed->clock_ns.has_value());
  for (const ShardId& shard : {ShardId(), request.shard}) {
    ReplicaRequest with_clock = request;
    with_clock.shard = shard;
    with_clock.clock_ns = -5;
    const Value all = RequestMessage(with_clock);
    const auto read = ParseRequest(std::span(all.items()).subspan(1));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->shard, shard);
    EXPECT_EQ(read->clock_ns, -5);
    for (const std::optional<int64_t> clock_ns : {std::optional<int64_t>(), std::optional(7L)}) {
      ReplicaRequest with_tables = with_clock;
      with_tables.clock_ns = clock_ns;
      with_tables.tables = "t time n\n";
      const Value told = RequestMessage(with_tables);
      const auto heard = ParseRequest(std::span(told.items()).subspan(1));
      ASSERT_TRUE(heard.ok()) << heard.status();
      EXPECT_EQ(heard->shard, shard);
      EXPECT_EQ(heard->clock_ns, clock_ns);
      EXPECT_EQ(heard->tables, "t time n\n");
    }
  }
  const ReplicaStart start{4, {kDay, 9}, {{"nyse", {{"trade", 7}, {"quote", 8}}}}};
  const auto answered = ParseStart(StartAnswer(start));
  ASSERT_TRUE(answered.ok()) << answered.status();
  EXPECT_EQ(answered->place, start.place);
  EXPECT_EQ(answered->carried, start.carried);
  const Value ack = AckMessage({4, {kDay, 9}});
  EXPECT_EQ(ParseAck(std::span(ack.items()).subspan(1))->place, start.place);
  EXPECT_FALSE(ParseAck(std::span(ack.items()).subspan(1))->clock_ns.has_value());
  for (const int64_t clock_ns : {int64_t{7}, kNullLong, kInfinityLong, -kInfinityLong}) {
    const Value with_clock = AckMessage({4, {kDay, 9}, clock_ns});
    const auto read = ParseAck(std::span(with_clock.items()).subspan(1));
    ASSERT_EQ(read.ok(), clock_ns == 7);
    if (read.ok()) EXPECT_EQ(read->clock_ns, 7);
  }
  EXPECT_FALSE(ParseAck({}).ok());
  EXPECT_FALSE(ParseRequest({}).ok());
  EXPECT_FALSE(ParseStart(Value()).ok());
}

}  // namespace
}  // namespace tickstack::tickerplant
