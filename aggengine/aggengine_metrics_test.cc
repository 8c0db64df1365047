#include "aggengine/aggengine_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tickstack::aggengine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

serve::Reasons Reasons(bool connected, bool live, bool incomplete, int64_t refused) {
  serve::StatusFacts facts;
  facts.answers.push_back(
      {".agg.stats", Value::Dict(Value::Symbols({"connected", "live", "incomplete",
                                                 "messages_missing", "rows_refused"}),
                                 Value::Longs({connected, live, incomplete, 4, refused}))});
  return ReasonsOf(facts, {});
}

TEST(AggEngineReasons, ALiveEngineIsReady) {
  EXPECT_THAT(Reasons(true, true, false, 0), IsEmpty());
  EXPECT_THAT(Reasons(true, false, false, 0), ElementsAre(HasSubstr("it is behind")));
  EXPECT_THAT(Reasons(false, false, false, 0),
              ElementsAre("it is not connected to the tickerplant"));
}

TEST(AggEngineReasons, MissingRowsAreNamed) {
  EXPECT_THAT(
      Reasons(true, true, true, 0),
      ElementsAre("no bars are published, because 4 messages of the log could not be read"));
  EXPECT_THAT(Reasons(true, true, false, 7),
              ElementsAre("bars lack 7 rows, because a tier is full"));
}

}  // namespace
}  // namespace tickstack::aggengine
