#include "monitor/latency_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time.h"

namespace tickstack::monitor {
namespace {

// A sample that ended `ns` after 2000, with the lag of the newest trade.
Sample SampleAt(int64_t ns, std::optional<int64_t> lag_ns) {
  Sample sample;
  sample.due_ns = ns - 2'000'000;
  sample.end_ns = ns;
  sample.tables = {{.newest_ns = {}, .lag_ns = lag_ns, .rows = {}}};
  return sample;
}

TEST(LatencyHistory, HasTheSlowestOfEachSecondThatIsOver) {
  LatencyHistory history({"trade"});
  EXPECT_EQ(history.Json(9), R"({"names":["trade_lag","asof","query"],"seconds":[]})");
  history.Take(SampleAt(100'000'000, 3'000'000));
  history.Take(SampleAt(900'000'000, 1'500'000));
  EXPECT_THAT(history.Json(9), testing::HasSubstr("\"seconds\":[]"));
  history.Take(SampleAt(kNsPerSecond, std::nullopt));
  EXPECT_THAT(history.Json(9), testing::EndsWith("[[946684800,3.000,null,2.000]]}"));
  history.Take(SampleAt(2 * kNsPerSecond, 1));
  EXPECT_THAT(history.Json(9), testing::EndsWith(",[946684801,null,null,2.000]]}"));
  EXPECT_THAT(history.Json(1), testing::HasSubstr("\"seconds\":[[946684801,"));
}

TEST(LatencyHistory, IsBounded) {
  LatencyHistory history({"trade"});
  for (int64_t second = 0; second < 1000; ++second) {
    history.Take(SampleAt(second * kNsPerSecond, 1));
  }
  const std::string json = history.Json(SIZE_MAX);
  EXPECT_EQ(static_cast<size_t>(std::count(json.begin(), json.end(), '[')),
            LatencyHistory::kSecondsMax + 2);
  EXPECT_THAT(json, testing::HasSubstr("\"seconds\":[[946685499,"));
}

}  // namespace
}  // namespace tickstack::monitor
