#include "tickerplant/topic/topic_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tickerplant/tables_text.h"
#include "tickerplant/topic/topic_mark.h"
#include "tplog/tplog_for_test.h"
#include "wire/whole_message.h"

namespace tickstack::tickerplant {
namespace {

using Kind = TopicRecord::Kind;
using Effect = TopicState::Effect;

constexpr int32_t kDay = 7373;  // 2020.03.09.

TopicRecord ClaimAfter(int64_t after, std::string name = "a") {
  return {.kind = Kind::kClaim,
          .after = after,
          .name = std::move(name),
          .address = "a:5010",
          .instance = 7};
}
TopicRecord NextDay(uint64_t epoch, ReplicaPlace before, int32_t next, int64_t after = -1) {
  return {.kind = Kind::kNextDay, .epoch = epoch, .after = after, .place = before, .next = next};
}
TopicRecord Part(uint64_t epoch, ReplicaPlace at, uint32_t messages, uint32_t part = 0,
                 uint32_t parts = 1) {
  return {.kind = Kind::kPart,
          .epoch = epoch,
          .place = at,
          .messages = messages,
          .part = part,
          .parts = parts};
}

TEST(TopicState, AClaimCountsIfNobodyAppendedMeanwhile) {
  TopicState state;
  EXPECT_EQ(state.Apply(0, ClaimAfter(-1, "a")), Effect::kLeader);
  EXPECT_EQ(state.Apply(1, ClaimAfter(-1, "b")), Effect::kNone);
  EXPECT_EQ(state.leader(), "a");
  EXPECT_EQ(state.epoch(), 1u);
  EXPECT_EQ(state.Apply(2, ClaimAfter(1, "b")), Effect::kLeader);
  EXPECT_EQ(state.leader(), "b");
  EXPECT_EQ(state.epoch(), 3u);
}

TEST(TopicState, RecordsOfAnEarlierLeaderDoNotCount) {
  TopicState state;
  state.Apply(0, ClaimAfter(-1));
  EXPECT_EQ(state.Apply(1, NextDay(1, {kNullInt, 0}, kDay)), Effect::kNextDay);
  EXPECT_EQ(state.Apply(2, Part(1, {kDay, 0}, 2)), Effect::kBlock);
  EXPECT_EQ(state.Apply(3, ClaimAfter(2, "b")), Effect::kLeader);
  EXPECT_EQ(state.Apply(4, Part(1, {kDay, 2}, 1)), Effect::kNone);
  EXPECT_EQ(state.Apply(5, NextDay(1, {kDay, 2}, kDay + 1)), Effect::kNone);
  EXPECT_EQ(state.Apply(6, {.kind = Kind::kAlive, .epoch = 1}), Effect::kNone);
  EXPECT_EQ(state.Apply(7, {.kind = Kind::kResign, .epoch = 1}), Effect::kNone);
  EXPECT_EQ(state.Apply(8, Part(4, {kDay, 2}, 1)), Effect::kBlock);
  EXPECT_EQ(*state.place(), (ReplicaPlace{kDay, 3}));
}

TEST(TopicState, TheTablesAreThoseOfTheLastLeader) {
  TopicState state;
  state.Apply(0, ClaimAfter(-1));
  EXPECT_EQ(state.tables_crc(), 0u);
  TopicRecord tables{.kind = Kind::kTables, .epoch = 1, .tables = "t time n\n"};
  const absl::StatusOr<TopicRecord> parsed = ParseTopicRecord(EncodeTopicRecord(tables));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(state.Apply(1, *parsed), Effect::kTables);
  EXPECT_EQ(state.tables(), "t time n\n");
  EXPECT_EQ(TopicState(state.mark()).tables_crc(), state.tables_crc());
  state.Apply(2, ClaimAfter(1, "b"));
  EXPECT_EQ(state.tables_crc(), 0u);
  EXPECT_EQ(state.Apply(3, *parsed), Effect::kNone);
}

TEST(TopicState, SaysHowTablesDiffer) {
  const std::string one = TablesText({{*ParseSchema("t", "time n"), *ParseSchema("a", "s s|f f")}});
  EXPECT_EQ(one, "a s s | f f\nt time n\n");
  EXPECT_EQ(DescribeOtherTables(one, "t time n\n"), "table a is only here");
  EXPECT_EQ(DescribeOtherTables("t time n\n", one), "table a is only there");
  EXPECT_EQ(DescribeOtherTables("t time n\n", "t time p\n"),
            "table t is \"time p\" there, and \"time n\" here");
  EXPECT_EQ(DescribeOtherTables("0123abcd\n", "t time p\n"), "table t is only there");
  EXPECT_EQ(DescribeOtherTables("0123abcd\n", "01234567\n"), "the tables differ");
  // A peer may send anything.
  EXPECT_EQ(DescribeOtherTables("t time n\n", "t ", "at a", "at b"),
            "table t is \"\" at b, and \"time n\" at a");
  for (const char* const text : {"", "t", "\n", "\n\n", " ", "t time n"}) {
    EXPECT_NE(DescribeOtherTables("t time n\n", text), "") << text;
  }
}

TEST(TopicState, ABlockCountsWhenAllItsPartsFollow) {
  TopicState state;
  state.Apply(0, ClaimAfter(-1));
  state.Apply(1, NextDay(1, {kNullInt, 0}, kDay));
  EXPECT_EQ(state.Apply(2, Part(1, {kDay, 1}, 1)), Effect::kNone);  // Not at the end.
  EXPECT_EQ(state.Apply(3, Part(1, {kDay, 0}, 4, 0, 3)), Effect::kPart);
  EXPECT_EQ(state.mark().offset, 3);  // The block has to be read again.
  EXPECT_EQ(state.Apply(4, Part(9, {kDay, 0}, 4, 1, 3)), Effect::kNone);
  EXPECT_EQ(state.Apply(5, Part(1, {kDay, 0}, 4, 2, 3)), Effect::kNone);
  EXPECT_EQ(state.Apply(6, Part(1, {kDay, 0}, 4, 1, 3)), Effect::kPart);
  EXPECT_EQ(state.Apply(7, Part(1, {kDay, 0}, 4, 2, 3)), Effect::kBlock);
  EXPECT_EQ(*state.place(), (ReplicaPlace{kDay, 4}));
  EXPECT_EQ(state.mark().offset, 8);
}

// A next leader begins a block of its own: the parts of the other one are forgotten.
TEST(TopicState, PartsOfALostLeaderAreForgotten) {
  TopicState state;
  state.Apply(0, ClaimAfter(-1));
  state.Apply(1, NextDay(1, {kNullInt, 0}, kDay));
  state.Apply(2, Part(1, {kDay, 0}, 2, 0, 2));
  state.Apply(3, ClaimAfter(2, "b"));
  EXPECT_EQ(state.Apply(4, Part(4, {kDay, 0}, 2, 1, 2)), Effect::kNone);
  EXPECT_EQ(state.Apply(5, Part(4, {kDay, 0}, 1)), Effect::kBlock);
}

TEST(TopicState, KnowsWhichRecordsShowThatOthersAreMissing) {
  TopicState state;
  state.Apply(0, ClaimAfter(-1));
  state.Apply(1, NextDay(1, {kNullInt, 0}, kDay));
  state.Apply(2, Part(1, {kDay, 0}, 2));
  const TopicRecord beyond = Part(1, {kDay, 3}, 1), repeated = Part(1, {kDay, 0}, 2),
                    of_later_leader = Part(9, {kDay, 2}, 1);
  EXPECT_EQ(state.Apply(3, beyond), Effect::kNone);
  EXPECT_TRUE(state.HasLostTrackAt(beyond));
  EXPECT_EQ(state.Apply(4, repeated), Effect::kNone);
  EXPECT_FALSE(state.HasLostTrackAt(repeated));
  EXPECT_TRUE(state.IsRepeated(repeated));
  EXPECT_EQ(state.Apply(5, of_later_leader), Effect::kNone);
  EXPECT_TRUE(state.HasLostTrackAt(of_later_leader));
  EXPECT_EQ(state.Apply(6, ClaimAfter(5, "b")), Effect::kLeader);
  EXPECT_FALSE(state.HasLostTrackAt(Part(1, {kDay, 3}, 1)));  // The one before sent it.
}

// The first leader had five messages before the topic was there.
TEST(TopicState, IsWholeOnceTheLogOfTheFirstLeaderIsThere) {
  TopicState state;
  state.Apply(0, ClaimAfter(-1));
  EXPECT_FALSE(state.is_whole());
  EXPECT_EQ(state.Apply(1, NextDay(1, {kNullInt, 5}, kDay)), Effect::kNextDay);
  state.Apply(2, Part(1, {kDay, 0}, 3));
  EXPECT_FALSE(state.is_whole());
  EXPECT_FALSE(TopicState(state.mark()).is_whole());
  state.Apply(3, Part(1, {kDay, 3}, 2));
  EXPECT_TRUE(state.is_whole());
  state.Apply(4, NextDay(1, {kDay, 5}, kDay + 1));
  EXPECT_TRUE(state.is_whole());
}

TEST(TopicState, AResignedLeaderLeavesNobody) {
  TopicState state;
  state.Apply(0, ClaimAfter(-1));
  EXPECT_EQ(state.Apply(1, {.kind = Kind::kResign, .epoch = 1}), Effect::kResigned);
  EXPECT_EQ(state.epoch(), 0u);
  EXPECT_EQ(state.leader(), "");
  EXPECT_EQ(state.Apply(2, {.kind = Kind::kAlive, .epoch = 1}), Effect::kNone);
}

// Method: the records before offset 10 are gone.
TEST(TopicState, BeginsInTheMiddleWithADayThatProvesItself) {
  TopicState state;
  EXPECT_EQ(state.Apply(10, Part(4, {kDay, 7}, 1)), Effect::kNone);
  // At another place than its sender expected: somebody else may lead.
  EXPECT_EQ(state.Apply(11, NextDay(4, {kDay, 8}, kDay + 1, 9)), Effect::kNone);
  EXPECT_FALSE(state.place().has_value());
  EXPECT_EQ(state.Apply(12, NextDay(4, {kDay, 8}, kDay + 1, 11)), Effect::kNextDay);
  EXPECT_EQ(*state.place(), (ReplicaPlace{kDay + 1, 0}));
  EXPECT_EQ(state.epoch(), 4u);
  EXPECT_EQ(state.Apply(13, Part(4, {kDay + 1, 0}, 1)), Effect::kBlock);
}

TEST(TopicState, ADayFollowsTheWholeDayBefore) {
  TopicState state;
  state.Apply(0, ClaimAfter(-1));
  state.Apply(1, NextDay(1, {kNullInt, 0}, kDay));
  state.Apply(2, Part(1, {kDay, 0}, 2));
  EXPECT_EQ(state.Apply(3, NextDay(1, {kDay, 1}, kDay + 1)), Effect::kNone);
  EXPECT_EQ(state.Apply(4, NextDay(1, {kDay, 2}, kDay)), Effect::kNone);
  EXPECT_EQ(state.Apply(5, NextDay(1, {kDay, 2}, kDay + 3)), Effect::kNextDay);
  EXPECT_EQ(state.mark().day_offset, 5);
}

TEST(TopicRecord, IsParsedAsItWasEncoded) {
  const ByteBuffer bytes = tplog::UpdMessage("trade", 3);
  TopicRecord claim = ClaimAfter(41, "b");
  claim.shard = {"east", "0123456789abcdef"};
  TopicRecord part = Part(8, {kDay, 5}, 2, 1, 3);
  part.bytes = bytes;
  TopicRecord day = NextDay(8, {kDay, 5}, kDay + 1, 99);
  day.carried["nyse"]["trade"] = 12;
  for (TopicRecord record :
       {claim, part, day, TopicRecord{.kind = Kind::kAlive, .epoch = 3, .instance = 5},
        TopicRecord{.kind = Kind::kResign, .epoch = 3}}) {
    const ByteBuffer encoded = EncodeTopicRecord(record);
    const absl::StatusOr<TopicRecord> parsed = ParseTopicRecord(encoded);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(parsed->kind, record.kind);
    EXPECT_EQ(parsed->epoch, record.epoch);
    EXPECT_EQ(parsed->crc, record.crc);
    EXPECT_EQ(parsed->after, record.after);
    EXPECT_EQ(parsed->name, record.name);
    EXPECT_EQ(parsed->instance, record.instance);
    EXPECT_EQ(parsed->shard, record.shard);
    EXPECT_EQ(parsed->place, record.place);
    EXPECT_EQ(parsed->messages, record.messages);
    EXPECT_EQ(parsed->part, record.part);
    EXPECT_EQ(parsed->next, record.next);
    EXPECT_EQ(parsed->carried, record.carried);
    EXPECT_TRUE(std::ranges::equal(parsed->bytes, record.bytes));
  }
}

// Anybody may write into the topic. Method: each record is cut short, and changed at random places.
TEST(TopicRecord, RefusesOtherBytes) {
  const ByteBuffer bytes = tplog::UpdMessage("trade", 3);
  TopicRecord part = Part(8, {kDay, 5}, 2, 1, 3);
  part.bytes = bytes;
  TopicRecord day = NextDay(8, {kDay, 5}, kDay + 1, 99);
  day.carried["nyse"]["trade"] = 12;
  std::minstd_rand random(1);
  for (TopicRecord record : {ClaimAfter(41), part, day}) {
    const ByteBuffer encoded = EncodeTopicRecord(record);
    for (size_t size = 0; size < encoded.size(); ++size) {
      EXPECT_FALSE(ParseTopicRecord(encoded.span().first(size)).ok());
    }
    for (int i = 0; i < 2000; ++i) {
      ByteBuffer changed = encoded.Clone();
      changed.span()[random() % changed.size()] = static_cast<std::byte>(random());
      TopicState state;
      const absl::StatusOr<TopicRecord> parsed = ParseTopicRecord(changed);
      if (parsed.ok()) state.Apply(3, *parsed);  // Whatever it says.
    }
  }
  EXPECT_FALSE(ParseTopicRecord(AsBytes("garbage from elsewhere")).ok());
}

class TopicMarkTest : public tplog::TplogTest {};

TEST_F(TopicMarkTest, IsReadAsItWasWritten) {
  const std::string path = directory_ + "/sym.topic";
  ASSERT_TRUE(ReadTopicMark(path).ok());
  EXPECT_FALSE(ReadTopicMark(path)->has_value());
  const TopicMark mark{"cluster/t", {17, 4, "a", "host:5010", {kDay, 9}, 77, 3, 2, 1, 5}};
  ASSERT_TRUE(WriteTopicMark(path, mark).ok());
  const std::optional<TopicMark> read = *ReadTopicMark(path);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->topic, mark.topic);
  EXPECT_EQ(read->now.offset, 17);
  EXPECT_EQ(read->now.epoch, 4u);
  EXPECT_EQ(read->now.leader, "a");
  EXPECT_EQ(read->now.place, (ReplicaPlace{kDay, 9}));
  EXPECT_EQ(read->now.crc, 77u);
  EXPECT_EQ(read->now.least_seq, 3u);
  EXPECT_EQ(read->now.day_offset, 2);
  EXPECT_EQ(read->now.day_epoch, 1u);
  EXPECT_EQ(read->now.AtDay().offset, 2);
  EXPECT_EQ(read->now.AtDay().leader, "");  // That of epoch 1 is not known.
  // A power cut may leave anything.
  const std::string whole = Content(path);
  for (size_t size = 0; size < whole.size(); ++size) {
    Write(path, whole.substr(0, size));
    EXPECT_FALSE(ReadTopicMark(path)->has_value());
  }
}

}  // namespace
}  // namespace tickstack::tickerplant
