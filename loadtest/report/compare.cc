#include "loadtest/report/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/status.h"
#include "loadtest/report/clients.h"
#include "loadtest/report/compare_spread.h"
#include "loadtest/report/groups.h"
#include "loadtest/report/samples.h"

namespace tickstack::loadtest::report {
namespace {

constexpr size_t kSamplesMax = 200'000;
constexpr double kSlicesOfATest = 12;
constexpr double kSliceMin = 1, kSliceMax = 10;

// Where a figure comes from: a quantile of a metric, or another value of a stack.
struct FigureKind {
  std::string quantity, statistic;
  std::optional<Metric> metric;
  double quantile = 0;  // 0: the largest value.
  Figure other;         // Set if the figure is not from a metric.
                        // Set for a client's median: the client and the query that have its slices.
  std::string client, query;
};

void AddQueryKinds(const std::string& client, const std::string& query,
                   std::vector<FigureKind>& kinds) {
  const std::string quantity = client + "/" + query;
  const auto of = [client, query](auto field) -> Figure {
    return [=](const RecordedStack& stack) -> std::optional<double> {
      const RecordedQuery* const found = FindQuery(stack, client, query);
      return found == nullptr ? std::nullopt : field(*found);
    };
  };
  const auto time = [&of](std::optional<double> Distribution::* field) {
    return of([field](const RecordedQuery& found) { return found.times.whole.*field; });
  };
  kinds.push_back(
      {quantity, "p50_ms", std::nullopt, 0, time(&Distribution::p50_ms), client, query});
  kinds.push_back({quantity, "p99_ms", std::nullopt, 0, time(&Distribution::p99_ms), "", ""});
  kinds.push_back({quantity, "max_ms", std::nullopt, 0, time(&Distribution::max_ms), "", ""});
  kinds.push_back({quantity, "per_minute", std::nullopt, 0,
                   of([](const RecordedQuery& found) { return found.per_minute; }), "", ""});
}

// Returns the figures of every stack, and those of what clients asked in either run.
std::vector<FigureKind> FigureKinds(const RunFiles& a, const RunFiles& b) {
  std::vector<FigureKind> made;
  for (size_t i = 0; i < kMetrics; ++i) {
    const auto metric = static_cast<Metric>(i);
    const std::string name(kMetricNames[i]);
    made.push_back({name, "p50_ms", metric, 0.5, nullptr, "", ""});
    made.push_back({name, "p99_ms", metric, 0.99, nullptr, "", ""});
    made.push_back({name, "max_ms", metric, 0, nullptr, "", ""});
  }
  made.push_back({"samples", "per_minute", std::nullopt, 0,
                  [](const RecordedStack& stack) { return stack.queries_per_minute; }, "", ""});
  made.push_back({"rows_captured", "per_second", std::nullopt, 0,
                  [](const RecordedStack& stack) { return stack.captured_per_s; }, "", ""});
  made.push_back({"dram", "bytes", std::nullopt, 0, DramUsed, "", ""});
  std::set<std::pair<std::string, std::string>> known;
  for (const RunFiles* run : {&a, &b}) {
    for (const RecordedTest& test : run->tests) {
      for (const ClientNames& client : ClientsOf(test)) {
        for (const std::string& query : client.queries) {
          if (known.emplace(client.client->name, query).second) {
            AddQueryKinds(client.client->name, query, made);
          }
        }
      }
    }
  }
  return made;
}

std::optional<double> ValueOf(const FigureKind& kind, const RecordedStack& stack) {
  if (!kind.metric) return kind.other(stack);
  const Distribution& whole = stack.metric(*kind.metric).whole;
  if (kind.quantile == 0) return whole.max_ms;
  return kind.quantile == 0.5 ? whole.p50_ms : whole.p99_ms;
}

constexpr std::array kQuantiles = {0.5, 0.99};

// A stack, and what its samples tell about the scatter of its figures.
struct Measured {
  const RecordedTest* test = nullptr;
  const RecordedStack* stack = nullptr;
  std::array<SlicedValues, kMetrics> samples;  // Cleared once the spreads are known.
  size_t rows = 0;
  std::array<std::vector<std::optional<Spread>>, kMetrics> quantiles;
  std::optional<Spread> rate;

  void TakeSpreads() {
    for (size_t i = 0; i < kMetrics; ++i) {
      quantiles[i] = QuantileSpreads(samples[i], {kQuantiles.begin(), kQuantiles.end()});
    }
    // A thinned file no longer has one row per sample.
    const auto query = static_cast<size_t>(Metric::kQuery);
    const auto counted = static_cast<double>(stack->metrics[query].whole.count);
    if (static_cast<double>(rows) >= 0.99 * counted) rate = RateSpread(samples[query]);
    samples = {};
  }
};

using Key = std::tuple<double, double, std::string, bool, int64_t>;

struct Side {
  const RunFiles* run;
  std::vector<std::vector<Measured>> tests;  // In the run's order.

  std::map<Key, std::vector<const Measured*>> ByKey() const {
    std::map<Key, std::vector<const Measured*>> found;
    for (const auto& stacks : tests) {
      for (const Measured& one : stacks) {
        found[{one.test->batch_ms, one.test->query_ms, one.stack->placement, one.stack->simulated,
               one.stack->rdbs}]
            .push_back(&one);
      }
    }
    return found;
  }
};

absl::StatusOr<Side> ReadSide(const RunFiles& run) {
  Side side{.run = &run, .tests = {}};
  for (const RecordedTest& test : run.tests) {
    std::vector<Measured>& stacks = side.tests.emplace_back();
    for (const RecordedStack& stack : test.stacks) {
      Measured& one = stacks.emplace_back();
      one.test = &test;
      one.stack = &stack;
    }
  }
  TS_RETURN_IF_ERROR(ReadSamples(
      run, [](const SampleColumns&) {},
      [&side](const RecordedSample& row) {
        Measured& one = side.tests[row.test][row.stack];
        if (++one.rows > kSamplesMax) {
          return ResourceExhausted("more than {} samples of a stack", kSamplesMax);
        }
        const double slice_s = std::clamp(one.test->seconds / kSlicesOfATest, kSliceMin, kSliceMax);
        const auto slice = static_cast<uint32_t>(row.time_s / slice_s);
        for (size_t i = 0; i < kMetrics; ++i) {
          if (row.metrics_ms[i]) one.samples[i].Add(slice, static_cast<float>(*row.metrics_ms[i]));
        }
        return absl::OkStatus();
      }));
  for (auto& stacks : side.tests) {
    for (Measured& one : stacks) one.TakeSpreads();
  }
  return side;
}

// A figure over the stacks of one kind in one run.
struct Estimate {
  double log_mean = 0;
  std::vector<double> logs;
  std::optional<Spread> within;  // Of log_mean.
  bool measured() const { return !logs.empty(); }
};

std::optional<Spread> WithinSpread(const FigureKind& kind, const Measured& one) {
  if (!kind.query.empty())
    return MedianSpread(FindQuery(*one.stack, kind.client, kind.query)->slices);
  if (kind.quantity == "samples") return one.rate;
  if (!kind.metric || kind.quantile == 0) return std::nullopt;
  const auto which = std::find(kQuantiles.begin(), kQuantiles.end(), kind.quantile);
  return one.quantiles[static_cast<size_t>(*kind.metric)]
                      [static_cast<size_t>(which - kQuantiles.begin())];
}

Estimate EstimateOf(const FigureKind& kind, const std::vector<const Measured*>& stacks) {
  Estimate estimate;
  Spread within;
  bool all_within = true;
  for (const Measured* one : stacks) {
    const std::optional<double> value = ValueOf(kind, *one->stack);
    if (!value || *value <= 0) continue;
    estimate.logs.push_back(std::log(*value));
    const std::optional<Spread> spread = WithinSpread(kind, *one);
    all_within = all_within && spread.has_value();
    if (!spread) continue;
    within.variance += spread->variance;
    within.degrees += spread->degrees;
  }
  const auto count = static_cast<double>(estimate.logs.size());
  for (const double value : estimate.logs) estimate.log_mean += value / count;
  within.variance /= count * count;
  if (all_within && count > 0) estimate.within = within;
  return estimate;
}

// The sum of squared differences between stacks of a kind, and its degrees of freedom.
struct Scatter {
  double squares = 0, degrees = 0;

  void Add(const Estimate& estimate) {
    for (const double value : estimate.logs) {
      squares += (value - estimate.log_mean) * (value - estimate.log_mean);
    }
    degrees += std::max(0.0, static_cast<double>(estimate.logs.size()) - 1);
  }
  double variance() const { return degrees > 0 ? squares / degrees : 0; }
};

// Returns the variance of the sum of two means (Welch and Satterthwaite).
Spread Sum(const Spread& a, const Spread& b) {
  const double variance = a.variance + b.variance;
  const double denominator =
      a.variance * a.variance / a.degrees + b.variance * b.variance / b.degrees;
  // If nothing varied at all, their difference does not vary either.
  return {.variance = variance,
          .degrees = denominator > 0 ? variance * variance / denominator : a.degrees + b.degrees};
}

struct Pair {
  Estimate a, b;
  FigureComparison* figure;
  std::optional<Spread> spread;
};

void TakeSpread(Pair& pair, const Scatter& pooled) {
  if (!pair.a.measured() || !pair.b.measured()) {
    pair.figure->basis = "not measured in both runs";
    return;
  }
  if (pair.a.within && pair.b.within) {
    pair.spread = Sum(*pair.a.within, *pair.b.within);
    pair.figure->basis = "slices of time";
  } else {
    pair.figure->basis = "too few values";
  }
  if (pooled.degrees == 0) return;
  Scatter own;
  own.Add(pair.a);
  own.Add(pair.b);
  const double variance =
      std::max(pooled.variance(), own.variance()) *
      (1 / static_cast<double>(pair.a.logs.size()) + 1 / static_cast<double>(pair.b.logs.size()));
  if (pair.spread && pair.spread->variance >= variance) return;
  pair.spread = Spread{.variance = variance, .degrees = pooled.degrees};
  pair.figure->basis = "stacks of the same kind";
}

void Judge(Pair& pair, size_t judged) {
  FigureComparison& figure = *pair.figure;
  if (!pair.spread) return;
  const double t = TwoSidedT(kFalsePositives / static_cast<double>(judged), pair.spread->degrees);
  const double log_change = pair.b.log_mean - pair.a.log_mean;
  const double covered = t * std::sqrt(pair.spread->variance);
  figure.spread = std::expm1(std::min(covered, 700.0));
  figure.verdict = Verdict::kSame;
  // In logarithms, as the change itself, so that comparing A with B and B with A agree.
  if (std::abs(log_change) > std::max(covered, std::log1p(kLeastChange))) {
    figure.verdict = log_change > 0 ? Verdict::kMore : Verdict::kLess;
  }
}

std::string KeyText(const Key& key) {
  const auto& [batch_ms, query_ms, placement, simulated, rdbs] = key;
  return fmt::format("{:g}/{:g} {}{}{}", batch_ms, query_ms, placement,
                     simulated ? " (SIMULATED)" : "",
                     rdbs > 1 ? fmt::format(" with {} RDBs", rdbs) : "");
}

void NoteUnlike(Comparison& comparison) {
  const RunFiles &a = comparison.a, &b = comparison.b;
  const auto note = [&comparison](std::string_view what, const auto& first, const auto& second) {
    if (first == second) return;
    comparison.unlike.push_back(fmt::format("{}: {} against {}", what, first, second));
  };
  note("updates per second", a.updates_per_s, b.updates_per_s);
  note("symbols", a.symbols.value_or(0), b.symbols.value_or(0));
  note("seed", a.seed.value_or(0), b.seed.value_or(0));
  const auto set = [](const RunFiles& run) {
    return run.query_set.empty() ? std::string("monitor") : run.query_set;
  };
  note("queries of clients", set(a), set(b));
  for (const RecordedTest& test : a.tests) {
    for (const RecordedTest& other : b.tests) {
      if (test.batch_ms != other.batch_ms || test.query_ms != other.query_ms) continue;
      note("seconds of " + test.name, test.seconds, other.seconds);
      note("quotes loaded before " + test.name, test.prestress_quotes.value_or(0),
           other.prestress_quotes.value_or(0));
      break;
    }
  }
  for (const auto& [what, text] : a.environment) {
    const auto found = std::find_if(b.environment.begin(), b.environment.end(),
                                    [&what](const auto& other) { return other.first == what; });
    note(what, text, found == b.environment.end() ? std::string("nothing") : found->second);
  }
  if (a.failed) comparison.unlike.push_back("the first run FAILED: " + a.reason);
  if (b.failed) comparison.unlike.push_back("the second run FAILED: " + b.reason);
}

StackComparison Empty(const Key& key, size_t stacks_a, size_t stacks_b, size_t figures) {
  StackComparison made;
  std::tie(made.batch_ms, made.query_ms, made.placement, made.simulated, made.rdbs) = key;
  made.stacks_a = stacks_a;
  made.stacks_b = stacks_b;
  made.figures.resize(figures);
  return made;
}

void JudgeAll(const Side& a, const Side& b, Comparison& comparison) {
  const std::vector<FigureKind> figures = FigureKinds(comparison.a, comparison.b);
  const auto kinds_a = a.ByKey(), kinds_b = b.ByKey();
  for (const auto& [key, stacks] : kinds_b) {
    if (!kinds_a.contains(key))
      comparison.only_in_one.push_back(KeyText(key) + ": second run only");
  }
  std::vector<std::pair<const std::vector<const Measured*>*, const std::vector<const Measured*>*>>
      matches;
  for (const auto& [key, stacks] : kinds_a) {
    const auto found = kinds_b.find(key);
    if (found == kinds_b.end()) {
      comparison.only_in_one.push_back(KeyText(key) + ": first run only");
      continue;
    }
    matches.emplace_back(&stacks, &found->second);
    comparison.stacks.push_back(Empty(key, stacks.size(), found->second.size(), figures.size()));
  }
  std::vector<Pair> pairs;
  for (size_t k = 0; k < figures.size(); ++k) {
    const FigureKind& kind = figures[k];
    const size_t first = pairs.size();
    Scatter pooled;
    for (size_t i = 0; i < matches.size(); ++i) {
      FigureComparison& figure = comparison.stacks[i].figures[k];
      Pair pair{.a = EstimateOf(kind, *matches[i].first),
                .b = EstimateOf(kind, *matches[i].second),
                .figure = &figure,
                .spread = {}};
      figure.quantity = kind.quantity;
      figure.statistic = kind.statistic;
      if (pair.a.measured()) figure.a = std::exp(pair.a.log_mean);
      if (pair.b.measured()) figure.b = std::exp(pair.b.log_mean);
      if (figure.a && figure.b) figure.change = std::expm1(pair.b.log_mean - pair.a.log_mean);
      pooled.Add(pair.a);
      pooled.Add(pair.b);
      pairs.push_back(std::move(pair));
    }
    for (size_t i = first; i < pairs.size(); ++i) TakeSpread(pairs[i], pooled);
  }
  for (const Pair& pair : pairs) comparison.judged += pair.spread.has_value() ? 1 : 0;
  for (Pair& pair : pairs) {
    Judge(pair, comparison.judged);
    const Verdict verdict = pair.figure->verdict;
    comparison.differences += verdict == Verdict::kMore || verdict == Verdict::kLess ? 1 : 0;
  }
}

}  // namespace

absl::StatusOr<Comparison> CompareRuns(const std::string& directory_a,
                                       const std::string& directory_b) {
  Comparison comparison;
  TS_ASSIGN_OR_RETURN(comparison.a, ReadRun(directory_a));
  TS_ASSIGN_OR_RETURN(comparison.b, ReadRun(directory_b));
  TS_ASSIGN_OR_RETURN(const Side a, ReadSide(comparison.a));
  TS_ASSIGN_OR_RETURN(const Side b, ReadSide(comparison.b));
  JudgeAll(a, b, comparison);
  NoteUnlike(comparison);
  return comparison;
}

}  // namespace tickstack::loadtest::report
