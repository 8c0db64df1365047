#include "feed/feed_stats.h"

#include <gtest/gtest.h>

#include <vector>

namespace tickstack::feed {
namespace {

Value Stats(std::string_view state, bool connected, int64_t rows, double per_s, double lag_ms,
            std::string_view error) {
  return Value::Dict(
      Value::Symbols({"state", "connected", "rows", "rows_per_s", "lag_ms", "error"}),
      Value::List({Value::Symbol(state), Value::Boolean(connected),
                   Value::Dict(Value::Symbols({"trade", "quote"}), Value::Longs({rows, 1})),
                   Value::Float(per_s), Value::Float(lag_ms), Value::String(error)}));
}

TEST(MergedStats, AddsRowsAndTakesTheWorstOfTheRest) {
  const std::vector<std::pair<std::string, Value>> both = {
      {"a", Stats("done", true, 3, 10, 1, "")}, {"b", Stats("held", false, 4, 5, 7, "no name")}};
  const Value merged = MergedStats(both);
  const std::vector<Value>& values = merged.values().items();
  EXPECT_EQ(values[0], Value::Symbol("held"));
  EXPECT_EQ(values[1], Value::Boolean(false));
  EXPECT_EQ(values[2], Value::Dict(Value::Symbols({"trade", "quote"}), Value::Longs({7, 2})));
  EXPECT_EQ(values[3], Value::Float(15));
  EXPECT_EQ(values[4], Value::Float(7));
  EXPECT_EQ(values[5], Value::String("shard b: no name"));
  EXPECT_EQ(merged.keys().symbols()[6], "shards");
  EXPECT_EQ(values[6], Value::Dict(Value::Symbols({"a", "b"}), Value::Symbols({"done", "held"})));
}

}  // namespace
}  // namespace tickstack::feed
