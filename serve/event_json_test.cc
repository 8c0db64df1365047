#include "serve/event_json.h"

#include <gtest/gtest.h>

namespace tickstack::serve {
namespace {

TEST(EventJson, HasTheAnswersAndTheDurations) {
  StatusFacts facts;
  EXPECT_EQ(FactsJson(facts), R"("facts":{},"durations":[])");
  facts.answers.push_back(
      {".x.stats", Value::Dict(Value::Symbols({"rows", "lag"}), Value::Longs({3, kNullLong}))});
  facts.answers.push_back({".x.tiers", Value::Table({"tier"}, {Value::Symbols({"a\"b"})})});
  facts.durations.push_back({"lag", "trade", {}});
  facts.durations[0].counts.of_bucket[1] = 7;
  facts.durations[0].counts.sum_ns = 9;
  EXPECT_EQ(FactsJson(facts),
            R"("facts":{".x.stats":{"rows":3,"lag":null},".x.tiers":[{"tier":"a\"b"}]},)"
            R"("durations":[{"source":"lag","label":"trade","counts":[0,7,0,0,0,0,0,0,0,0,0,0,0,0,)"
            R"(0,0,0,0,0,0,0,0,0,0,0,0,0,0],"sum_ns":9}])");
}

TEST(EventJson, TextsHaveQuotesAndNoLineEnds) { EXPECT_EQ(JsonText("a\"\n"), "\"a\\\"\\u000a\""); }

}  // namespace
}  // namespace tickstack::serve
