#include "measure/query_suite/history_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tickstack::measure::query_suite {
namespace {

using testing::HasSubstr;

// Two answers, of 1 and 3 ms, in 4 ms.
HistoryRound Round(bool cold) {
  HistoryRound round{.query = "nbbo",
                     .clients = 2,
                     .cold = cold,
                     .rows = 5,
                     .times = {},
                     .read_bytes = 4'000'000,
                     .database_bytes = 100'000'000,
                     .cached_before = {0, 1'000'000},
                     .cached_after = {3'000'000, 2'000'000}};
  round.times.ns.Record(1'000'000);
  round.times.ns.Record(3'000'000);
  round.times.elapsed_ns = 4'000'000;
  return round;
}

TEST(HistoryResultsTest, ALineHasTimesAndRates) {
  const std::string text = RoundsPsv({Round(true)});
  const std::string line = text.substr(text.find('\n') + 1);
  EXPECT_THAT(line, HasSubstr("nbbo|2|cold|2|5|"));
  EXPECT_THAT(line, HasSubstr("|3.000|500.0|4.0|1000.0|1.0|storage|1.50\n"));
}

TEST(HistoryResultsTest, TheSpreadIsWhatEachDirectoryAdded) {
  EXPECT_EQ(SpreadPsv({Round(true), Round(false)}, {"/a", "/b"}),
            "query|clients|directory|read_mb|share_pct\n"
            "nbbo|2|/a|3.00|75.0\n"
            "nbbo|2|/b|1.00|25.0\n");
}

TEST(HistoryResultsTest, ServedByNamesWhereBytesCameFrom) {
  HistoryRound round = Round(true);
  EXPECT_EQ(round.ServedBy(), "storage");
  EXPECT_EQ(WarningOf(round), "");
  round.cached_before = {1'000'000, 1'000'000};  // 2 % were not dropped.
  EXPECT_EQ(round.ServedBy(), "both");
  EXPECT_THAT(WarningOf(round), HasSubstr("nbbo, 2 clients: 2 % of the database were in the page"));
  round.read_bytes = 0;
  EXPECT_EQ(round.ServedBy(), "page cache");
  round.on_memory = true;
  EXPECT_EQ(round.ServedBy(), "memory");
  EXPECT_EQ(WarningOf(round), "");
  EXPECT_EQ(Round(false).ServedBy(), "both");
}

TEST(HistoryResultsTest, NothingReadHasNoSkew) {
  HistoryRound round = Round(true);
  round.cached_after = round.cached_before;
  EXPECT_EQ(round.Skew(), 0);
}

}  // namespace
}  // namespace tickstack::measure::query_suite
