#pragma once

// Groups the stacks of a test by placement, which is what a load test compares.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loadtest/report/run.h"

namespace tickstack::loadtest::report {

struct Group {
  std::string placement;
  bool simulated = false;
  std::vector<const RecordedStack*>
      stacks;  // Pointers into the test, which must outlive the group.
};

// True for `dram`, and for `dram:2` with its count of rdbs.
bool IsDram(std::string_view placement);

// True if the tier beside DRAM is a tmpfs, which is DRAM, too. Always false for simulated tiers,
// whose speed a model determines.
bool IsOnTmpfs(const RecordedStack& stack);

// Returns the groups in the order of their first stacks, except that DRAM, the baseline, is first.
std::vector<Group> GroupsOf(const RecordedTest& test);

// Returns a figure of one stack; nullopt if it was not measured.
using Figure = std::function<std::optional<double>(const RecordedStack&)>;

// Return the mean and the largest value over the stacks that have the figure; nullopt if none has.
std::optional<double> MeanOf(const Group& group, const Figure& figure);
std::optional<double> WorstOf(const Group& group, const Figure& figure);

// Return the bytes in use in a stack's tiers of kind `dram`, and in all its other tiers.
std::optional<double> DramUsed(const RecordedStack& stack);
std::optional<double> OtherTiersUsed(const RecordedStack& stack);

// Returns the memory of a stack's processes, counting shared pages once; nullopt if it was not
// measured.
std::optional<double> ProcessesShare(const RecordedStack& stack);

// Returns how many cores a stack's processes kept busy; nullopt if no duration is known.
std::optional<double> CoresUsed(const RecordedTest& test, const RecordedStack& stack);

// Returns which of the four lags has the highest 99th percentile in any stack. It may be one of
// rows, which wait for the publish interval, or one of bars, which pass through the whole stack.
// kQuoteBarLag if none was measured.
Metric FreshnessMetric(const RecordedTest& test);

}  // namespace tickstack::loadtest::report
