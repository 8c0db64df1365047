#include "loadtest/find_max.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/human_text.h"

namespace tickstack::loadtest {
namespace {

constexpr double kRateMin = 1e3, kRateMax = 1e8;
constexpr double kGap = 1.05;
// A feed is in time if it ends within kInTime times the planned duration, plus kReceiptSeconds.
constexpr double kInTime = 1.03;
constexpr double kReceiptSeconds = 0.5;
constexpr double kStepDown = 0.95;
constexpr int kConfirmationsMax = 6;
constexpr double kProbeSecondsMin = 3, kProbeSecondsMax = 10;
constexpr double kWarmUpSeconds = 2, kWarmUpShare = 0.25;

constexpr Metric kLags[] = {kTradeLag, kQuoteLag, kTradeBarLag, kQuoteBarLag};

double P99Ms(const Histogram& histogram) {
  return static_cast<double>(histogram.ValueAtPercentile(99)) / 1e6;
}

std::optional<double> WorstP99Ms(const TestResult& test) {
  std::optional<double> worst;
  for (const StackResult& stack : test.stacks) {
    for (const Metric lag : kLags) {
      if (stack.measured[lag].whole.Count() == 0) continue;
      worst = std::max(worst.value_or(0), P99Ms(stack.measured[lag].whole));
    }
  }
  return worst;
}

// Rounds to three digits, so that the printed rate is the one that was run.
double Rounded(double rate) {
  const double unit = std::pow(10, std::floor(std::log10(rate)) - 2);
  return std::floor(rate / unit) * unit;
}

class Search {
 public:
  Search(const TestSpec& test, double below_ms, const RunOneTest& run) : test_(test), run_(run) {
    found_.stack = test.stacks.front().name;
    found_.below_ms = below_ms;
  }

  FoundMaximum Run(std::optional<TestResult>& confirmed) {
    const double seconds =
        std::min(test_.profile.seconds,
                 std::clamp(test_.profile.seconds / 6, kProbeSecondsMin, kProbeSecondsMax));
    auto [holds, breaks] = Bracket(Rounded(test_.profile.UpdatesPerSecond()), seconds, confirmed);
    while (holds > 0 && breaks > kGap * holds && !interrupted_) {
      const double rate = Rounded(std::sqrt(holds * breaks));
      (ProbeHolds(rate, seconds, confirmed) ? holds : breaks) = rate;
    }
    for (int i = 0; i < kConfirmationsMax && holds > 0 && !interrupted_; ++i) {
      if (Holds(holds, test_.profile.seconds, confirmed)) {
        found_.updates_per_s = holds;
        found_.achieved_per_s = found_.probes.back().achieved_per_s;
        break;
      }
      holds = Rounded(holds * kStepDown);
    }
    return std::move(found_);
  }

 private:
  struct Rates {
    double holds = 0, breaks = 0;  // 0: no such rate yet.
  };

  // Doubles the rate until one breaks; or, if the first one breaks, halves it until one holds.
  Rates Bracket(double rate, double seconds, std::optional<TestResult>& last) {
    Rates rates;
    const bool up = ProbeHolds(rate, seconds, last);
    (up ? rates.holds : rates.breaks) = rate;
    while (!interrupted_ && (rates.holds == 0 || rates.breaks == 0)) {
      rate = Rounded(up ? rate * 2 : rate / 2);
      if (rate < kRateMin || rate > kRateMax) break;
      (ProbeHolds(rate, seconds, last) ? rates.holds : rates.breaks) = rate;
    }
    return rates;
  }

  // A single stall of the machine can last longer than a hundredth of a run of some seconds, so
  // it breaks the run whatever the rate. So a short run is repeated once before the search gives
  // up on higher rates. The result must hold for the full length in any case.
  bool ProbeHolds(double rate, double seconds, std::optional<TestResult>& last) {
    if (Holds(rate, seconds, last)) return true;
    return last->failure.empty() && !interrupted_ && Holds(rate, seconds, last);
  }

  bool Holds(double rate, double seconds, std::optional<TestResult>& last) {
    TestSpec test = test_;
    test.profile.SetUpdatesPerSecond(rate);
    test.profile.seconds = seconds;
    test.warm_up_s = std::min(kWarmUpSeconds, kWarmUpShare * seconds);
    const bool is_probe = seconds < test_.profile.seconds;
    last = run_(test, is_probe);
    interrupted_ = last->failure == "interrupted";
    Probe probe;
    probe.updates_per_s = rate;
    probe.seconds = seconds;
    probe.achieved_per_s = last->stacks.front().logged_per_s;
    probe.worst_p99_ms = WorstP99Ms(*last);
    const std::optional<std::string> broke = BrokenBound(*last, found_.below_ms);
    probe.sustained = !broke.has_value();
    if (broke) found_.broke = probe.broke = *broke;
    found_.probes.push_back(probe);
    return probe.sustained;
  }

  const TestSpec& test_;
  const RunOneTest& run_;
  FoundMaximum found_;
  bool interrupted_ = false;
};

}  // namespace

std::optional<std::string> BrokenBound(const TestResult& test, double below_ms) {
  if (!test.failure.empty()) return test.failure;
  for (const StackResult& stack : test.stacks) {
    const double seconds = test.spec.profile.seconds;
    if (stack.logged_per_s * (seconds * kInTime + kReceiptSeconds) <
        stack.offered_per_s * seconds) {
      return fmt::format("{}: {} updates/s were taken of {}", stack.spec.name,
                         Thousands(std::llround(stack.logged_per_s)),
                         Thousands(std::llround(stack.offered_per_s)));
    }
    for (const Metric lag : kLags) {
      const Histogram& whole = stack.measured[lag].whole;
      if (whole.Count() == 0 || P99Ms(whole) <= below_ms) continue;
      return fmt::format("{}: p99 of {} was {}", stack.spec.name, kMetricNames[lag],
                         MsText(P99Ms(whole)));
    }
  }
  return std::nullopt;
}

FoundMaximum FindMaximum(const TestSpec& test, double below_ms, const RunOneTest& run,
                         std::optional<TestResult>& confirmed) {
  return Search(test, below_ms, run).Run(confirmed);
}

}  // namespace tickstack::loadtest
