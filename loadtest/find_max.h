#pragma once

// The highest rate that a stack sustains: the feed is in time, everything is captured, and 99 of
// 100 looks at the newest trade, quote and bars find them younger than a bound.
//
// Doubles the rate until something breaks, or halves it until nothing does, halves the gap until it
// is 5 %, and confirms what held for the full length; what does not hold that long is tried again a
// twentieth lower. A short run that breaks is run once more: a stall of the machine is not the
// rate's. Lags of the first two seconds of each run do not count, of short runs those of its
// first quarter: memory, connections and symbols are new then, once a day.

#include <functional>
#include <optional>
#include <string>

#include "loadtest/result.h"
#include "loadtest/summary.h"

namespace tickstack::loadtest {

// Runs a test; `is_probe` says that it is a short one.
using RunOneTest = std::function<TestResult(const TestSpec& test, bool is_probe)>;

// What did not hold; nullopt: all did. `below_ms` bounds the 99th percentile of each lag.
std::optional<std::string> WhatBroke(const TestResult& test, double below_ms);

// Searches for the first stack of `test`, whose profile says how long the confirmation is and where
// to begin. `confirmed` gets the confirmation, or the last one that failed.
FoundMaximum FindMaximum(const TestSpec& test, double below_ms, const RunOneTest& run,
                         std::optional<TestResult>& confirmed);

}  // namespace tickstack::loadtest
