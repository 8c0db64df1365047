#include "cli/top_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace tickstack::cli {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Value DictOf(std::initializer_list<std::pair<std::string_view, double>> entries) {
  SymbolVector names;
  std::vector<double> values;
  for (const auto& [name, value] : entries) {
    names.push_back(name);
    values.push_back(value);
  }
  return Value::Dict(Value::Symbols(std::move(names)),
                     Value::Vector(Type::kFloat, std::span<const double>(values)));
}

TopAnswer Answer(std::string name, std::string role, std::string_view source, int64_t seconds,
                 std::initializer_list<std::pair<std::string_view, double>> entries) {
  TopAnswer answer{std::move(name), std::move(role), "", {}, seconds * kNsPerSecond};
  answer.facts.answers.push_back({source, DictOf(entries)});
  return answer;
}

TopAnswer Plant(int64_t seconds, double rows, double published_seq = 0) {
  return Answer("tp", "tickerplant", ".u.stats", seconds,
                {{"rows", rows}, {"published_seq", published_seq}, {"subscribers", 2}});
}

TopAnswer Rdb(int64_t seconds, double rows, double seq = 0) {
  return Answer("rdb", "rdb", ".rdb.stats", seconds,
                {{"connected", 1}, {"live", 1}, {"rows", rows}, {"seq", seq}, {"bytes", 4096}});
}

StackFigures Figures(const std::vector<TopAnswer>& before, const std::vector<TopAnswer>& now) {
  return FiguresOf(before, now, {});
}

TEST(TopFigures, RatesAreDifferencesPerSecond) {
  const StackFigures figures =
      Figures({Plant(10, 1000), Rdb(10, 50)}, {Plant(12, 1500), Rdb(11, 80)});
  EXPECT_EQ(figures.processes[0].rows_in_per_s, 250);
  EXPECT_EQ(figures.processes[1].rows_in_per_s, 30);
  EXPECT_EQ(figures.processes[0].clients, 2);
  EXPECT_EQ(figures.processes[1].memory_bytes, 4096);
  EXPECT_THAT(figures.problems, IsEmpty());
}

TEST(TopFigures, WithoutAnEarlierAnswerOrAfterARestartThereAreNoRates) {
  EXPECT_EQ(Figures({}, {Plant(10, 1000)}).processes[0].rows_in_per_s, std::nullopt);
  EXPECT_EQ(Figures({Plant(9, 1001)}, {Plant(10, 1000)}).processes[0].rows_in_per_s, std::nullopt);
  EXPECT_EQ(Figures({Plant(10, 999)}, {Plant(10, 1000)}).processes[0].rows_in_per_s, std::nullopt);
  TopAnswer down{"tp", "tickerplant", "refused", {}, 0};
  EXPECT_EQ(Figures({down}, {Plant(10, 1000)}).processes[0].rows_in_per_s, std::nullopt);
}

TEST(TopFigures, AProcessThatDoesNotAnswerIsAProblem) {
  const TopAnswer down{"tp", "tickerplant", "connection refused", {}, 0};
  const TopAnswer silent{"rdb", "rdb", "no answer", {}, 0};
  const StackFigures figures = Figures({}, {down, silent});
  EXPECT_EQ(figures.processes[0].state, "down");
  EXPECT_EQ(figures.processes[1].state, "silent");
  EXPECT_FALSE(figures.processes[0].answers);
  EXPECT_THAT(figures.problems, ElementsAre("tp: connection refused", "rdb: no answer"));
}

TEST(TopFigures, StatesFollowTheConnectionToTheTickerplant) {
  const auto state = [](double connected, double live, double incomplete) {
    return Figures({},
                   {Answer("rdb", "rdb", ".rdb.stats", 1,
                           {{"connected", connected}, {"live", live}, {"incomplete", incomplete}})})
        .processes[0]
        .state;
  };
  EXPECT_EQ(state(1, 1, 0), "live");
  EXPECT_EQ(state(1, 0, 0), "replaying");
  EXPECT_EQ(state(0, 0, 0), "unconnected");
  EXPECT_EQ(state(1, 1, 1), "incomplete");
}

TEST(TopFigures, BehindIsCountedAgainstTheOnlyTickerplant) {
  StackFigures figures = Figures({}, {Plant(1, 0, 100), Rdb(1, 0, 90)});
  EXPECT_EQ(figures.processes[1].behind_messages, 10);
  figures = Figures({}, {Plant(1, 0, 100), Rdb(1, 0, 101)});
  EXPECT_EQ(figures.processes[1].behind_messages, 0);
  figures = Figures({}, {Plant(1, 0, 100), Plant(1, 0, 100), Rdb(1, 0, 90)});
  EXPECT_EQ(figures.processes[2].behind_messages, std::nullopt);
}

TEST(TopFigures, AChainedTickerplantShowsItsUpstream) {
  TopAnswer chained = Answer("c", "chained", ".u.stats", 12, {{"rows", 40}, {"behind_ms", 3}});
  chained.facts.answers.push_back(
      {".u.upstream",
       Value::Dict(Value::Symbols({"state", "connected", "behind_messages", "behind_ms", "error"}),
                   Value::List({Value::Symbol("reading"), Value::Long(1), Value::Long(9),
                                Value::Long(700), Value::String("")}))});
  const StackFigures figures =
      Figures({Answer("c", "chained", ".u.stats", 10, {{"rows", 20}})}, {chained});
  EXPECT_EQ(figures.processes[0].state, "reading");
  EXPECT_EQ(figures.processes[0].rows_in_per_s, 10);
  EXPECT_EQ(figures.processes[0].behind_messages, 9);
  EXPECT_EQ(figures.processes[0].lag_ms, 700);
  EXPECT_THAT(figures.problems, IsEmpty());
}

TEST(TopFigures, AGatewayShowsWhoAnswersBehindIt) {
  const auto gateway = [](int64_t time, double live) {
    return Answer("g", "gateway", ".gateway.stats", time,
                  {{"rdbs", 2},
                   {"rdbs_live", live},
                   {"hdbs", 1},
                   {"hdbs_live", 1},
                   {"shards", 2},
                   {"shards_live", live},
                   {"queries", 100.0 * static_cast<double>(time)},
                   {"query_ns_p50", 5e6},
                   {"clients", 3}});
  };
  StackFigures figures = Figures({gateway(1, 2)}, {gateway(3, 2)});
  EXPECT_EQ(figures.processes[0].state, "live");
  EXPECT_EQ(figures.processes[0].queries_per_s, 100);
  EXPECT_EQ(figures.processes[0].p50_ms, 5);
  EXPECT_EQ(figures.processes[0].clients, 3);
  EXPECT_THAT(figures.problems, IsEmpty());
  figures = Figures({}, {gateway(1, 1)});
  EXPECT_EQ(figures.processes[0].state, "1 of 2 rdbs, 1 of 1 hdbs");
  EXPECT_THAT(figures.problems, ElementsAre("g: a shard has no live rdb, or no hdb that answers"));
}

TEST(TopFigures, ABridgeShowsItsRowsAndLag) {
  const auto bridge = [](int64_t seconds, double live) {
    const auto n = static_cast<double>(seconds);
    return Answer("b", "bridge", ".bridge.stats", seconds,
                  {{"rows", 50 * n},
                   {"rows_written", 40 * n},
                   {"lag_ms", 7},
                   {"bytes_waiting", 64},
                   {"live", live}});
  };
  const StackFigures figures = Figures({bridge(1, 1)}, {bridge(2, 1)});
  EXPECT_EQ(figures.processes[0].rows_in_per_s, 50);
  EXPECT_EQ(figures.processes[0].rows_out_per_s, 40);
  EXPECT_EQ(figures.processes[0].lag_ms, 7);
  EXPECT_EQ(figures.processes[0].queued_bytes, 64);
  EXPECT_THAT(figures.problems, IsEmpty());
  EXPECT_THAT(Figures({}, {bridge(1, 0)}).problems, ElementsAre(HasSubstr("it is not live yet")));
}

TEST(TopFigures, ReasonsForNotBeingReadyAreProblems) {
  const StackFigures figures = Figures(
      {},
      {Answer("plant", "tickerplant", ".u.stats", 1, {{"behind_ms", 60'000}, {"behind_rows", 7}}),
       Answer("agg", "aggengine", ".agg.stats", 1, {{"connected", 0}})});
  EXPECT_THAT(figures.problems, ElementsAre(HasSubstr("plant: a subscriber is"),
                                            "agg: it is not connected to the tickerplant"));
}

TEST(TopFigures, TiersHaveTheirUseAndAFullOneIsAProblem) {
  TopAnswer rdb = Rdb(1, 0);
  rdb.facts.answers.push_back(
      {"tiers", Value::Table({"tier", "capacity", "used", "refused"},
                             {Value::Symbols(SymbolVector({"dram", "second"})),
                              Value::Longs({std::numeric_limits<int64_t>::max(), 1000}),
                              Value::Longs({500, 950}), Value::Longs({0, 3})})});
  const StackFigures figures = Figures({}, {rdb});
  ASSERT_EQ(figures.tiers.size(), 2U);
  EXPECT_EQ(figures.tiers[0].capacity_bytes, std::nullopt);
  EXPECT_EQ(figures.tiers[1].capacity_bytes, 1000);
  EXPECT_EQ(figures.tiers[1].refused, 3);
  EXPECT_THAT(figures.problems, ElementsAre("rdb: tier second is 95 % full"));
}

TEST(TopFigures, TheDayIsThatOfTheTickerplant) {
  TopAnswer plant = Plant(1, 0);
  plant.facts.answers.push_back({".u.d", Value::Date(*ParseDate("2020.03.09"))});
  EXPECT_EQ(Figures({}, {plant}).day, "2020.03.09");
}

// A foreign server may answer with other types, sizes and bytes.
TEST(TopFigures, StrangeAnswersGiveNoFigures) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  TopAnswer rdb = Answer("rdb", "rdb", ".rdb.stats", 1, {{"bytes", kInfinity}, {"rows", -1e300}});
  rdb.facts.answers.push_back({"tiers", Value::Long(1)});
  rdb.facts.answers.push_back({".rdb.stale", Value::String("x")});
  rdb.facts.answers.push_back({".rdb.latency", Value::List({})});
  TopAnswer feed{"feed", "feed", "", {}, 1};
  feed.facts.answers.push_back(
      {".feed.stats",
       Value::Dict(Value::Symbols(SymbolVector({"state", "error"})),
                   Value::List({Value::Symbol("failed"), Value::String("\033[2J")}))});
  const StackFigures figures = Figures({rdb, feed}, {rdb, feed});
  EXPECT_EQ(figures.processes[0].memory_bytes, std::nullopt);
  EXPECT_EQ(figures.processes[0].p50_ms, std::nullopt);
  EXPECT_THAT(figures.tiers, IsEmpty());
  EXPECT_THAT(figures.problems, Contains(HasSubstr("\\x1b[2J")));
}

}  // namespace
}  // namespace tickstack::cli
