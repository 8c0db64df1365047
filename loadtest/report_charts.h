#pragma once

// What the page's script draws, and where. The script (page/report.js) gets its numbers as JSON; a
// reader without it has the tables, and one without eyes for it what each chart's label says.

#include <string>
#include <vector>

#include "loadtest/report_run.h"
#include "loadtest/report_series.h"

namespace tickstack::loadtest::report {

// The figures of a test, empty, and the key to their colours: a colour is a placement, a dash is
// which of its stacks.
std::string ChartFigures(const TestResult& test, const TestSeries& series, size_t number);

// The numbers of all charts, as ASCII JSON.
std::string ChartData(const RunFiles& run, const std::vector<TestSeries>& series);

// A distribution on a grid of quantiles. Entry k is the value that a part 1 - 10^(-k / 12) of the
// values do not exceed: 0 % is entry 0, 90 % is entry 12, 99 % is entry 24. It ends with the
// longest.
std::vector<double> QuantileCurve(const MetricResult& metric);

}  // namespace tickstack::loadtest::report
