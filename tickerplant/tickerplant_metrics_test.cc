#include "tickerplant/tickerplant_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tickstack::tickerplant {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

serve::StatusFacts Facts(int64_t behind_ms, int64_t overdue_ms, int64_t silent_ms) {
  serve::StatusFacts facts;
  facts.answers.push_back(
      {".u.stats", Value::Dict(Value::Symbols({"behind_rows", "behind_ms", "day_overdue_ms"}),
                               Value::Longs({3, behind_ms, overdue_ms}))});
  const Value feeds = Value::Dict(Value::Symbols({"nyse"}), Value::Longs({silent_ms}));
  facts.answers.push_back(
      {".u.activity", Value::Dict(Value::Symbols({"rows", "table_ms", "feed_ms"}),
                                  Value::List({feeds, feeds, feeds}))});
  return facts;
}

TEST(ReasonsOf, AQuietTickerplantIsReady) {
  EXPECT_THAT(ReasonsOf(Facts(5000, 60'000, 3'600'000), {}), IsEmpty());
}

TEST(ReasonsOf, ASubscriberMayBeBehindForALimitedTime) {
  EXPECT_THAT(ReasonsOf(Facts(5001, 0, 0), {}),
              ElementsAre("a subscriber is 5.00 s and 3 rows behind"));
  EXPECT_THAT(ReasonsOf(Facts(5001, 0, 0), {.behind_ns = 6 * kNsPerSecond}), IsEmpty());
}

TEST(ReasonsOf, ADayThatIsOverHasToEnd) {
  EXPECT_THAT(ReasonsOf(Facts(0, 61'000, 0), {}),
              ElementsAre("the day has been over for 1 min 1 s and has not ended"));
}

TEST(ReasonsOf, AFeedMayBeSilentUnlessTheConfigurationLimitsIt) {
  const serve::HealthLimits limits{.feed_silent_ns = 10 * kNsPerSecond};
  EXPECT_THAT(ReasonsOf(Facts(0, 0, 10'000), limits), IsEmpty());
  EXPECT_THAT(ReasonsOf(Facts(0, 0, 12'000), limits),
              ElementsAre("feed nyse has sent no rows for 12.0 s, expected at most 10.0 s"));
}

serve::StatusFacts Chained(int64_t connected, std::string_view error, int64_t behind_ms) {
  serve::StatusFacts facts = Facts(0, 0, 0);
  facts.answers.push_back(
      {".u.upstream",
       Value::Dict(
           Value::Symbols({"address", "connected", "error", "behind_ms", "behind_messages"}),
           Value::List({Value::Symbol("up:5010"), Value::Long(connected), Value::String(error),
                        Value::Long(behind_ms), Value::Long(7)}))});
  return facts;
}

TEST(ReasonsOf, AChainedTickerplantNeedsItsUpstream) {
  EXPECT_THAT(ReasonsOf(Chained(1, "", 5000), {}), IsEmpty());
  EXPECT_THAT(ReasonsOf(Chained(0, "refused", 0), {}),
              ElementsAre("the upstream up:5010 is not connected: refused"));
  EXPECT_THAT(ReasonsOf(Chained(1, "no table trade", 0), {}),
              ElementsAre("the upstream up:5010 cannot be copied: no table trade"));
  EXPECT_THAT(ReasonsOf(Chained(1, "", 5001), {}),
              ElementsAre("5.00 s behind the upstream, with 7 messages to read"));
}

TEST(Metrics, OfAChainedTickerplantAreThoseOfATickerplantAndMore) {
  size_t own = 0;
  // A chained tickerplant leads nobody.
  for (; !Metrics()[own].name.starts_with("replication_"); ++own) {
    ASSERT_LT(own, ChainedMetrics().size());
    EXPECT_EQ(ChainedMetrics()[own].name, Metrics()[own].name);
  }
  EXPECT_GT(own, 20u);
  EXPECT_GT(ChainedMetrics().size(), own);
  EXPECT_EQ(ChainedMetrics().back().source, ".u.upstream");
}

}  // namespace
}  // namespace tickstack::tickerplant
