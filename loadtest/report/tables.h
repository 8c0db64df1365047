#pragma once

// The report's tables as HTML, complete without scripts. They escape all texts.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "loadtest/report/run.h"

namespace tickstack::loadtest::report {

// A table that scrolls within its own box if it is wider than the page. The first cell of each row
// is its heading.
class HtmlTable {
 public:
  // `id` must be unique on the page and trusted; the caption is plain text.
  HtmlTable(std::string_view id, std::string_view caption);
  // Adds the headings of the columns, as HTML.
  void Head(const std::vector<std::string>& cells_html);
  // Adds headings above those: pairs of a text and the number of columns that it spans.
  void Span(const std::vector<std::pair<std::string, size_t>>& cells);
  void Group(std::string_view text);  // Adds a heading between rows.
  void Row(std::string_view heading, const std::vector<std::string>& cells);
  // Adds a row whose cells are HTML already.
  void RowOfHtml(std::string_view heading_html, const std::vector<std::string>& cells_html);
  std::string Finish();

 private:
  void Open(std::string_view part);  // Opens thead or tbody and closes the previous one.

  std::string html_;
  std::string_view open_;
  size_t columns_ = 1;
};

// Returns a stack's name as HTML, with a mark if a tier is simulated or is a tmpfs.
std::string StackLabel(const RecordedStack& stack);

// Returns the paper's findings with ours beside each row whose timers a test has; empty if none
// has.
std::string PaperTable(const RunFiles& run);

// Returns a test's stacks side by side, with the ratio of each placement to the first.
std::string SideBySideTable(const RecordedTest& test, size_t number);
// Returns the table of all percentiles.
std::string PercentileTable(const RecordedTest& test, size_t number);
// Returns the table of rows offered, logged and captured.
std::string RowsTable(const RecordedTest& test, size_t number);
// Returns the table of bytes by tier, which are also drawn as bars.
std::string TierTable(const RecordedTest& test, size_t number);
std::string ProcessTable(const RecordedTest& test, size_t number);
// Returns the table of the processes' shares of memory; "" if none was measured.
std::string ShareTable(const RecordedTest& test, size_t number);
// Returns the table of the steps in the search for a stack's highest rate.
std::string MaximumTable(const Maximum& maximum, size_t number);
std::string EnvironmentTable(const RunFiles& run);

}  // namespace tickstack::loadtest::report
