#include "measure/query_suite/history_queries.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/time.h"

namespace tickstack::measure::query_suite {
namespace {

using testing::HasSubstr;

constexpr uint64_t kSeed = 7;

// A database of `days` days from 2024.01.01, weekends included, and symbols S000, S001, ...
DatabaseFacts Facts(int days, int symbols) {
  DatabaseFacts facts{.dates = {},
                      .symbols = {},
                      .first_ns = 52'200 * kNsPerSecond,
                      .last_ns = 75'600 * kNsPerSecond};
  for (int day = 0; day < days; ++day) facts.dates.push_back(8766 + day);
  for (int symbol = 0; symbol < symbols; ++symbol) {
    facts.symbols.push_back(fmt::format("S{:03}", symbol));
  }
  return facts;
}

const HistoryQuery& Query(std::string_view name) {
  return *std::ranges::find(HistoryQueries(), name, &HistoryQuery::name);
}

// The cells (day, symbol) that a client's question is about.
std::set<std::pair<int32_t, std::string>> Cells(const Subject& subject) {
  std::set<std::pair<int32_t, std::string>> cells;
  for (int32_t date = subject.from; date <= subject.to; ++date) {
    for (const std::string& symbol : subject.symbols) cells.emplace(date, symbol);
  }
  return cells;
}

TEST(HistoryQueriesTest, ClientsWithoutOverlapShareNoRows) {
  const DatabaseFacts facts = Facts(30, 400);
  const HistoryQuery& query = Query("vwab_12_days");
  ASSERT_EQ(DistinctSubjects(query, facts), 200u);
  std::set<std::pair<int32_t, std::string>> all;
  for (size_t client = 0; client < 200; ++client) {
    const auto cells = Cells(SubjectOf(query, facts, kSeed, client));
    EXPECT_EQ(cells.size(), 12u * 4);
    all.insert(cells.begin(), cells.end());
  }
  EXPECT_EQ(all.size(), 200u * 12 * 4);
  EXPECT_EQ(Cells(SubjectOf(query, facts, kSeed, 200)), Cells(SubjectOf(query, facts, kSeed, 0)));
}

TEST(HistoryQueriesTest, OverlappingClientsAskTheSame) {
  const DatabaseFacts facts = Facts(30, 400);
  for (const std::string_view name : {"vwab_1_day_overlap", "vwab_12_days_overlap"}) {
    const HistoryQuery& query = Query(name);
    const std::string first = TextOf(query, SubjectOf(query, facts, kSeed, 0));
    EXPECT_EQ(TextOf(query, SubjectOf(query, facts, kSeed, 99)), first);
  }
}

TEST(HistoryQueriesTest, QuestionsDependOnTheSeed) {
  const DatabaseFacts facts = Facts(30, 400);
  for (const HistoryQuery& query : HistoryQueries()) {
    const std::string text = TextOf(query, SubjectOf(query, facts, kSeed, 3));
    EXPECT_EQ(TextOf(query, SubjectOf(query, facts, kSeed, 3)), text);
    EXPECT_NE(TextOf(query, SubjectOf(query, facts, kSeed + 1, 3)), text) << query.name;
  }
}

// Neither another compiler nor another library may change the questions of a seed.
TEST(HistoryQueriesTest, AQuestionIsTheSameEverywhere) {
  const DatabaseFacts facts = Facts(30, 400);
  const HistoryQuery& query = Query("vwab_12_days");
  EXPECT_EQ(
      TextOf(query, SubjectOf(query, facts, kSeed, 1)),
      "select vwab:bsize wavg bid by sym from quote where date within (2024.01.13;2024.01.24),"
      "sym in `S035`S162`S163`S192");
  const HistoryQuery& snapshot = Query("market_snapshot");
  EXPECT_THAT(TextOf(snapshot, SubjectOf(snapshot, facts, kSeed, 1)), HasSubstr("time:2024."));
}

TEST(HistoryQueriesTest, ASmallDatabaseIsOneWindowAndOneSymbolASet) {
  const DatabaseFacts facts = Facts(3, 2);
  const HistoryQuery& query = Query("year_high_bid");
  const Subject subject = SubjectOf(query, facts, kSeed, 0);
  EXPECT_EQ(subject.from, facts.dates.front());
  EXPECT_EQ(subject.to, facts.dates.back());
  EXPECT_EQ(subject.symbols.size(), 1u);
  EXPECT_EQ(DistinctSubjects(query, facts), 2u);
  EXPECT_THAT(TextOf(query, subject), HasSubstr("sym in (enlist`S00"));
}

TEST(HistoryQueriesTest, TimesAreWithinTheDay) {
  DatabaseFacts facts = Facts(30, 400);
  const HistoryQuery& query = Query("interval_statistics");
  for (size_t client = 0; client < 100; ++client) {
    const Subject subject = SubjectOf(query, facts, kSeed, client);
    EXPECT_GE(subject.begin_ns, facts.first_ns);
    EXPECT_LT(subject.end_ns, facts.last_ns);
  }
  facts.last_ns = facts.first_ns;  // A day of one trade.
  EXPECT_EQ(SubjectOf(query, facts, kSeed, 0).begin_ns, facts.first_ns);
}

TEST(HistoryQueriesTest, PlainSymbolsAreLiterals) {
  EXPECT_TRUE(IsPlainSymbol("BRK.B"));
  for (const std::string_view name : {"", "a b", "EUR/USD", "a`b", "a)", "a;b"}) {
    EXPECT_FALSE(IsPlainSymbol(name)) << name;
  }
}

}  // namespace
}  // namespace tickstack::measure::query_suite
