#pragma once

// The stacks of a test by where they keep their rows, which is what a load test compares.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loadtest/report_run.h"

namespace tickstack::loadtest::report {

struct Group {
  std::string placement;
  bool simulated = false;
  std::vector<const StackResult*> stacks;  // Of the test, which outlives this.
};

// `dram`, or `dram:2` with a count of RDBs.
bool IsDram(std::string_view placement);

// In the order of their first stacks, but DRAM first: what the others are compared with.
std::vector<Group> GroupsOf(const TestResult& test);

// What one stack gives; nullopt if it was not measured.
using Figure = std::function<std::optional<double>(const StackResult&)>;

// Over the stacks that have the figure; nullopt if none has.
std::optional<double> MeanOf(const Group& group, const Figure& figure);
std::optional<double> WorstOf(const Group& group, const Figure& figure);  // The largest.

// Bytes in use in a stack's tiers of kind `dram`, or in all the others.
std::optional<double> DramUsed(const StackResult& stack);
std::optional<double> OtherTiersUsed(const StackResult& stack);

// Memory of a stack's processes, in which pages that several have count once; nullopt if it was not
// looked at.
std::optional<double> ProcessesShare(const StackResult& stack);

// Cores that a stack's processes kept busy; nullopt if none said how long it ran.
std::optional<double> CoresUsed(const TestResult& test, const StackResult& stack);

// The least fresh of the four, by the 99 % of any stack: rows, which wait for the timer, or bars,
// which go through the whole stack but may be ahead of it. kQuoteBarLag if none was measured.
Metric FreshnessMetric(const TestResult& test);

}  // namespace tickstack::loadtest::report
