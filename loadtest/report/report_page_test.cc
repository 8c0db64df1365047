// Tests of what the report says: texts, the paper's rows, the story, failures, limits, and the
// page.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/status.h"
#include "loadtest/report/charts.h"
#include "loadtest/report/groups.h"
#include "loadtest/report/page.h"
#include "loadtest/report/paper.h"
#include "loadtest/report/story.h"
#include "loadtest/report/tables.h"
#include "loadtest/report/text.h"

namespace tickstack::loadtest::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

RecordedStack Stack(const std::string& name, const std::string& placement, double p99_ms = 50) {
  RecordedStack stack;
  stack.name = name;
  stack.placement = placement;
  Distribution& lag = stack.metrics[static_cast<size_t>(Metric::kQuoteBarLag)].whole;
  lag = {
      .count = 1000, .p50_ms = p99_ms / 2, .p99_ms = p99_ms, .p999_ms = p99_ms, .max_ms = p99_ms};
  stack.metrics[static_cast<size_t>(Metric::kAsof)].whole = {
      .count = 100, .p50_ms = p99_ms / 100, .p99_ms = 1, .p999_ms = 1, .max_ms = 1};
  stack.rows = {{.table = "quote", .offered = 10, .logged = 10, .captured = 10}};
  stack.captured_per_s = stack.offered_per_s = 48'000;
  return stack;
}

RecordedTest MakeTest(double batch_ms, double query_ms, std::vector<RecordedStack> stacks) {
  RecordedTest test;
  test.name = "test";
  test.batch_ms = batch_ms;
  test.query_ms = query_ms;
  test.seconds = 60;
  test.stacks = std::move(stacks);
  return test;
}

RunFiles RunOf(std::vector<RecordedTest> tests) {
  RunFiles run;
  run.name = "march2020";
  run.updates_per_s = 48'000;
  run.cores = 4;
  run.tests = std::move(tests);
  return run;
}

RunFiles TwoStacks() {
  return RunOf({MakeTest(50, 300, {Stack("a", "filesystem:/mnt", 80), Stack("b", "dram", 50)})});
}

// A copy of the run in the test data, with changes to its summary.
class Directory {
 public:
  Directory() {
    char name[] = "/tmp/report_test.XXXXXX";
    path_ = mkdtemp(name);
    std::filesystem::copy("tests/data/loadtest_run", path_);
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

  void Replace(const std::string& file, const std::string& from, const std::string& to) const {
    std::string text = Read(file);
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
      text.replace(at, from.size(), to);
    }
    std::ofstream(path_ + "/" + file) << text;
  }
  std::string Read(const std::string& file) const {
    std::ostringstream text;
    text << std::ifstream(path_ + "/" + file).rdbuf();
    return text.str();
  }

 private:
  std::string path_;
};

TEST(ReportText, EscapesWhatHtmlReads) {
  EXPECT_EQ("&lt;b&gt; &amp; &quot;x&quot; &#39;y&#39;", SafeHtml("<b> & \"x\" 'y'"));
  EXPECT_EQ("caf\xc3\xa9\n", SafeHtml("caf\xc3\xa9\n"));
  EXPECT_EQ(
      "a\xef\xbf\xbd"
      "b",
      SafeHtml("a\xff"
               "b"));                                           // Not UTF-8.
  EXPECT_EQ("\xef\xbf\xbd\xef\xbf\xbd", SafeHtml("\xe2\x82"));  // Cut short.
  EXPECT_EQ(
      "a\xef\xbf\xbd"
      "b",
      SafeHtml("a\x1b"
               "b"));  // A control character.
  EXPECT_EQ(
      "a\xef\xbf\xbd"
      "b",
      SafeHtml("a\xe2\x80\xae"
               "b"));                                           // U+202E turns the text.
  EXPECT_EQ("\xef\xbf\xbd\xef\xbf\xbd", SafeHtml("\xc0\x80"));  // An overlong zero.
}

TEST(ReportText, NoScriptEndsInAScript) {
  EXPECT_EQ("\"\\u003c/script>\\u003c!--\"", EscapeForScript("\"</script><!--\""));
}

TEST(ReportText, ShowsThreeDigitsAndAUnitThatFits) {
  EXPECT_EQ("36.5 ms", DurationText(36.5));
  EXPECT_EQ("50 ms", SettingText(50.0));
  EXPECT_EQ("2.4 s", SettingText(2400.0));
  EXPECT_EQ("30 min", SettingText(1'800'000.0));
  EXPECT_EQ("n/a", DurationText(std::nullopt));
  EXPECT_EQ("171 MiB", BytesText(171.0 * 0x1p20));
  EXPECT_EQ("n/a", BytesText(std::nullopt));
  EXPECT_EQ("1,234,567", CountText(1'234'567.0));
  EXPECT_EQ("1e+300", CountText(1e300));
  EXPECT_EQ("1.64x", RatioText(59.9, 36.5));
  EXPECT_EQ("2280x", RatioText(285'000, 125));
  EXPECT_EQ("< 0.01x", RatioText(5.77, 171'893));
  EXPECT_EQ("n/a", RatioText(5.0, 0.0));
  EXPECT_EQ("n/a", RatioText(std::nullopt, 1.0));
}

TEST(ReportPaper, MatchesTheTimersOfItsRows) {
  const auto name_of = [](double batch_ms, double query_ms, int64_t dram_rdbs, int64_t other_rdbs) {
    RecordedStack dram = Stack("a", "dram"), other = Stack("b", "filesystem:/mnt");
    dram.rdbs = dram_rdbs;
    other.rdbs = other_rdbs;
    const PaperRow* const row = MatchingPaperRow(MakeTest(batch_ms, query_ms, {dram, other}));
    return row == nullptr ? std::string() : std::string(row->name);
  };
  EXPECT_EQ("Test 1, 50/300", name_of(50, 300, 1, 1));
  EXPECT_EQ("Test 1, 50/50", name_of(50, 50, 1, 1));
  EXPECT_EQ("Test 1, 1000/50", name_of(1000, 50, 1, 1));
  EXPECT_EQ("Test 1, 50/20", name_of(50, 20, 1, 1));
  EXPECT_EQ("Test 2, 1000/50, 2 against 10 RDBs", name_of(1000, 50, 2, 10));
  EXPECT_EQ("", name_of(1000, 50, 2, 2));
  EXPECT_EQ("", name_of(50, 100, 1, 1));
  EXPECT_EQ("", name_of(50, 300, 2, 10));
  EXPECT_EQ(nullptr, MatchingPaperRow(MakeTest(50, 300, {Stack("a", "dram"), Stack("b", "dram")})));
}

TEST(ReportPaper, HasItsFinalFigures) {
  const PaperRow& row = PaperRows()[3];
  EXPECT_EQ(78'000, row.max_latency_ms.dram);
  EXPECT_EQ(870'000, row.max_latency_ms.optane);
  EXPECT_EQ(1080, PaperRows()[2].queries_per_minute.dram);
}

TEST(ReportGroups, DramIsWhatTheOthersAreComparedWith) {
  const RunFiles run = TwoStacks();
  const std::vector<Group> groups = GroupsOf(run.tests[0]);
  ASSERT_EQ(2u, groups.size());
  EXPECT_EQ("dram", groups[0].placement);
  EXPECT_EQ("filesystem:/mnt", groups[1].placement);
}

TEST(ReportGroups, ACountOfRdbsIsNoOtherPlace) {
  RecordedStack dram = Stack("a", "dram:2"), other = Stack("b", "filesystem:/mnt:10");
  dram.rdbs = 2;
  other.rdbs = 10;
  const RunFiles run = RunOf({MakeTest(1000, 50, {other, dram})});
  EXPECT_EQ("dram:2", GroupsOf(run.tests[0])[0].placement);
  EXPECT_THAT(StorySentence(run), HasSubstr("DRAM in 2 RDBs against filesystem in 10 RDBs"));
}

TEST(ReportGroups, AMeanLeavesOutWhatWasNotMeasured) {
  const RunFiles run = TwoStacks();
  Group group{.placement = "", .simulated = false, .stacks = {}};
  for (const RecordedStack& stack : run.tests[0].stacks) group.stacks.push_back(&stack);
  const Figure one = [](const RecordedStack& stack) {
    return stack.name == "a" ? std::optional(3.0) : std::nullopt;
  };
  EXPECT_EQ(3.0, MeanOf(group, one));
  EXPECT_EQ(3.0, WorstOf(group, one));
  EXPECT_EQ(std::nullopt, MeanOf(group, [](const RecordedStack&) { return std::nullopt; }));
}

TEST(ReportGroups, FreshnessIsThatOfTheLeastFresh) {
  RunFiles run = TwoStacks();
  EXPECT_EQ(Metric::kQuoteBarLag, FreshnessMetric(run.tests[0]));
  const auto set = [&](size_t stack, Metric metric, double p99_ms) {
    run.tests[0].stacks[stack].metrics[static_cast<size_t>(metric)].whole.p99_ms = p99_ms;
  };
  set(1, Metric::kTradeLag, 79);
  EXPECT_EQ(Metric::kQuoteBarLag, FreshnessMetric(run.tests[0]));
  set(1, Metric::kQuoteLag, 81);
  EXPECT_EQ(Metric::kQuoteLag, FreshnessMetric(run.tests[0]));
}

TEST(ReportCharts, ShowTheLeastFreshFirst) {
  RecordedTest test = MakeTest(50, 50, {Stack("a", "dram")});
  test.stacks[0].metrics[static_cast<size_t>(Metric::kTradeLag)].whole = {
      .count = 9, .p50_ms = 26, .p99_ms = 51, .p999_ms = 52, .max_ms = 53};
  EXPECT_THAT(ChartFigures(test, {}, 0), HasSubstr("data-metrics=\"trade_lag quote_bar_lag\""));
  test.stacks[0].metrics[static_cast<size_t>(Metric::kTradeLag)].whole.p99_ms = 49;
  EXPECT_THAT(ChartFigures(test, {}, 0), HasSubstr("data-metrics=\"quote_bar_lag trade_lag\""));
}

TEST(ReportPaper, ALatencyIsThatOfRowsWhereBarsAreAheadOfThem) {
  RecordedTest test = MakeTest(1000, 50, {Stack("a", "dram:2"), Stack("b", "filesystem:/mnt:10")});
  test.stacks[0].rdbs = 2;
  test.stacks[1].rdbs = 10;
  for (RecordedStack& stack : test.stacks) {
    stack.metrics[static_cast<size_t>(Metric::kQuoteBarLag)].last_minute.max_ms = 540;
    stack.metrics[static_cast<size_t>(Metric::kTradeLag)].last_minute.max_ms = 987;
  }
  const std::string table = PaperTable(RunOf({test}));
  EXPECT_THAT(table, HasSubstr("987 ms"));
  EXPECT_THAT(table, Not(HasSubstr("540 ms")));
}

TEST(ReportStory, SaysWhatWasComparedAndWhatCameOut) {
  EXPECT_EQ(
      "DRAM against filesystem, side by side at 48,000 updates/s for 1 min: 99 % of quotes reached "
      "the bars within 50.0 ms in DRAM and 80.0 ms in filesystem (batches leave every 50 ms), an "
      "as-of "
      "join took 500 us in DRAM and 800 us in filesystem, and none of 20 rows was lost.",
      StorySentence(TwoStacks()));
}

// Goal: the headline claims no more than `compare` would judge: 10 values beyond a figure.
TEST(ReportStory, TooFewValuesForAFigureMeanAnotherFigure) {
  RunFiles run = TwoStacks();
  Distribution& lag =
      run.tests[0].stacks[0].metrics[static_cast<size_t>(Metric::kQuoteBarLag)].whole;
  lag.count = 999;
  EXPECT_THAT(StorySentence(run),
              HasSubstr("half of quotes reached the bars within 25.0 ms in DRAM and 40.0 ms in "
                        "filesystem (a test this short has too few values for 99 %; batches"));
  lag.count = 19;
  lag.max_ms = 81;
  EXPECT_THAT(StorySentence(run),
              HasSubstr("all that were measured of quotes reached the bars within 50.0 ms in DRAM "
                        "and 81.0 ms in filesystem (a test"));
  run.tests[0].stacks[1].metrics[static_cast<size_t>(Metric::kAsof)].whole.count = 19;
  EXPECT_THAT(StorySentence(run), Not(HasSubstr("as-of join")));
}

// Goal: tables judge as the headline does.
TEST(ReportTables, AFigureOfTooFewValuesIsGreyAndHasNoRatio) {
  RunFiles run = TwoStacks();
  const auto row_of = [&run](const std::string& heading) {
    const std::string table = SideBySideTable(run.tests[0], 0);
    const size_t begin = table.find("<th scope=\"row\">" + heading + "</th>");
    return table.substr(begin, table.find("</tr>", begin) - begin);
  };
  EXPECT_THAT(row_of("99 % within"), HasSubstr("<td>1.60x</td>"));
  EXPECT_THAT(row_of("99 % within"), Not(HasSubstr("quiet")));
  // The as-of joins have 100 values each: enough for the median only.
  EXPECT_THAT(row_of("as-of join, median"), HasSubstr("<td>1.60x</td>"));
  EXPECT_THAT(row_of("as-of join, 99 % within"), Not(HasSubstr("1.00x")));
  EXPECT_THAT(row_of("as-of join, 99 % within"),
              HasSubstr("<td><span class=\"quiet\">too few values</span></td>"));
  Distribution& lag =
      run.tests[0].stacks[0].metrics[static_cast<size_t>(Metric::kQuoteBarLag)].whole;
  lag.count = 999;
  EXPECT_THAT(row_of("99 % within"), HasSubstr("<span class=\"quiet\">80.0 ms</span>"));
  EXPECT_THAT(row_of("99 % within"), HasSubstr("<td>50.0 ms</td>"));
  EXPECT_THAT(row_of("99 % within"), Not(HasSubstr("1.60x")));
  EXPECT_THAT(row_of("median"), HasSubstr("1.60x"));
  lag.count = 1000;
  EXPECT_THAT(PercentileTable(run.tests[0], 0),
              HasSubstr("<td>80.0 ms</td><td><span class=\"quiet\">80.0 ms</span></td>"));
}

TEST(ReportTables, TheQueryBesideThePaperNeedsEnoughValues) {
  RunFiles run = TwoStacks();
  EXPECT_THAT(PaperTable(run), HasSubstr("too few values"));
  for (RecordedStack& stack : run.tests[0].stacks) {
    Distribution& query = stack.metrics[static_cast<size_t>(Metric::kQuery)].last_minute;
    query.count = 20;
    query.p50_ms = 3;
  }
  EXPECT_THAT(PaperTable(run), Not(HasSubstr("too few values")));
}

TEST(ReportPaper, SaysHowManyRowsThereWereInBoth) {
  RunFiles run = TwoStacks();
  EXPECT_THAT(PaperTable(run), Not(HasSubstr("Rows of each RDB")));
  run.tests[0].prestress_quotes = 20'000'000;
  run.tests[0].prestress_trades = 2'000'000;
  EXPECT_THAT(PaperTable(run),
              HasSubstr("Rows of each RDB at the beginning: 20,000,000 quotes and 2,000,000 trades "
                        "here, 650,000,000 and 85,000,000 in the paper"));
}

TEST(ReportStory, ATmpfsIsDram) {
  RunFiles run =
      RunOf({MakeTest(50, 300, {Stack("a", "filesystem:/dev/shm"), Stack("b", "dram")})});
  EXPECT_THAT(StorySentence(run),
              HasSubstr("DRAM against filesystem (tmpfs, which is DRAM), side by side"));
  EXPECT_THAT(SideBySideTable(run.tests[0], 0), HasSubstr("DRAM (tmpfs)"));
  RecordedStack& stack = run.tests[0].stacks[0];
  stack.placement = "filesystem:/mnt";
  EXPECT_FALSE(IsOnTmpfs(stack));
  stack.tiers.resize(1);
  stack.tiers[0].filesystem = "tmpfs";
  EXPECT_TRUE(IsOnTmpfs(stack));
  stack.simulated = true;
  EXPECT_FALSE(IsOnTmpfs(stack));
}

// Goal: a phone shows the run's own figures first; the paper's are a swipe away.
TEST(ReportPaper, ThisRunIsInTheFirstColumns) {
  const std::string table = PaperTable(TwoStacks());
  EXPECT_LT(table.find("this run, on this machine"), table.find("as published"));
  EXPECT_LT(table.find("filesystem:/mnt"), table.find(">Optane<"));
}

TEST(ReportStory, TellsOfTheHardestTest) {
  RunFiles run = RunOf({MakeTest(50, 300, {Stack("a", "dram", 51)}),
                        MakeTest(50, 20, {Stack("a", "dram", 90)}),
                        MakeTest(1000, 50, {Stack("a", "dram", 1002)})});
  run.tests[1].name = "50/20";
  EXPECT_THAT(StorySentence(run), HasSubstr("(the hardest of 3 tests: 50/20)"));
  EXPECT_THAT(StorySentence(run), HasSubstr("within 90.0 ms ("));
}

TEST(ReportStory, OfASearchItIsTheHighestRate) {
  RunFiles run = TwoStacks();
  run.maxima.resize(2);
  run.maxima[0].stack = "dram-1";
  run.maxima[0].updates_per_s = 3'000'000;
  run.maxima[0].below_ms = 100;
  run.maxima[1].stack = "second-1";
  run.maxima[1].broke = "p99 of quote_lag was 120 ms";
  EXPECT_EQ(
      "dram-1 sustained 3,000,000 updates/s with a latency below 100 ms. second-1 sustained no "
      "rate "
      "that was tried; what the next step broke: p99 of quote_lag was 120 ms.",
      StorySentence(run));
}

TEST(ReportStory, FallsBackToWhatWasMeasured) {
  RunFiles run = RunOf({MakeTest(50, 300, {Stack("a", "dram")})});
  auto& metrics = run.tests[0].stacks[0].metrics;
  metrics[static_cast<size_t>(Metric::kTradeLag)] =
      metrics[static_cast<size_t>(Metric::kQuoteBarLag)];
  metrics[static_cast<size_t>(Metric::kQuoteBarLag)] = {};
  EXPECT_THAT(StorySentence(run), HasSubstr("99 % of trades could be queried within 50.0 ms"));
  metrics = {};
  EXPECT_THAT(StorySentence(run), HasSubstr("freshness was not measured"));
  EXPECT_EQ("The run has no tests.", StorySentence(RunOf({})));
}

TEST(ReportStory, LostRowsAreNotHidden) {
  RunFiles run = TwoStacks();
  run.tests[0].stacks[0].rows[0].captured = 9;
  EXPECT_THAT(StorySentence(run), HasSubstr("ROWS ARE MISSING"));
  EXPECT_THAT(Failures(run), ElementsAre("Test test: stack a: rows of quote differ: 10 offered, 10 "
                                         "logged, 9 captured."));
  run.tests[0].stacks[0].rows[0].captured.reset();
  EXPECT_THAT(StorySentence(run), HasSubstr("not all rows were counted"));
}

TEST(ReportStory, FailuresBeginWithTheRuns) {
  RunFiles run = TwoStacks();
  EXPECT_TRUE(Failures(run).empty());
  run.failed = true;
  run.reason = "a died";
  run.tests[0].stacks[1].failed = true;
  EXPECT_THAT(Failures(run), ElementsAre("The run failed: a died", "Test test: stack b failed."));
}

TEST(ReportLimits, NameWhatWasSaturated) {
  RunFiles run = TwoStacks();
  RecordedStack& stack = run.tests[0].stacks[0];
  stack.captured_per_s = 40'000;
  stack.processes.resize(2);
  stack.processes[0].name = "rdb";
  stack.processes[0].cpu_s = 60 * 2.0;
  stack.processes[1].name = "feed";
  stack.processes[1].cpu_s = 60 * 1.8;
  stack.tiers.resize(2);
  stack.tiers[0].name = "pmem";
  stack.tiers[0].kind = "filesystem";
  stack.tiers[0].high_water = 95;
  stack.tiers[0].capacity = 100;
  stack.tiers[1] = stack.tiers[0];
  stack.tiers[1].name = "dram";
  stack.tiers[1].high_water = 50;
  TestSeries series;
  series.stacks.resize(2);
  Series& lag = series.stacks[0].metrics[static_cast<size_t>(Metric::kQuoteBarLag)];
  for (int i = 0; i < 30; ++i)
    lag.push_back({.least = 1, .most = 50.0f + 10.0f * static_cast<float>(i)});
  std::string all;
  for (const Limit& limit : Limits(run, run.tests[0], series)) {
    if (limit.reached) all += limit.text + "\n";
  }
  EXPECT_THAT(all, HasSubstr("a captured 40,000 rows/s of the 48,000 that were asked for"));
  EXPECT_THAT(all, HasSubstr("kept 3.80 of 4 cores busy (95 %)"));
  EXPECT_THAT(all, HasSubstr("rdb of a kept 2.00 cores busy"));
  EXPECT_THAT(all, HasSubstr("Tier pmem of a: 95 B of 100 B at the most (95 %)"));
  EXPECT_THAT(all, HasSubstr("a fell behind: its latency grew from 100 ms"));
  EXPECT_THAT(all, Not(HasSubstr("Tier dram")));
}

TEST(ReportLimits, SayThatThereWasRoom) {
  RunFiles run = TwoStacks();
  TestSeries series;
  series.stacks.resize(2);
  series.stacks[0].metrics[static_cast<size_t>(Metric::kQuoteBarLag)] =
      Series(30, {.least = 1, .most = 51});
  run.tests[0].relay = {.count = 12, .p50_ms = 0.08, .p99_ms = 0.4, .p999_ms = 3, .max_ms = 8};
  std::string all;
  for (const Limit& limit : Limits(run, run.tests[0], series)) {
    EXPECT_FALSE(limit.reached) << limit.text;
    all += limit.text + "\n";
  }
  EXPECT_THAT(all,
              HasSubstr("a bare relay beside the stacks took 80.0 us in the median, 99 % within "
                        "400 us, 8.00 ms at the most"));
}

TEST(ReportCharts, ACurveEndsWithTheLongest) {
  MetricResult metric;
  metric.histogram = {{1, 500}, {2, 400}, {3, 90}, {7.5, 10}};
  metric.whole = {.count = 1000, .p50_ms = 1, .p99_ms = 3, .p999_ms = 7.5, .max_ms = 7.2};
  const std::vector<double> curve = QuantileCurve(metric);
  EXPECT_EQ(1, curve.at(0));   // 0 %
  EXPECT_EQ(2, curve.at(12));  // 90 %
  EXPECT_EQ(3, curve.at(24));  // 99 %
  EXPECT_EQ(7.2, curve.back());
  EXPECT_EQ(38u, curve.size());  // 99.9 % is entry 36.
  EXPECT_TRUE(QuantileCurve({}).empty());
}

TEST(ReportTables, ARowHasAsManyCellsAsTheHead) {
  const RunFiles run = TwoStacks();
  for (const std::string& table :
       {SideBySideTable(run.tests[0], 0), PercentileTable(run.tests[0], 0),
        RowsTable(run.tests[0], 0), PaperTable(run)}) {
    const std::string head = table.substr(0, table.find("</thead>"));
    const std::string last_head = head.substr(head.rfind("<tr>"));
    const auto count = [](const std::string& text, const std::string& what) {
      size_t found = 0;
      for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++found;
      return found;
    };
    const size_t columns = count(last_head, "</th>") + count(last_head, "</td>");
    for (size_t at = table.find("<tbody>");
         (at = table.find("<tr><th scope=\"row\">", at)) != std::string::npos; ++at) {
      const std::string row = table.substr(at, table.find("</tr>", at) - at);
      ASSERT_EQ(columns, count(row, "</th>") + count(row, "</td>")) << row;
    }
    EXPECT_EQ(count(table, "<tbody>"), count(table, "</tbody>"));
  }
  EXPECT_EQ("",
            PaperTable(RunOf({MakeTest(7, 7, {Stack("a", "dram"), Stack("b", "filesystem:/m")})})));
}

TEST(Report, IsOneFileWithoutANetwork) {
  const Directory directory;
  ASSERT_TRUE(WriteReport(directory.path()).ok());
  const std::string page = directory.Read("report.html");
  EXPECT_LT(page.size(), 1'000'000u);
  EXPECT_THAT(page, HasSubstr("as published, on their hardware"));
  EXPECT_THAT(page, HasSubstr("MIT licence"));
  EXPECT_THAT(page, Not(HasSubstr(" src=")));
  EXPECT_THAT(page, Not(HasSubstr("href=\"http")));
  EXPECT_THAT(page, Not(HasSubstr("FAILED")));
  EXPECT_THAT(page, Not(HasSubstr("SIMULATED")));
  EXPECT_FALSE(std::filesystem::exists(directory.path() + "/report.html.tmp"));
}

// Goal: no text of a file becomes markup or script. Method: hostile names in all three files.
TEST(Report, EscapesAllTextsOfFiles) {
  const Directory directory;
  const std::string evil = "</script><img src=x onerror=alert(1)>";
  directory.Replace("summary.json", "second-1", evil + "\\u2028");
  directory.Replace("samples.csv", "second-1", evil + "\xe2\x80\xa8");
  directory.Replace("summary.json", "filesystem:/mnt/second", "<b>\\\"'&");
  directory.Replace("summary.json", "\"command\":\"", "\"command\":\"<u>");
  directory.Replace("summary.json", "\"name\":\"march2020\"", "\"name\":\"<i>\"");
  directory.Replace("environment.json", "tmpfs", "<tmpfs>");
  directory.Replace("environment.json", "memkind", "<s>");
  const absl::StatusOr<std::string> page = ReportPage(directory.path());
  ASSERT_TRUE(page.ok()) << page.status();
  const size_t scripts = page->find("<script>");  // Only built-in text follows it.
  const std::string ours = page->substr(page->find("<body>"), scripts - page->find("<body>"));
  for (const char* markup : {"<img", "<b>\"", "<u>", "<i>", "<tmpfs>", "<s>"}) {
    EXPECT_THAT(ours, Not(HasSubstr(markup)));
  }
  const size_t data = ours.find("id=\"data\">");
  EXPECT_EQ(ours.find("</script>", data), ours.rfind("</script>"));
  EXPECT_THAT(ours.substr(data), Not(HasSubstr("\xe2\x80\xa8")));
}

TEST(Report, FailuresComeFirstAndSimulationIsMarked) {
  const Directory directory;
  directory.Replace("summary.json", "\"outcome\":\"ok\",\"reason\":\"\",\"profile\"",
                    "\"outcome\":\"failed\",\"reason\":\"rdb <killed>\",\"profile\"");
  directory.Replace("summary.json", "\"placement\":\"filesystem:/mnt/second\",\"simulated\":false",
                    "\"placement\":\"simulate:optane:/mnt\",\"simulated\":true");
  const absl::StatusOr<std::string> page = ReportPage(directory.path());
  ASSERT_TRUE(page.ok()) << page.status();
  const size_t failed = page->find("rdb &lt;killed&gt;"), story = page->find("class=\"story\"");
  ASSERT_NE(std::string::npos, failed);
  EXPECT_LT(failed, story);
  EXPECT_THAT(*page, HasSubstr("optane (SIMULATED)"));
  EXPECT_THAT(*page, HasSubstr("second-1 <span class=\"simulated\">SIMULATED</span>"));
}

// Files of older runs have no such figures, so the report has no table of them.
TEST(Report, ShowsWhatProcessesShareIfItWasLookedAt) {
  const Directory directory;
  EXPECT_THAT(*ReportPage(directory.path()), Not(HasSubstr("each page once")));
  directory.Replace("summary.json", "\"feed\":{",
                    "\"feed\":{\"pss_max\":7340032,\"pss_anonymous\":1048576,"
                    "\"pss_file\":2097152,\"pss_shared\":null,");
  const absl::StatusOr<std::string> page = ReportPage(directory.path());
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(*page, HasSubstr("Memory of the processes, each page once"));
  EXPECT_THAT(*page, HasSubstr("all processes, each page once"));
  EXPECT_THAT(*page, HasSubstr("7.00 MiB"));
}

TEST(Report, ADamagedFileLeavesTheOldPage) {
  const Directory directory;
  ASSERT_TRUE(WriteReport(directory.path()).ok());
  const std::string before = directory.Read("report.html");
  directory.Replace("samples.csv", "50/50,dram-1", "60/60,dram-1");
  const absl::Status status = WriteReport(directory.path());
  EXPECT_EQ(absl::StatusCode::kDataLoss, status.code());
  EXPECT_THAT(std::string(Message(status)), HasSubstr("samples.csv: line "));
  EXPECT_EQ(before, directory.Read("report.html"));
}

}  // namespace
}  // namespace tickstack::loadtest::report
