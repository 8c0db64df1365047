#pragma once

// The files of the pages in the program. The build copies them (cmake/tickstack_embed.cmake);
// serve/page_files.cc has their paths.

#include <string_view>

namespace tickstack::serve::page {

extern const std::string_view kLiveHtml;  // The live page, at `/`.
extern const std::string_view kLiveCss;
extern const std::string_view kLiveJs;
extern const std::string_view kConsoleHtml;  // The query console, at `/console`.
extern const std::string_view kConsoleCss, kConsoleJs;
extern const std::string_view kConsoleChartJs, kConsoleEditorJs, kConsoleTableJs;
extern const std::string_view kThemeCss;        // Colours and fonts of all pages.
extern const std::string_view kUPlotIifeMinJs;  // These three are from third_party/uplot.
extern const std::string_view kUPlotMinCss;
extern const std::string_view kLICENSE;

}  // namespace tickstack::serve::page
