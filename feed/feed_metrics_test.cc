#include "feed/feed_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tickstack::feed {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

serve::Reasons Reasons(std::string_view state, bool connected, double lag_ms = 0) {
  serve::StatusFacts facts;
  facts.answers.push_back(
      {".feed.stats",
       Value::Dict(Value::Symbols({"state", "connected", "lag_ms", "error"}),
                   Value::List({Value::Symbol(state), Value::Boolean(connected),
                                Value::Float(lag_ms), Value::String("gap: row 5")}))});
  return ReasonsOf(facts, {});
}

TEST(FeedReasons, AFeedThatPublishesInTimeIsReady) {
  EXPECT_THAT(Reasons("publishing", true, 5000), IsEmpty());
  EXPECT_THAT(Reasons("publishing", true, 5001), ElementsAre("rows are 5.00 s late"));
}

TEST(FeedReasons, ItNeedsATickerplantUntilItIsDone) {
  EXPECT_THAT(Reasons("asking", false), ElementsAre("it is not connected to the tickerplant"));
  EXPECT_THAT(Reasons("done", false), IsEmpty());
  EXPECT_THAT(Reasons("waiting", true, 60'000), IsEmpty()) << "it has not been started";
}

TEST(FeedReasons, FailuresAreNamed) {
  EXPECT_THAT(Reasons("failed", true), ElementsAre("the feed is failed: gap: row 5"));
  EXPECT_THAT(Reasons("held", true), ElementsAre("the feed is held: gap: row 5"));
}

}  // namespace
}  // namespace tickstack::feed
