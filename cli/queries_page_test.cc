#include "cli/queries_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time.h"

namespace tickstack::cli {
namespace {

namespace suite = measure::query_suite;
using ::testing::HasSubstr;
using ::testing::Not;

suite::HistoryRound Round(size_t clients, bool cold, std::vector<int64_t> ns) {
  suite::HistoryRound round{.query = "nbbo",
                            .clients = clients,
                            .cold = cold,
                            .rows = 7,
                            .times = {},
                            .read_bytes = cold ? 3'000'000u : 0u,
                            .database_bytes = 40'000'000,
                            .cached_before = {0, 0},
                            .cached_after = {1'000'000, 3'000'000}};
  for (const int64_t each : ns) {
    round.times.ns.Record(each);
    round.times.elapsed_ns += each;
  }
  return round;
}

QueriesRun SomeRun() {
  QueriesRun run{.database = "years",
                 .begin = "2024.01.29D00:00:00",
                 .facts = {.dates = {8'794, 8'795}, .symbols = {"a", "b"}},
                 .directories = {"/disk0", "/disk1"},
                 .rounds = {Round(1, true, {9'000'000}), Round(1, false, {2'000'000, 2'000'000}),
                            Round(10, true, {50'000'000}), Round(10, false, {4'000'000})},
                 .seed = 5,
                 .seconds = 2,
                 .drop = "files"};
  for (const suite::HistoryQuery& query : suite::HistoryQueries()) {
    if (query.name == "nbbo") run.queries.push_back(&query);
  }
  return run;
}

TEST(QueriesPageTest, ShowsEveryRound) {
  const std::string page = QueriesPage(SomeRun());
  EXPECT_THAT(page, HasSubstr("1 query of 2 days from 2024.01.29 to 2024.01.30, asked by 1 and 10 "
                              "clients at a time."));
  // Clients and phase, then the bar, then the figures.
  EXPECT_THAT(page, HasSubstr("<th scope=\"row\">10 cold</th>"));
  EXPECT_THAT(page, HasSubstr("<td>50.0 ms</td><td>50.0 ms</td><td>50.0 ms</td><td>1</td>"
                              "<td>20.0</td><td>7</td><td>3.0</td><td>60.0</td><td>storage</td>"));
  EXPECT_THAT(page, HasSubstr("<td>2</td><td>500</td><td>7</td><td>0.0</td>"));
  // Cold and warm medians with 1 and 10 clients, and answers a second.
  EXPECT_THAT(page, HasSubstr("<th scope=\"row\">nbbo</th><td>9.00 ms</td><td>50.0 ms</td>"
                              "<td>2.00 ms</td><td>4.00 ms</td><td>500</td><td>250</td>"));
  EXPECT_THAT(page, HasSubstr("nbbo[`sym`ex`bid`ask;"));
}

TEST(QueriesPageTest, BarsHaveOneAxis) {
  const std::string page = QueriesPage(SomeRun());
  // From 1 to 100 ms.
  EXPECT_THAT(page, HasSubstr("<span>1 ms</span><span>10 ms</span><span>100 ms</span>"));
  EXPECT_THAT(page, HasSubstr("--decades:2"));
  EXPECT_THAT(page, HasSubstr("left:47.7"));  // log10(9) / 2
}

TEST(QueriesPageTest, DirectoriesShareTheWork) {
  const std::string page = QueriesPage(SomeRun());
  EXPECT_THAT(page, HasSubstr("/disk1"));
  EXPECT_THAT(page, HasSubstr("3.00 MB"));
  EXPECT_THAT(page, HasSubstr(" 75.0 %"));
  QueriesRun one = SomeRun();
  one.directories.resize(1);
  EXPECT_THAT(QueriesPage(one), Not(HasSubstr("id=\"spread\"")));
}

TEST(QueriesPageTest, AFailureAndWarningsComeBeforeTheFigures) {
  QueriesRun run = SomeRun();
  run.failure = "nbbo: client 3: rank";
  run.rounds[0].cached_before = {20'000'000, 0};
  const std::string page = QueriesPage(run);
  const size_t failure = page.find("nbbo: client 3: rank");
  const size_t warning = page.find("nbbo, 1 clients: 50 % of the database were in the page cache");
  const size_t figures = page.find("id=\"medians\"");
  ASSERT_NE(std::string::npos, failure);
  ASSERT_NE(std::string::npos, warning);
  EXPECT_LT(failure, figures);
  EXPECT_LT(warning, figures);
  EXPECT_THAT(QueriesPage(SomeRun()), Not(HasSubstr("FAILED")));
}

TEST(QueriesPageTest, NamesAreNotMarkup) {
  constexpr std::string_view kEvil = "</h1><script>fail()</script>";
  QueriesRun run = SomeRun();
  run.database = kEvil;
  run.failure = kEvil;
  run.directories = {std::string(kEvil), "/disk1"};
  EXPECT_THAT(QueriesPage(run), Not(HasSubstr("<script")));
}

TEST(QueriesPageTest, RoundsCanBeMissing) {
  QueriesRun run = SomeRun();
  run.rounds.resize(3);
  EXPECT_THAT(QueriesPage(run), HasSubstr("<td>2.00 ms</td><td></td><td>500</td><td></td>"));
  run.rounds.clear();
  EXPECT_THAT(QueriesPage(run), HasSubstr("No round was finished."));
}

}  // namespace
}  // namespace tickstack::cli
