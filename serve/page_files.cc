#include "serve/page_files.h"

#include <array>
#include <string_view>

#include "serve/page/assets.h"

namespace tickstack::serve {
namespace {

constexpr std::string_view kPage = "text/html; charset=utf-8";
constexpr std::string_view kStyle = "text/css; charset=utf-8";
constexpr std::string_view kScript = "text/javascript; charset=utf-8";
constexpr std::string_view kText = "text/plain; charset=utf-8";

}  // namespace

std::span<const wire::PageFile> PageFiles() {
  static const std::array kFiles = {
      wire::PageFile{"/", kPage, page::kLiveHtml},
      wire::PageFile{"/page/live.css", kStyle, page::kLiveCss},
      wire::PageFile{"/page/live.js", kScript, page::kLiveJs},
      wire::PageFile{"/console", kPage, page::kConsoleHtml},
      wire::PageFile{"/page/theme.css", kStyle, page::kThemeCss},
      wire::PageFile{"/page/console.css", kStyle, page::kConsoleCss},
      wire::PageFile{"/page/console.js", kScript, page::kConsoleJs},
      wire::PageFile{"/page/console_chart.js", kScript, page::kConsoleChartJs},
      wire::PageFile{"/page/console_editor.js", kScript, page::kConsoleEditorJs},
      wire::PageFile{"/page/console_table.js", kScript, page::kConsoleTableJs},
      wire::PageFile{"/page/uplot.js", kScript, page::kUPlotIifeMinJs},
      wire::PageFile{"/page/uplot.css", kStyle, page::kUPlotMinCss},
      wire::PageFile{"/page/uplot.txt", kText, page::kLICENSE},
  };
  return kFiles;
}

}  // namespace tickstack::serve
