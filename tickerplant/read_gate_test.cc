#include "tickerplant/read_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace tickstack::tickerplant {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using Reason = ReadGate::Reason;

class ReadGateTest : public testing::Test {
 protected:
  static HeldMessage Request(uint64_t connection, std::string_view text) {
    return {connection, wire::MessageKind::kSync, std::as_bytes(std::span(text))};
  }
  static std::vector<std::string> TextsOf(const std::vector<HeldMessage>& requests) {
    std::vector<std::string> texts;
    for (const HeldMessage& request : requests) texts.emplace_back(AsText(*request.body));
    return texts;
  }

  std::vector<std::pair<uint64_t, bool>> set_;  // What connections were told, in order.
  ReadGate gate_{
      [this](uint64_t connection, bool is_read) { set_.emplace_back(connection, is_read); }};
};

TEST_F(ReadGateTest, StopsAConnectionAndReadsItAgain) {
  EXPECT_TRUE(gate_.is_read(1));
  gate_.Stop(1, Reason::kDiskFull);
  gate_.Stop(1, Reason::kDiskFull);
  EXPECT_FALSE(gate_.is_read(1));
  EXPECT_TRUE(gate_.is_read(2));
  gate_.Release(1, Reason::kDiskFull);
  gate_.Release(1, Reason::kDiskFull);
  EXPECT_TRUE(gate_.is_read(1));
  EXPECT_THAT(set_, ElementsAre(Pair(1, false), Pair(1, true)));
}

// Goal: rows that are held for the next day are not overtaken because the disk has space again.
TEST_F(ReadGateTest, ReadsNoConnectionThatHasAnotherReason) {
  gate_.Stop(1, Reason::kDiskFull);
  gate_.Stop(1, Reason::kNextDay);
  gate_.Release(1, Reason::kDiskFull);
  EXPECT_FALSE(gate_.is_read(1));
  gate_.Release(1, Reason::kWindow);  // It does not have this one.
  EXPECT_FALSE(gate_.is_read(1));
  gate_.Release(1, Reason::kNextDay);
  EXPECT_THAT(set_, ElementsAre(Pair(1, false), Pair(1, true)));
}

TEST_F(ReadGateTest, EndsAReasonForAllConnections) {
  gate_.Stop(3, Reason::kStandbys);
  gate_.Stop(1, Reason::kStandbys);
  gate_.Stop(2, Reason::kStandbys);
  gate_.Stop(2, Reason::kWindow);
  gate_.Stop(4, Reason::kWindow);
  EXPECT_THAT(gate_.StoppedFor(Reason::kStandbys), ElementsAre(1, 2, 3));
  set_.clear();
  gate_.ReleaseAll(Reason::kStandbys);
  EXPECT_THAT(set_, ElementsAre(Pair(1, true), Pair(3, true)));
  EXPECT_THAT(gate_.StoppedFor(Reason::kStandbys), IsEmpty());
  EXPECT_THAT(gate_.StoppedFor(Reason::kWindow), ElementsAre(2, 4));
}

TEST_F(ReadGateTest, HoldsTheRequestsOfASubscriberThatIsBehind) {
  gate_.HoldRequest(Request(1, "a"));
  gate_.HoldRequest(Request(1, "b"));
  gate_.HoldRequest(Request(2, "c"));
  EXPECT_FALSE(gate_.is_read(1));
  EXPECT_THAT(TextsOf(gate_.TakeRequests(1)), ElementsAre("a", "b"));
  EXPECT_FALSE(gate_.is_read(1)) << "the caller has not taken them yet";
  EXPECT_THAT(TextsOf(gate_.TakeRequests(1)), IsEmpty());
  EXPECT_THAT(TextsOf(gate_.TakeRequests(3)), IsEmpty());
  gate_.Release(1, Reason::kBehind);
  EXPECT_TRUE(gate_.is_read(1));
  EXPECT_FALSE(gate_.is_read(2));
}

// Goal: a subscriber that falls behind again while its requests are taken gets its answers in their
// order.
TEST_F(ReadGateTest, ReadsNoConnectionWhoseRequestsAreHeldAgain) {
  gate_.HoldRequest(Request(1, "a"));
  gate_.TakeRequests(1);
  gate_.HoldRequest(Request(1, "a"));
  gate_.Release(1, Reason::kBehind);
  EXPECT_FALSE(gate_.is_read(1));
  EXPECT_THAT(TextsOf(gate_.TakeRequests(1)), ElementsAre("a"));
  gate_.Release(1, Reason::kBehind);
  EXPECT_TRUE(gate_.is_read(1));
}

TEST_F(ReadGateTest, ForgetsAConnectionThatHasEnded) {
  gate_.Stop(1, Reason::kDiskFull);
  gate_.HoldRequest(Request(1, "a"));
  set_.clear();
  gate_.OnConnectionGone(1);
  gate_.ReleaseAll(Reason::kDiskFull);
  gate_.Release(1, Reason::kBehind);
  EXPECT_THAT(TextsOf(gate_.TakeRequests(1)), IsEmpty());
  EXPECT_THAT(set_, IsEmpty());
}

// Goal: a connection is read if and only if it has no reason, whatever happens. Method: random
// steps beside a set of (connection, reason).
TEST_F(ReadGateTest, ReadsWhatHasNoReason) {
  constexpr Reason kReasons[] = {Reason::kDiskFull, Reason::kStandbys, Reason::kNextDay,
                                 Reason::kWindow};
  std::mt19937 rng(1);
  std::set<std::pair<uint64_t, Reason>> stopped;
  std::set<uint64_t> not_read;
  for (int step = 0; step < 10'000; ++step) {
    const uint64_t connection = rng() % 3;
    const Reason reason = kReasons[rng() % std::size(kReasons)];
    switch (rng() % 5) {
      case 0:
      case 1:
        gate_.Stop(connection, reason);
        stopped.insert({connection, reason});
        break;
      case 2:
      case 3:
        gate_.Release(connection, reason);
        stopped.erase({connection, reason});
        break;
      default:
        gate_.ReleaseAll(reason);
        std::erase_if(stopped, [=](const auto& entry) { return entry.second == reason; });
        break;
    }
    for (const auto& [told, is_read] : set_) {
      EXPECT_EQ(not_read.contains(told), is_read) << "it is told of changes only";
      if (is_read) {
        not_read.erase(told);
      } else {
        not_read.insert(told);
      }
    }
    set_.clear();
    for (uint64_t i = 0; i < 3; ++i) {
      const bool has_reason =
          std::ranges::any_of(kReasons, [&](Reason each) { return stopped.contains({i, each}); });
      ASSERT_EQ(gate_.is_read(i), !has_reason) << step;
      ASSERT_EQ(not_read.contains(i), has_reason) << step;
    }
  }
}

}  // namespace
}  // namespace tickstack::tickerplant
