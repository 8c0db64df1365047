#include "monitor/monitor_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tickstack::monitor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

serve::Reasons Reasons(bool connected, int64_t age_ms) {
  serve::StatusFacts facts;
  facts.answers.push_back(
      {".monitor.stats", Value::Dict(Value::Symbols({"connected", "sample_age_ms"}),
                                     Value::Longs({connected, age_ms}))});
  return ReasonsOf(facts, {}, /*query_ns=*/300'000'000);
}

TEST(MonitorReasons, ASampleMayTakeItsIntervalAndTheLimit) {
  EXPECT_THAT(Reasons(true, 5300), IsEmpty());
  EXPECT_THAT(Reasons(true, 5301), ElementsAre("no sample has ended for 5.30 s"));
  EXPECT_THAT(Reasons(true, kNullLong), IsEmpty()) << "there was none";
}

TEST(MonitorReasons, ItNeedsAnRdb) {
  EXPECT_THAT(Reasons(false, 0), ElementsAre("it is not connected to the rdb"));
}

}  // namespace
}  // namespace tickstack::monitor
