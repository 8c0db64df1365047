#pragma once

// Style sheets, scripts and a licence that the report's page contains. The build copies the files
// into the program (cmake/tickstack_embed.cmake).

#include <string_view>

namespace tickstack::loadtest::report {

extern const std::string_view kReportCss;       // From page/report.css.
extern const std::string_view kReportJs;        // From page/report.js.
extern const std::string_view kUPlotIifeMinJs;  // These three are from third_party/uplot.
extern const std::string_view kUPlotMinCss;
extern const std::string_view kLICENSE;

}  // namespace tickstack::loadtest::report
