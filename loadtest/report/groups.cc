#include "loadtest/report/groups.h"

#include <algorithm>

namespace tickstack::loadtest::report {
namespace {

std::optional<double> UsedOfKind(const RecordedStack& stack, bool is_dram) {
  std::optional<double> used;
  for (const TierUse& tier : stack.tiers) {
    if ((tier.kind == "dram") == is_dram && tier.used) used = used.value_or(0) + *tier.used;
  }
  return used;
}

}  // namespace

bool IsDram(std::string_view placement) {
  return placement == "dram" || placement.starts_with("dram:");
}

bool IsOnTmpfs(const RecordedStack& stack) {
  if (stack.simulated) return false;
  // Older files do not have the type of the file system.
  if (stack.placement.find(":/dev/shm") != std::string::npos) return true;
  return std::ranges::any_of(stack.tiers,
                             [](const TierUse& tier) { return tier.filesystem == "tmpfs"; });
}

std::vector<Group> GroupsOf(const RecordedTest& test) {
  std::vector<Group> groups;
  for (const RecordedStack& stack : test.stacks) {
    auto group = std::find_if(groups.begin(), groups.end(), [&stack](const Group& one) {
      return one.placement == stack.placement && one.simulated == stack.simulated;
    });
    if (group == groups.end()) {
      groups.push_back({.placement = stack.placement, .simulated = stack.simulated, .stacks = {}});
      group = groups.end() - 1;
    }
    group->stacks.push_back(&stack);
  }
  std::stable_partition(groups.begin(), groups.end(),
                        [](const Group& group) { return IsDram(group.placement); });
  return groups;
}

std::optional<double> MeanOf(const Group& group, const Figure& figure) {
  double sum = 0, count = 0;
  for (const RecordedStack* stack : group.stacks) {
    const std::optional<double> value = figure(*stack);
    if (!value) continue;
    sum += *value;
    ++count;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

std::optional<double> WorstOf(const Group& group, const Figure& figure) {
  std::optional<double> worst;
  for (const RecordedStack* stack : group.stacks) {
    const std::optional<double> value = figure(*stack);
    if (value) worst = std::max(worst.value_or(*value), *value);
  }
  return worst;
}

std::optional<double> DramUsed(const RecordedStack& stack) { return UsedOfKind(stack, true); }
std::optional<double> OtherTiersUsed(const RecordedStack& stack) {
  return UsedOfKind(stack, false);
}

std::optional<double> ProcessesShare(const RecordedStack& stack) {
  std::optional<double> bytes;
  for (const ProcessUse& process : stack.processes) {
    if (process.pss_max) bytes = bytes.value_or(0) + *process.pss_max;
  }
  return bytes;
}

std::optional<double> CoresUsed(const RecordedTest& test, const RecordedStack& stack) {
  std::optional<double> seconds;
  for (const ProcessUse& process : stack.processes) {
    if (process.cpu_s) seconds = seconds.value_or(0) + *process.cpu_s;
  }
  if (!seconds || test.seconds <= 0) return std::nullopt;
  return *seconds / test.seconds;
}

Metric FreshnessMetric(const RecordedTest& test) {
  Metric worst = Metric::kQuoteBarLag;
  double worst_ms = -1;
  for (const Metric metric :
       {Metric::kQuoteBarLag, Metric::kTradeBarLag, Metric::kQuoteLag, Metric::kTradeLag}) {
    for (const RecordedStack& stack : test.stacks) {
      const double p99_ms = stack.metric(metric).whole.p99_ms.value_or(-1);
      if (p99_ms <= worst_ms) continue;
      worst = metric;
      worst_ms = p99_ms;
    }
  }
  return worst;
}

}  // namespace tickstack::loadtest::report
