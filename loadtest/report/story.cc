#include "loadtest/report/story.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "loadtest/report/compare_spread.h"
#include "loadtest/report/groups.h"
#include "loadtest/report/noise.h"
#include "loadtest/report/text.h"

namespace tickstack::loadtest::report {
namespace {

// A limit counts as reached from these shares on.
constexpr double kCpuFull = 0.9;       // CPU time of all cores.
constexpr double kCoreFull = 0.95;     // CPU time of one core, by one process.
constexpr double kTierFull = 0.9;      // Bytes in a tier, of its capacity.
constexpr double kRateReached = 0.98;  // Updates per second, of the requested rate.
// Largest values in the last third of the test against the first third.
constexpr double kGrowth = 1.5;
constexpr double kGrowthLeastMs = 5.0;  // Least growth in ms that counts.

std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  }
  return text;
}

// Returns `DRAM`, `filesystem` or, if several placements would be called that, `filesystem:/mnt`.
std::string NameOf(const Group& group, const std::vector<Group>& groups) {
  const auto kind_of = [](const std::string& placement) {
    return placement.substr(0, placement.find(':'));
  };
  const std::string kind = kind_of(group.placement);
  const auto same_kind = std::count_if(groups.begin(), groups.end(), [&](const Group& other) {
    return kind_of(other.placement) == kind;
  });
  if (group.simulated) {
    // For `simulate:optane:/mnt` the model says more than the kind.
    const bool has_model = kind.size() < group.placement.size();
    return (has_model ? kind_of(group.placement.substr(kind.size() + 1)) : kind) + " (SIMULATED)";
  }
  const std::string name = same_kind > 1             ? group.placement
                           : IsDram(group.placement) ? "DRAM"
                                                     : kind;
  return std::ranges::any_of(group.stacks, [](auto* stack) { return IsOnTmpfs(*stack); })
             ? name + " (tmpfs, which is DRAM)"
             : name;
}

// Returns `DRAM against filesystem`, with counts if they differ or if there are several RDBs.
std::string Compared(const RecordedTest& test) {
  std::string text;
  const std::vector<Group> groups = GroupsOf(test);
  for (const Group& group : groups) {
    if (!text.empty()) text += " against ";
    text += NameOf(group, groups);
    if (group.stacks[0]->rdbs > 1)
      text += fmt::format(" in {}", Plural(group.stacks[0]->rdbs, "RDB"));
    if (group.stacks.size() != groups[0].stacks.size()) {
      text += fmt::format(" ({})", Plural(static_cast<int64_t>(group.stacks.size()), "stack"));
    }
  }
  return groups.size() > 1 ? text + ", side by side" : text;
}

Figure FieldOf(Metric metric, std::optional<double> Distribution::* field) {
  return [=](const RecordedStack& stack) { return stack.metric(metric).whole.*field; };
}
Figure P99Of(Metric metric) { return FieldOf(metric, &Distribution::p99_ms); }

// Returns the smallest number of values that a stack of the test has; 0 if one was not measured.
double LeastValues(const RecordedTest& test, Metric metric) {
  double least = test.stacks.empty() ? 0 : INFINITY;
  for (const RecordedStack& stack : test.stacks) {
    least = std::min(least, static_cast<double>(stack.metric(metric).whole.count));
  }
  return least;
}

// Returns `51 ms in DRAM and 52 ms in filesystem`; empty if no stack has the figure.
std::string ByGroup(const RecordedTest& test, const Figure& figure) {
  std::vector<std::string> parts;
  const std::vector<Group> groups = GroupsOf(test);
  bool measured = false;
  for (const Group& group : groups) {
    const std::optional<double> worst = WorstOf(group, figure);
    measured = measured || worst.has_value();
    parts.push_back(DurationText(worst));
    if (groups.size() > 1) parts.back() += " in " + NameOf(group, groups);
  }
  return measured ? Joined(parts) : "";
}

const RecordedTest& WorstTest(const RunFiles& run) {
  const auto lateness = [](const RecordedTest& test) {
    double worst = -1;
    for (const Group& group : GroupsOf(test)) {
      worst = std::max(worst, WorstOf(group, P99Of(FreshnessMetric(test))).value_or(-1));
    }
    // A row cannot be fresher than the publish interval allows.
    return worst < 0 ? worst : worst / std::max(test.batch_ms, 1.0);
  };
  return *std::max_element(run.tests.begin(), run.tests.end(),
                           [&lateness](const RecordedTest& a, const RecordedTest& b) {
                             return lateness(a) < lateness(b);
                           });
}

std::string_view FreshSubject(Metric metric) {
  switch (metric) {
    case Metric::kQuoteBarLag:
      return "quotes reached the bars";
    case Metric::kTradeBarLag:
      return "trades reached the bars";
    case Metric::kQuoteLag:
      return "quotes could be queried";
    case Metric::kTradeLag:
    case Metric::kAsof:
    case Metric::kQuery:
      break;
  }
  return "trades could be queried";
}

std::string FreshnessText(const RecordedTest& test) {
  const Metric metric = FreshnessMetric(test);
  const double values = LeastValues(test, metric);
  // What `compare` does not judge for lack of values is no headline either.
  const bool p99 = EnoughValues(values, 0.99), median = EnoughValues(values, 0.5);
  const std::string latency = ByGroup(test, FieldOf(metric, p99      ? &Distribution::p99_ms
                                                            : median ? &Distribution::p50_ms
                                                                     : &Distribution::max_ms));
  if (latency.empty()) return "freshness was not measured";
  return fmt::format("{} {} within {} ({}batches leave every {})",
                     p99      ? "99 % of"
                     : median ? "half of"
                              : "all that were measured of",
                     FreshSubject(metric), latency,
                     p99 ? "" : "a test this short has too few values for 99 %; ",
                     SettingText(test.batch_ms));
}

std::string QueryText(const RecordedTest& test) {
  if (!EnoughValues(LeastValues(test, Metric::kAsof), 0.5)) return "";
  const std::string times = ByGroup(test, FieldOf(Metric::kAsof, &Distribution::p50_ms));
  return times.empty() ? "" : fmt::format("an as-of join took {}", times);
}

struct Totals {
  bool complete = true;  // True if all three counts are known.
  bool equal = true;     // True if the known counts agree.
  double offered = 0;
};

// Sums the rows over tables and compares their counts. Captured rows are counted for each rdb.
Totals RowTotals(const RecordedStack& stack) {
  Totals totals;
  for (const RecordedRows& rows : stack.rows) {
    if (!rows.offered || !rows.logged || !rows.captured) {
      totals.complete = false;
      continue;
    }
    totals.offered += static_cast<double>(*rows.offered);
    totals.equal = totals.equal && *rows.offered == *rows.logged && *rows.offered == *rows.captured;
  }
  totals.complete = totals.complete && !stack.rows.empty();
  return totals;
}

std::string RowsText(const RunFiles& run) {
  bool complete = true, equal = true;
  double offered = 0;
  for (const RecordedTest& test : run.tests) {
    for (const RecordedStack& stack : test.stacks) {
      const Totals totals = RowTotals(stack);
      complete = complete && totals.complete;
      equal = equal && totals.equal;
      offered += totals.offered;
    }
  }
  if (!equal) return "ROWS ARE MISSING";
  if (!complete) return "not all rows were counted";
  return fmt::format("none of {} rows was lost", CountText(offered));
}

// Returns `dram-1 sustained 3,000,000 updates/s with a latency below 100 ms; at more: ...`.
std::string MaximaSentence(const std::vector<Maximum>& maxima) {
  std::string text;
  for (const Maximum& maximum : maxima) {
    if (!text.empty()) text += " ";
    const std::string bound =
        maximum.below_ms ? " with a latency below " + SettingText(*maximum.below_ms) : "";
    if (maximum.updates_per_s.value_or(0) > 0) {
      text += fmt::format("{} sustained {} updates/s{}", maximum.stack,
                          CountText(maximum.updates_per_s), bound);
    } else {
      text += fmt::format("{} sustained no rate that was tried{}", maximum.stack, bound);
    }
    text +=
        maximum.broke.empty() ? "." : fmt::format("; what the next step broke: {}.", maximum.broke);
  }
  return text;
}

std::string Percent(double part) { return fmt::format("{:.0f} %", 100 * part); }

void AddCpuLimits(const RunFiles& run, const RecordedTest& test, std::vector<Limit>& limits) {
  double cores_used = 0;
  bool measured = false;
  for (const RecordedStack& stack : test.stacks) {
    const std::optional<double> used = CoresUsed(test, stack);
    measured = measured || used.has_value();
    cores_used += used.value_or(0);
    for (const ProcessUse& process : stack.processes) {
      const double core = process.cpu_s.value_or(0) / std::max(test.seconds, 1e-9);
      if (core < kCoreFull || (run.cores && *run.cores <= 1)) continue;
      limits.push_back(
          {true, fmt::format("{} of {} kept {:.2f} cores busy: one core's worth or more.",
                             process.name, stack.name, core)});
    }
  }
  if (!measured || !run.cores || *run.cores <= 0) return;
  const double part = cores_used / *run.cores;
  limits.push_back(
      {part >= kCpuFull,
       fmt::format("CPU: all stacks together kept {:.2f} of {:g} cores busy ({}){}.", cores_used,
                   *run.cores, Percent(part),
                   part >= kCpuFull ? ": stacks slowed one another, and latency shows it" : "")});
}

void AddTierLimits(const RecordedTest& test, std::vector<Limit>& limits) {
  for (const RecordedStack& stack : test.stacks) {
    for (const TierUse& tier : stack.tiers) {
      const std::optional<double> most = tier.high_water ? tier.high_water : tier.used;
      if (!most || !tier.capacity || *tier.capacity <= 0) continue;
      const double part = *most / *tier.capacity;
      if (part < kTierFull) continue;
      limits.push_back(
          {true, fmt::format("Tier {} of {}: {} of {} at the most ({}).", tier.name, stack.name,
                             BytesText(most), BytesText(tier.capacity), Percent(part))});
    }
  }
}

void AddRateLimits(const RunFiles& run, const RecordedTest& test, std::vector<Limit>& limits) {
  if (!run.maxima.empty()) return;  // Each test had a rate of its own.
  bool all_reached = !test.stacks.empty(), measured = false;
  for (const RecordedStack& stack : test.stacks) {
    if (!stack.captured_per_s || run.updates_per_s <= 0) continue;
    measured = true;
    if (*stack.captured_per_s >= kRateReached * run.updates_per_s) continue;
    all_reached = false;
    limits.push_back(
        {true,
         fmt::format("{} captured {} rows/s of the {} that were asked for; it was offered {}.",
                     stack.name, CountText(stack.captured_per_s), CountText(run.updates_per_s),
                     CountText(stack.offered_per_s))});
  }
  if (measured && all_reached) {
    limits.push_back({false, fmt::format("The rate of {} updates/s was reached by every stack.",
                                         CountText(run.updates_per_s))});
  }
}

// Returns the median of the slices' largest values in a third of the series; nullopt without
// values.
std::optional<double> TypicalMost(const Series& series, size_t begin, size_t end) {
  std::vector<float> values;
  for (size_t i = begin; i < end; ++i) {
    if (!series[i].empty()) values.push_back(series[i].most);
  }
  if (values.size() < 3) return std::nullopt;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Adds the relay's latency: no stack can be faster than the machine allows.
void AddRelay(const RecordedTest& test, std::vector<Limit>& limits) {
  if (!test.relay.p50_ms || !test.relay.max_ms) return;
  const bool noisy = IsNoisy(test.relay.p99_ms);
  limits.push_back(
      {noisy, fmt::format("The machine itself: a bare relay beside the stacks took {} in the "
                          "median, 99 % within {}, {} at the most{}.",
                          DurationText(test.relay.p50_ms), DurationText(test.relay.p99_ms),
                          DurationText(test.relay.max_ms),
                          noisy ? ": the machine is noisy, and every latency shows that" : "")});
}

void AddGrowth(const RecordedTest& test, const TestSeries& series, std::vector<Limit>& limits) {
  const Metric metric = FreshnessMetric(test);
  bool measured = false, grew = false;
  for (size_t i = 0; i < test.stacks.size() && i < series.stacks.size(); ++i) {
    const Series& values = series.stacks[i].metrics[static_cast<size_t>(metric)];
    size_t end = values.size();  // Where the test ended.
    while (end > 0 && values[end - 1].empty()) --end;
    const auto first = TypicalMost(values, 0, end / 3);
    const auto last = TypicalMost(values, end - end / 3, end);
    if (!first || !last) continue;
    measured = true;
    if (*last < kGrowth * *first || *last - *first < kGrowthLeastMs) continue;
    grew = true;
    limits.push_back(
        {true,
         fmt::format("{} fell behind: its latency grew from {} in the first third of the test "
                     "to {} in the last.",
                     test.stacks[i].name, DurationText(first), DurationText(last))});
  }
  if (measured && !grew) {
    limits.push_back({false, "Latency did not grow over the test in any stack."});
  }
}

}  // namespace

std::string StorySentence(const RunFiles& run) {
  if (!run.maxima.empty()) return MaximaSentence(run.maxima);
  if (run.tests.empty() || run.tests[0].stacks.empty()) {
    return run.failed ? "The run failed before any test began." : "The run has no tests.";
  }
  const RecordedTest& test = WorstTest(run);
  std::string text =
      fmt::format("{} at {} updates/s", Compared(test), CountText(run.updates_per_s));
  const int64_t loaded = test.prestress_quotes.value_or(0) + test.prestress_trades.value_or(0);
  if (loaded > 0) text += fmt::format(" on {} rows", CountText(static_cast<double>(loaded)));
  text += " for " + SettingText(test.seconds * 1e3);
  if (run.tests.size() > 1) {
    text += fmt::format(" (the hardest of {}: {})",
                        Plural(static_cast<int64_t>(run.tests.size()), "test"), test.name);
  }
  text += ": " + FreshnessText(test) + ", ";
  if (const std::string query = QueryText(test); !query.empty()) text += query + ", ";
  return text + "and " + RowsText(run) + ".";
}

std::vector<std::string> Failures(const RunFiles& run) {
  std::vector<std::string> failures;
  if (run.failed) {
    failures.push_back("The run failed" + (run.reason.empty() ? "." : ": " + run.reason));
  }
  for (const RecordedTest& test : run.tests) {
    if (test.failed) {
      failures.push_back(fmt::format("Test {} failed{}", test.name,
                                     test.reason.empty() ? "." : ": " + test.reason));
    }
    for (const RecordedStack& stack : test.stacks) {
      if (stack.failed) {
        failures.push_back(fmt::format("Test {}: stack {} failed{}", test.name, stack.name,
                                       stack.reason.empty() ? "." : ": " + stack.reason));
      }
      for (const RecordedRows& rows : stack.rows) {
        if (!rows.offered || !rows.logged || !rows.captured) continue;
        if (*rows.offered == *rows.logged && *rows.offered == *rows.captured) continue;
        const auto count = [](int64_t number) { return CountText(static_cast<double>(number)); };
        failures.push_back(
            fmt::format("Test {}: stack {}: rows of {} differ: {} offered, {} logged, {} captured.",
                        test.name, stack.name, rows.table, count(*rows.offered),
                        count(*rows.logged), count(*rows.captured)));
      }
    }
  }
  return failures;
}

std::vector<Limit> Limits(const RunFiles& run, const RecordedTest& test, const TestSeries& series) {
  std::vector<Limit> limits;
  AddRateLimits(run, test, limits);
  AddGrowth(test, series, limits);
  AddCpuLimits(run, test, limits);
  AddTierLimits(test, limits);
  AddRelay(test, limits);
  std::stable_partition(limits.begin(), limits.end(),
                        [](const Limit& limit) { return limit.reached; });
  return limits;
}

}  // namespace tickstack::loadtest::report
