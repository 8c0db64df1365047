#pragma once

// Files that are parts of the report's page, built into the program (cmake/tickstack_embed.cmake).

#include <string_view>

namespace tickstack::loadtest::report {

extern const std::string_view kReportCss;       // page/report.css
extern const std::string_view kReportJs;        // page/report.js
extern const std::string_view kUPlotIifeMinJs;  // third_party/uplot
extern const std::string_view kUPlotMinCss;
extern const std::string_view kLICENSE;

}  // namespace tickstack::loadtest::report
