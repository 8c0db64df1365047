// Tests of the report's readers: summary.json and environment.json (report_run), samples.csv
// (report_samples), and its thinning (report_series).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/status.h"
#include "loadtest/report/clients.h"
#include "loadtest/report/run.h"
#include "loadtest/report/samples.h"
#include "loadtest/report/series.h"

namespace tickstack::loadtest::report {
namespace {

using testing::HasSubstr;

constexpr const char* kSummary =
    R"({"format":1,"name":"n","outcome":"ok","seed":18446744073709551,"tests":[{"name":"50/300","batch_ms":50,
    "query_ms":300,"seconds":60,"stacks":[{"name":"a","placement":"dram","outcome":"ok","metrics":
    {"asof":{"whole":{"count":3,"p50_ms":1.5,"p99_ms":null},"histogram":[[1,2],[2,1]]}}},
    {"name":"b","placement":"dram","outcome":"ok"}]}]})";

absl::StatusOr<RunFiles> Parse(std::string summary, const std::string& from = "",
                               const std::string& to = "") {
  if (!from.empty()) summary.replace(summary.find(from), from.size(), to);
  return ParseRun(summary, "{}", "nowhere");
}

// Replaces `from` in a valid summary and expects kDataLoss with `words`.
void ExpectDamage(const std::string& from, const std::string& to, const std::string& words) {
  SCOPED_TRACE(to);
  const absl::StatusOr<RunFiles> run = Parse(kSummary, from, to);
  EXPECT_EQ(absl::StatusCode::kDataLoss, run.status().code());
  EXPECT_THAT(std::string(Message(run.status())), HasSubstr(words));
}

// A run's directory with these samples and the summary above.
class SamplesFile {
 public:
  explicit SamplesFile(const std::string& text) {
    char name[] = "/tmp/report_files_test.XXXXXX";
    directory_ = mkdtemp(name);
    std::ofstream(directory_ + "/samples.csv") << text;
    run_ = *ParseRun(kSummary, "{}", directory_);
  }
  ~SamplesFile() { std::filesystem::remove_all(directory_); }
  const RunFiles& run() const { return run_; }

 private:
  std::string directory_;
  RunFiles run_;
};

constexpr const char* kHeader =
    "test,stack,rdb,time_s,trade_lag_ms,quote_lag_ms,trade_bar_lag_ms,quote_bar_lag_ms,asof_ms,"
    "query_ms,rows_captured,tier.dram.used\n";

std::string SamplesError(const std::string& text) {
  const SamplesFile file(text);
  return std::string(Message(ReadSeries(file.run()).status()));
}

TEST(ReportRun, ReadsWhatTheFormatHas) {
  const absl::StatusOr<RunFiles> run = Parse(kSummary);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(18446744073709551, run->seed);
  ASSERT_EQ(2u, run->tests.at(0).stacks.size());
  const MetricResult& asof = run->tests[0].stacks[0].metric(Metric::kAsof);
  EXPECT_EQ(3, asof.whole.count);
  EXPECT_EQ(1.5, asof.whole.p50_ms);
  EXPECT_EQ(std::nullopt, asof.whole.p99_ms);
  EXPECT_EQ(2u, asof.histogram.size());
  EXPECT_EQ(0, run->tests[0].stacks[1].metric(Metric::kQuery).whole.count);
}

TEST(ReportRun, ReadsWhatClientsAsked) {
  const std::string clients =
      R"("clients":{"desk":{"mode":"open","connections":3,"every_ms":20,"arrivals":"poisson"}},
      "queries":{"desk":{"last":{"whole":{"count":5,"p50_ms":2},"errors":1,"first_error":"nyi",
      "slices":[[1.5,3],[0.5,2]]}}},"placement":"dram")";
  absl::StatusOr<RunFiles> run = Parse(kSummary, "\"placement\":\"dram\"", clients);
  ASSERT_TRUE(run.ok()) << run.status();
  const RecordedStack& stack = run->tests[0].stacks[0];
  const RecordedQuery* const last = FindQuery(stack, "desk", "last");
  ASSERT_NE(nullptr, last);
  EXPECT_EQ(2, last->times.whole.p50_ms);
  EXPECT_EQ(1, last->errors);
  EXPECT_EQ(2u, last->slices.size());
  EXPECT_EQ("3 connections, one question due every 20 ms on the mean, at random times",
            ClientText(stack.clients[0]));
  EXPECT_EQ(nullptr, FindQuery(stack, "desk", "first"));
  EXPECT_EQ(nullptr, FindQuery(run->tests[0].stacks[1], "desk", "last"));
  const std::string table = ClientTable(run->tests[0], 0);
  EXPECT_THAT(table, HasSubstr("<span class=\"failed\">1: nyi</span>"));
  EXPECT_EQ("", ClientTable(RecordedTest(), 0));

  // Names become parts of attributes, and of lists that are separated by spaces.
  for (const char* name : {"de sk", "", "\\\"><script>"}) {
    std::string wrong = clients;
    for (size_t at = 0; (at = wrong.find("desk", at)) != std::string::npos;)
      wrong.replace(at, 4, name);
    run = Parse(kSummary, "\"placement\":\"dram\"", wrong);
    EXPECT_THAT(std::string(Message(run.status())),
                HasSubstr("expected a name of up to 64 letters, digits, - and _"))
        << name;
  }
}

TEST(ReportRun, ReadsTheRunInTheTestData) {
  const absl::StatusOr<RunFiles> run = ReadRun("tests/data/loadtest_run");
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(2u, run->tests.size());
  EXPECT_FALSE(run->environment.empty());
}

TEST(ReportRun, NamesPlaceFoundAndExpected) {
  ExpectDamage("\"batch_ms\":50", "\"batch_ms\":\"x\"",
               "summary.json: tests[0].batch_ms: found \"x\", expected a number");
  ExpectDamage("\"name\":\"b\"", "\"name\":7", "tests[0].stacks[1].name: found 7, expected a text");
  ExpectDamage("\"name\":\"b\"", "\"name\":\"a\"",
               "tests: found stack \"a\" of test \"50/300\" twice");
  ExpectDamage("\"outcome\":\"ok\"", "\"outcome\":\"fine\"", "expected ok or failed");
  ExpectDamage("\"format\":1", "\"format\":2", "format: found 2, expected 1");
  ExpectDamage("\"count\":3", "\"count\":-3", "asof.whole.count: found -3, expected a count");
  ExpectDamage("[2,1]", "[1,1]", "asof.histogram[1]");
  ExpectDamage("[2,1]", "[2,0.5]", "asof.histogram[1]");
  ExpectDamage("[[1,2],[2,1]]", "7", "asof.histogram: found 7, expected an array");
  ExpectDamage("\"seconds\":60", "\"seconds\":-1", "found -1, expected a number from 0");
  ExpectDamage("\"tests\":[", "\"tests\":[5,", "tests[0]: found 5, expected an object");
}

TEST(ReportRun, SaysWhereJsonEnds) {
  const std::string whole = kSummary;
  for (size_t length = 0; length < whole.size(); ++length) {
    const absl::StatusOr<RunFiles> run = Parse(whole.substr(0, length));
    ASSERT_FALSE(run.ok()) << length;
    ASSERT_THAT(std::string(Message(run.status())), HasSubstr("summary.json: byte"));
  }
  EXPECT_FALSE(ParseRun(kSummary, "[1]", "d").ok());
}

TEST(ReportRun, BoundsDepthAndWidth) {
  const std::string deep(100'000, '[');
  EXPECT_FALSE(Parse(deep).ok());
  EXPECT_THAT(std::string(Message(Parse(deep + std::string(100'000, ']')).status())),
              HasSubstr("deep"));
  std::string wide = "{\"a\":1";
  for (int i = 0; i < 10'000; ++i) wide += ",\"" + std::to_string(i) + "\":1";
  EXPECT_THAT(std::string(Message(Parse(wide + "}").status())), HasSubstr("keys"));
}

TEST(ReportRun, AMissingFileIsNamed) {
  const absl::StatusOr<RunFiles> run = ReadRun("/nonexistent");
  EXPECT_EQ(absl::StatusCode::kNotFound, run.status().code());
  EXPECT_THAT(std::string(Message(run.status())), HasSubstr("summary.json"));
}

TEST(ReportSamples, TestsOfOneNameAreToldApartByTheirStacks) {
  char name[] = "/tmp/report_files_test.XXXXXX";
  const std::string directory = mkdtemp(name);
  std::ofstream(directory + "/samples.csv")
      << kHeader << "50/300,a,r,1,,,,,1,,,\n50/300,b,r,1,,,,,2,,,\n";
  const std::string test =
      R"({"name":"50/300","batch_ms":50,"query_ms":300,"seconds":60,"stacks":[{"name":"X","placement":"dram","outcome":"ok"}]})";
  std::string tests = test + "," + test;
  tests[tests.find("X")] = 'a';
  tests[tests.find("X")] = 'b';
  const auto run = ParseRun(R"({"format":1,"name":"n","outcome":"ok","tests":[)" + tests + "]}",
                            "{}", directory);
  ASSERT_TRUE(run.ok()) << run.status();
  const auto series = ReadSeries(*run);
  std::filesystem::remove_all(directory);
  ASSERT_TRUE(series.ok()) << series.status();
  constexpr auto kAsof = static_cast<size_t>(Metric::kAsof);
  EXPECT_EQ(1, series->at(0).stacks[0].metrics[kAsof][0].most);
  EXPECT_EQ(2, series->at(1).stacks[0].metrics[kAsof][0].most);
}

TEST(ReportSamples, NamesTheLine) {
  const std::string header = kHeader;
  EXPECT_THAT(SamplesError(""), HasSubstr("samples.csv: found nothing, expected a header"));
  EXPECT_THAT(SamplesError("test,stack\n"), HasSubstr("line 1: expected a column rdb"));
  EXPECT_THAT(SamplesError(header + "50/300,a,r,1\n"), HasSubstr("line 2: found 4 cells"));
  EXPECT_THAT(SamplesError(header + "50/300,a,r,x,,,,,,,,\n"),
              HasSubstr("line 2: time_s: found \"x\""));
  EXPECT_THAT(SamplesError(header + "50/300,a,r,-1,,,,,,,,\n"), HasSubstr("seconds from 0"));
  EXPECT_THAT(SamplesError(header + "50/300,a,r,1,,,,,nan,,,\n"),
              HasSubstr("asof_ms: found \"nan\""));
  EXPECT_THAT(SamplesError(header + "50/300,a,r,1,,,,,,,,\n5/5,a,r,1,,,,,,,,\n"),
              HasSubstr("line 3: test: found \"5/5\""));
  EXPECT_THAT(SamplesError(header + "50/300,z,r,1,,,,,,,,\n"), HasSubstr("stack: found \"z\""));
  EXPECT_THAT(SamplesError(header + "\"50/300,a\n"), HasSubstr("a quote without its end"));
  EXPECT_THAT(SamplesError(header + std::string(100'000, 'x')), HasSubstr("longer than"));
  EXPECT_THAT(SamplesError(header + std::string(400, ',')), HasSubstr("more than 256 columns"));
}

TEST(ReportSamples, TakesQuotesCarriageReturnsAndAMissingLastNewline) {
  const SamplesFile file(std::string(kHeader) +
                         "\"50/300\",\"a\",\"r\",1,,,,,2.5,,,\r\n"
                         "50/300,b,\"x\"\"y\",2,,,,,3.5,,,");
  std::vector<std::string> rdbs;
  ASSERT_TRUE(ReadSamples(
                  file.run(), [](const SampleColumns&) {},
                  [&rdbs](const RecordedSample& row) {
                    rdbs.emplace_back(row.rdb);
                    return absl::OkStatus();
                  })
                  .ok());
  EXPECT_THAT(rdbs, testing::ElementsAre("r", "x\"y"));
}

// Goal: lines that straddle the reader's buffer are read whole. Method: some MiB of numbered rows.
TEST(ReportSamples, ReadsAcrossItsBuffer) {
  std::string text = kHeader;
  constexpr int kRows = 60'000;
  for (int i = 0; i < kRows; ++i) {
    text += "50/300,a,rdb-with-a-long-name,1,,,,," + std::to_string(i) + ",,,\n";
  }
  const SamplesFile file(text);
  int next = 0;
  const absl::Status status = ReadSamples(
      file.run(), [](const SampleColumns&) {},
      [&next](const RecordedSample& row) {
        EXPECT_EQ(next++, row.metrics_ms[static_cast<size_t>(Metric::kAsof)]);
        return absl::OkStatus();
      });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(kRows, next);
}

// Goal: no damage crashes the reader. Method: replace each byte of a small file by each of several
// others, and cut the file at each byte.
TEST(ReportSamples, AnyDamageIsAnErrorOrOtherValues) {
  const std::string whole =
      std::string(kHeader) + "50/300,a,r,1,1,2,3,4,5,6,7,8\n\"50/300\",b,\"r\",2.5,,,,,1e3,,,9\n";
  const auto read = [](const std::string& text) {
    const SamplesFile file(text);
    return ReadSeries(file.run()).status().code();
  };
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char other : {'\0', '\n', '"', ',', '9', '-', '\xff'}) {
      std::string damaged = whole;
      damaged[at] = other;
      const absl::StatusCode code = read(damaged);
      ASSERT_TRUE(code == absl::StatusCode::kOk || code == absl::StatusCode::kDataLoss) << at;
    }
    const absl::StatusCode code = read(whole.substr(0, at));
    ASSERT_TRUE(code == absl::StatusCode::kOk || code == absl::StatusCode::kDataLoss) << at;
  }
}

TEST(ReportSeries, KeepsThePeaksOfEverySlice) {
  std::string text = kHeader;
  for (int i = 0; i < 6'000; ++i) {
    const double peak = i == 4'321 ? 99 : 1 + 0.001 * (i % 7);
    text += "50/300,a,r," + std::to_string(i * 0.01) + ",,,,," + std::to_string(peak) + ",,,\n";
  }
  const SamplesFile file(text);
  const auto series = ReadSeries(file.run());
  ASSERT_TRUE(series.ok()) << series.status();
  const Series& asof = series->at(0).stacks[0].metrics[static_cast<size_t>(Metric::kAsof)];
  EXPECT_LE(asof.size(), 200u);
  const auto slice = static_cast<size_t>(43.21 / series->at(0).slice_s);
  EXPECT_FLOAT_EQ(99, asof[slice].most);
  EXPECT_FLOAT_EQ(1, asof[slice].least);
  EXPECT_TRUE(series->at(0).stacks[1].metrics[0][0].empty());
}

TEST(ReportSeries, AnOverlongTestHasWiderSlices) {
  const SamplesFile file(std::string(kHeader) + "50/300,a,r,1,,,,,7,,,\n50/300,a,r,900,,,,,8,,,\n");
  const auto series = ReadSeries(file.run());
  ASSERT_TRUE(series.ok()) << series.status();
  const TestSeries& test = series->at(0);
  const Series& asof = test.stacks[0].metrics[static_cast<size_t>(Metric::kAsof)];
  EXPECT_EQ(7, asof[0].most);
  EXPECT_EQ(8, asof[static_cast<size_t>(900 / test.slice_s)].most);
}

TEST(ReportSeries, SumsTheRdbsOfATier) {
  const SamplesFile file(std::string(kHeader) +
                         "50/300,a,r1,0,,,,,,,,100\n50/300,a,r2,10,,,,,,,,10\n"
                         "50/300,a,r1,30,,,,,,,,200\n50/300,a,r2,30,,,,,,,,20\n");
  const auto series = ReadSeries(file.run());
  ASSERT_TRUE(series.ok()) << series.status();
  const TestSeries& test = series->at(0);
  const std::vector<double> total = test.stacks[0].TierTotal("dram");
  const auto at = [&](double s) { return total.at(static_cast<size_t>(s / test.slice_s)); };
  EXPECT_EQ(100, at(0));
  EXPECT_EQ(110, at(10));
  EXPECT_EQ(110, at(20));
  EXPECT_EQ(220, at(30));
  EXPECT_TRUE(std::isnan(total.back()));
}

}  // namespace
}  // namespace tickstack::loadtest::report
