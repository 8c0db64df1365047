#pragma once

// The page's charts: their places in the HTML, and their numbers. The script (page/report.js) draws
// them from JSON. A reader without scripts has the tables, and a screen reader reads each chart's
// label.

#include <string>
#include <vector>

#include "loadtest/report/run.h"
#include "loadtest/report/series.h"

namespace tickstack::loadtest::report {

// Returns the empty figures of a test and the key to their lines: the colour shows the placement,
// and the dash pattern shows which stack of that placement it is.
std::string ChartFigures(const RecordedTest& test, const TestSeries& series, size_t number);

// Returns the numbers of all charts as ASCII JSON.
std::string ChartData(const RunFiles& run, const std::vector<TestSeries>& series);

// Returns a distribution on a grid of quantiles. Entry k is the quantile 1 - 10^(-k / 12): entry 0
// is the 0 % quantile, entry 12 the 90 % quantile, and entry 24 the 99 % quantile. The last entry
// is the largest value. Empty without values.
std::vector<double> QuantileCurve(const MetricResult& metric);

}  // namespace tickstack::loadtest::report
