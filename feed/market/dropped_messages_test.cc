#include "feed/market/dropped_messages.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tickstack::feed::market {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class GapTexts final : public NoEvents {
 public:
  using NoEvents::On;
  std::vector<std::string> texts;

  void On(const Gap& gap) override {
    texts.push_back(fmt::format("{} {} {}-{} {} at {} from {} to {}", gap.channel, gap.session,
                                gap.first_seq, gap.last_seq, gap.closed, gap.closed_ns,
                                gap.first_time_ns, gap.last_time_ns));
  }
};

class DroppedMessagesTest : public testing::Test {
 protected:
  void Drop(uint64_t seq, int64_t recv_ns, std::string_view session = "s") {
    dropped_.Add(MergedMessage{.channel = "c", .session = session, .seq = seq, .recv_ns = recv_ns},
                 sink_);
  }

  DroppedMessages dropped_;
  GapTexts sink_;
};

TEST_F(DroppedMessagesTest, BecomeOneGapOfEachStream) {
  Drop(5, 10);
  Drop(1, 11, "t");
  Drop(6, 12);
  Gap gap;
  gap.channel = "c";
  gap.session = "s";
  gap.first_seq = 7;
  gap.last_seq = 9;
  gap.recv_ns = 13;
  dropped_.Add(gap, sink_);
  Drop(10, 14);
  Drop(0, 15);  // It has no number.
  EXPECT_THAT(sink_.texts, IsEmpty());
  dropped_.Close(20, sink_);
  EXPECT_THAT(sink_.texts,
              ElementsAre("c s 5-10 full at 20 from 10 to 14", "c t 1-1 full at 20 from 11 to 11"));
  sink_.texts.clear();
  dropped_.Close(30, sink_);
  EXPECT_THAT(sink_.texts, IsEmpty());
}

TEST_F(DroppedMessagesTest, ASessionThatStartsOverHasAGapOfItsOwn) {
  Drop(5, 10);
  Drop(1, 11);
  EXPECT_THAT(sink_.texts, ElementsAre("c s 5-5 full at 11 from 10 to 10"));
  dropped_.Close(20, sink_);
  EXPECT_EQ(sink_.texts.back(), "c s 1-1 full at 20 from 11 to 11");
}

}  // namespace
}  // namespace tickstack::feed::market
