#include "loadtest/report/series.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/status.h"
#include "loadtest/report/samples.h"

namespace tickstack::loadtest::report {
namespace {

constexpr size_t kSeriesSlicesMin = 48;
constexpr size_t kSlicesMax = 160;
constexpr double kSlicesOfAShortTest = 20;
constexpr double kQuestionsMin = 8;  // In a slice, so that its extremes are meaningful.
constexpr size_t kRdbsMax = 256;
constexpr size_t kTierSeriesMax = 10'000;

// Merges each slice with its neighbour: half as many slices, twice as wide.
void Coarsen(Series& series) {
  for (size_t i = 0; i < series.size(); ++i) {
    Extremes joined;
    if (2 * i < series.size()) joined.Add(series[2 * i]);
    if (2 * i + 1 < series.size()) joined.Add(series[2 * i + 1]);
    series[i] = joined;
  }
}

void Coarsen(TestSeries& test) {
  test.slice_s *= 2;
  for (StackSeries& stack : test.stacks) {
    for (Series& series : stack.metrics) Coarsen(series);
    for (auto& [tier, rdbs] : stack.tiers) {
      for (auto& [rdb, series] : rdbs) Coarsen(series);
    }
  }
}

size_t SlicesFor(const RunFiles& run, size_t points_max) {
  size_t series = 1;
  for (const RecordedTest& test : run.tests) {
    for (const RecordedStack& stack : test.stacks) {
      series += 2 * kMetrics + stack.tiers.size();
    }
  }
  return std::clamp(points_max / series, kSeriesSlicesMin, kSlicesMax);
}

}  // namespace

void Extremes::Add(float value) {
  least = std::min(least, value);
  most = std::max(most, value);
}

void Extremes::Add(const Extremes& other) {
  least = std::min(least, other.least);
  most = std::max(most, other.most);
}

std::vector<double> StackSeries::TierTotal(const std::string& tier) const {
  std::vector<double> total;
  const auto rdbs = tiers.find(tier);
  if (rdbs == tiers.end()) return total;
  for (const auto& [rdb, series] : rdbs->second) {
    total.resize(series.size(), std::numeric_limits<double>::quiet_NaN());
    double used = std::numeric_limits<double>::quiet_NaN();
    size_t last = series.size();  // Nothing is known after the last slice with a value.
    while (last > 0 && series[last - 1].empty()) --last;
    for (size_t i = 0; i < last; ++i) {
      if (!series[i].empty()) used = series[i].most;
      if (std::isnan(used)) continue;
      total[i] = std::isnan(total[i]) ? used : total[i] + used;
    }
  }
  return total;
}

absl::StatusOr<std::vector<TestSeries>> ReadSeries(const RunFiles& run, size_t points_max) {
  const size_t slices = SlicesFor(run, points_max);
  std::vector<TestSeries> tests(run.tests.size());
  for (size_t i = 0; i < tests.size(); ++i) {
    const RecordedTest& test = run.tests[i];
    // A short test has fewer questions in a slice, since a course over time needs some slices.
    const double question_s = std::max(test.query_ms / 1e3, 1e-3);
    const double least_s = std::max(
        question_s, std::min(kQuestionsMin * question_s, test.seconds / kSlicesOfAShortTest));
    const double fit =
        std::clamp(std::floor(test.seconds / least_s), 1.0, static_cast<double>(slices));
    tests[i].slice_s = std::max(test.seconds / fit, least_s);
    tests[i].stacks.resize(test.stacks.size());
    for (StackSeries& stack : tests[i].stacks) stack.metrics.fill(Series(slices));
  }
  SampleColumns columns;
  size_t tier_series = 0;
  TS_RETURN_IF_ERROR(ReadSamples(
      run, [&columns](const SampleColumns& found) { columns = found; },
      [&](const RecordedSample& row) {
        TestSeries& test = tests[row.test];
        // A sample that is due at the end of a slice belongs to it, and the test ends like
        // that.
        while (row.time_s > test.slice_s * static_cast<double>(slices)) Coarsen(test);
        const auto slice =
            static_cast<size_t>(std::max(0.0, std::ceil(row.time_s / test.slice_s - 1e-9) - 1));
        StackSeries& stack = test.stacks[row.stack];
        for (size_t i = 0; i < kMetrics; ++i) {
          if (row.metrics_ms[i]) {
            stack.metrics[i][slice].Add(static_cast<float>(*row.metrics_ms[i]));
          }
        }
        for (size_t i = 0; i < columns.tiers.size(); ++i) {
          if (!row.tiers_used[i]) continue;
          auto& rdbs = stack.tiers[columns.tiers[i]];
          const std::string rdb(row.rdb);
          Series& series = rdbs[rdb];
          if (series.empty()) {
            series.resize(slices);
            if (rdbs.size() > kRdbsMax || ++tier_series > kTierSeriesMax) {
              return ResourceExhausted("rdb: found more than {} in a stack, or {} with their tiers",
                                       kRdbsMax, kTierSeriesMax);
            }
          }
          series[slice].Add(static_cast<float>(*row.tiers_used[i]));
        }
        return absl::OkStatus();
      }));
  return tests;
}

}  // namespace tickstack::loadtest::report
