#pragma once

// Searches for the highest rate that a stack sustains: the feed keeps its schedule, every row is
// captured, and the 99th percentile of each lag (of the newest trade, quote and bars) stays below a
// bound.
//
// The search doubles the rate until one of these breaks, or halves it until all hold. Then it
// halves the gap between the two until the gap is 5 %, and confirms the highest rate that held in a
// run of the full length. If that run breaks, it tries again at 5 % less. A short run that breaks
// is repeated once, since a stall of the machine says nothing about the rate. Lags of the first two
// seconds of each run, or of the first quarter of a short run, are dropped: memory, connections and
// symbols are new then, which happens once a day.

#include <functional>
#include <optional>
#include <string>

#include "loadtest/result.h"
#include "loadtest/summary.h"

namespace tickstack::loadtest {

// Runs a test. `is_probe` is true for a short one.
using RunOneTest = std::function<TestResult(const TestSpec& test, bool is_probe)>;

// Returns what did not hold; nullopt if everything did. `below_ms` bounds the 99th percentile of
// each lag.
std::optional<std::string> BrokenBound(const TestResult& test, double below_ms);

// Searches for the highest rate of the first stack of `test`. The test's profile gives the first
// rate and the length of the confirmation. `confirmed` receives the confirmation, or the last one
// that failed.
FoundMaximum FindMaximum(const TestSpec& test, double below_ms, const RunOneTest& run,
                         std::optional<TestResult>& confirmed);

}  // namespace tickstack::loadtest
