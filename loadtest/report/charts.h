#pragma once

// The places and the numbers of the page's charts. The script (page/report.js) draws them from
// JSON. A reader without scripts has the tables, and a screen reader reads each chart's label.

#include <string>
#include <vector>

#include "loadtest/report/run.h"
#include "loadtest/report/series.h"

namespace tickstack::loadtest::report {

// Returns the empty figures of a test and the key to their lines: the colour shows the placement,
// and the dash which stack of that placement.
std::string ChartFigures(const RecordedTest& test, const TestSeries& series, size_t number);

// Returns the numbers of all charts as ASCII JSON.
std::string ChartData(const RunFiles& run, const std::vector<TestSeries>& series);

// Returns a distribution on a grid of quantiles. Entry k is the value that a fraction of
// 1 - 10^(-k / 12) of the values do not exceed: 0 % is entry 0, 90 % is entry 12, 99 % is entry 24.
// The last entry is the largest value.
std::vector<double> QuantileCurve(const MetricResult& metric);

}  // namespace tickstack::loadtest::report
