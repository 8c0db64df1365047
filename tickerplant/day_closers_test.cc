#include "tickerplant/day_closers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tickstack::tickerplant {
namespace {

using testing::ElementsAre;

TEST(DayClosers, ADayWaitsForAllOfThem) {
  DayClosers closers;
  EXPECT_TRUE(closers.empty());
  closers.Add("minute", 7);
  closers.Add("hour", 8);
  EXPECT_THAT(closers.Begin(100), ElementsAre(7, 8));
  EXPECT_TRUE(closers.is_closing());
  EXPECT_TRUE(closers.OnClosed("hour", 8));
  EXPECT_TRUE(closers.MustWait(101));
  EXPECT_THAT(closers.Missing(), ElementsAre("minute"));
  EXPECT_FALSE(closers.OnClosed("somebody", 9));
  EXPECT_FALSE(closers.OnClosed("minute", 8)) << "a name of another connection";
  EXPECT_TRUE(closers.MustWait(101));
  EXPECT_TRUE(closers.OnClosed("minute", 7));
  EXPECT_FALSE(closers.MustWait(101));
  closers.End();
  EXPECT_FALSE(closers.is_closing());
  // The next day asks again.
  closers.Begin(200);
  EXPECT_THAT(closers.Missing(), ElementsAre("minute", "hour"));
}

TEST(DayClosers, ADayDoesNotWaitForWhoIsGoneOrTooLate) {
  DayClosers closers;
  closers.Add("minute", 7);
  closers.Add("hour", 8);
  closers.Begin(100);
  closers.OnConnectionGone(7);
  EXPECT_THAT(closers.Missing(), ElementsAre("hour"));
  EXPECT_TRUE(closers.MustWait(100 + DayClosers::kWaitNsMax - 1));
  EXPECT_FALSE(closers.MustWait(100 + DayClosers::kWaitNsMax));
}

TEST(DayClosers, ACloserMayHaveSeveralConnections) {
  DayClosers closers;
  closers.Add("minute", 7);
  closers.Add("minute", 9);
  EXPECT_THAT(closers.Begin(0), ElementsAre(7, 9));
  EXPECT_TRUE(closers.HasConnection(7));
  EXPECT_TRUE(closers.HasConnection(9));
  EXPECT_FALSE(closers.HasConnection(8));
  closers.OnConnectionGone(7);
  EXPECT_FALSE(closers.HasConnection(7));
  EXPECT_TRUE(closers.MustWait(1));
  EXPECT_TRUE(closers.OnClosed("minute", 9));
  EXPECT_FALSE(closers.MustWait(1));
  closers.Add("hour", 9);
  EXPECT_THAT(closers.Begin(2), ElementsAre(9)) << "a connection has one name";
  closers.OnConnectionGone(9);
  EXPECT_TRUE(closers.empty());
}

TEST(DayClosers, OneThatComesWhileADayIsClosingIsNotWaitedFor) {
  DayClosers closers;
  closers.Add("minute", 7);
  closers.Begin(0);
  closers.OnConnectionGone(7);
  closers.Add("minute", 9);
  EXPECT_FALSE(closers.MustWait(1));
}

}  // namespace
}  // namespace tickstack::tickerplant
