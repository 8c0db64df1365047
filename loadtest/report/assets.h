#pragma once

// Style sheets, scripts and a licence that the report's page contains. The build copies them from
// loadtest/report/page/ and third_party/uplot/ into the program (cmake/tickstack_embed.cmake).

#include <string_view>

namespace tickstack::loadtest::report {

extern const std::string_view kReportCss;
extern const std::string_view kReportJs;
extern const std::string_view kUPlotIifeMinJs;
extern const std::string_view kUPlotMinCss;
extern const std::string_view kLICENSE;  // The licence of uPlot.

}  // namespace tickstack::loadtest::report
