#include "feed/sources/pace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/status.h"
#include "base/time.h"

namespace tickstack::feed {
namespace {

using testing::HasSubstr;

TEST(Pace, OneRateGoesOnForEver) {
  const Pace pace(1000);
  EXPECT_EQ(pace.DueNs(0), 0);
  EXPECT_EQ(pace.DueNs(5000), 5 * kNsPerSecond);
  EXPECT_EQ(pace.DueBy(-1), 0);
  EXPECT_EQ(pace.DueBy(0), 1);
  EXPECT_EQ(pace.DueBy(5 * kNsPerSecond), 5001);
}

TEST(Pace, PhasesFollowOneAnotherAndBeginAnew) {
  const absl::StatusOr<Pace> pace = Pace::Create({{0.9, 40'000}, {0.5, 0}, {0.1, 160'000}});
  ASSERT_TRUE(pace.ok()) << pace.status();
  EXPECT_EQ(pace->DueNs(35'999), 899'975'000);
  EXPECT_EQ(pace->DueNs(36'000), 1'400'000'000);
  EXPECT_EQ(pace->DueNs(36'016), 1'400'100'000);
  EXPECT_EQ(pace->DueNs(52'000), 1'500'000'000);
  EXPECT_EQ(pace->DueBy(1'000'000'000), 36'000) << "in the pause";
  EXPECT_EQ(pace->DueBy(1'500'000'000), 52'001);
}

// Goal: the two functions agree for any phases. Method: random phases, random updates.
TEST(Pace, WhatIsDueWhenAndHowManyAreDueByThenAgree) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    std::vector<PacePhase> phases;
    for (size_t i = 0; i < 1 + rng() % 4; ++i) {
      phases.push_back({0.001 * static_cast<double>(1 + rng() % 3000),
                        static_cast<double>(rng() % 4 == 0 ? 0 : rng() % 100'000)});
    }
    phases.push_back({0.05, 700.3});
    const absl::StatusOr<Pace> pace = Pace::Create(phases);
    ASSERT_TRUE(pace.ok()) << pace.status();
    for (int i = 0; i < 100; ++i) {
      const auto number = static_cast<int64_t>(rng() % 1'000'000);
      const int64_t due_ns = pace->DueNs(number);
      ASSERT_GT(pace->DueBy(due_ns), number);
      ASSERT_LE(pace->DueBy(due_ns - 1), number);
      ASSERT_LE(due_ns, pace->DueNs(number + 1));
    }
  }
}

TEST(Pace, RefusesPhasesThatAreNone) {
  EXPECT_THAT(Message(Pace::Create({}).status()), HasSubstr("expected 1 to 10000, found 0"));
  EXPECT_THAT(Message(Pace::Create({{0, 5}}).status()), HasSubstr("seconds 0: expected"));
  EXPECT_THAT(Message(Pace::Create({{1, -5}}).status()), HasSubstr("rate -5: expected"));
  EXPECT_THAT(Message(Pace::Create({{1, 0}}).status()), HasSubstr("an update in one of them"));
}

}  // namespace
}  // namespace tickstack::feed
