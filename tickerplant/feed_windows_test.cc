#include "tickerplant/feed_windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tickstack::tickerplant {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(FeedWindows, AFeedWaitsBeyondItsWindowUntilHalfOfItIsLeft) {
  FeedWindows windows;
  windows.Set(1, 1000);
  windows.Set(2, 5000);
  EXPECT_FALSE(windows.MustWait(1, 1000));
  EXPECT_TRUE(windows.MustWait(1, 1001));
  EXPECT_FALSE(windows.MustWait(2, 1001));
  EXPECT_EQ(windows.waiting(), 1u);
  EXPECT_THAT(windows.Release(501), IsEmpty());
  EXPECT_THAT(windows.Release(500), ElementsAre(1));
  EXPECT_THAT(windows.Release(0), IsEmpty()) << "it is read already";
}

TEST(FeedWindows, AFeedThatDidNotAskNeverWaits) {
  FeedWindows windows;
  EXPECT_FALSE(windows.MustWait(1, UINT64_MAX));
  windows.Set(1, 1000);
  EXPECT_TRUE(windows.MustWait(1, 2000));
  windows.Set(1, 0);
  EXPECT_FALSE(windows.MustWait(1, 2000));
  EXPECT_THAT(windows.Release(2000), ElementsAre(1)) << "it gave up its window while it waited";
  windows.Set(2, 1000);
  EXPECT_TRUE(windows.MustWait(2, 2000));
  windows.OnConnectionGone(2);
  EXPECT_EQ(windows.waiting(), 0u);
}

}  // namespace
}  // namespace tickstack::tickerplant
