#pragma once

// The report's tables as HTML, complete without scripts. Texts are escaped here.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "loadtest/report_run.h"

namespace tickstack::loadtest::report {

// A table that scrolls in its own box where it is wider than the page, with the first cell of each
// row as its heading.
class HtmlTable {
 public:
  // `id` is unique on the page and ours; the caption is plain text.
  HtmlTable(std::string_view id, std::string_view caption);
  // Headings of the columns, as HTML.
  void Head(const std::vector<std::string>& cells_html);
  // Headings above those: a text and how many columns it spans.
  void Span(const std::vector<std::pair<std::string, size_t>>& cells);
  void Group(std::string_view text);  // A heading between rows.
  void Row(std::string_view heading, const std::vector<std::string>& cells);
  // Where a cell is HTML already.
  void RowOfHtml(std::string_view heading_html, const std::vector<std::string>& cells_html);
  std::string Finish();

 private:
  void Open(std::string_view part);  // thead or tbody; closes the one before.

  std::string html_;
  std::string_view open_;
  size_t columns_ = 1;
};

// A stack's name with its mark if it is simulated, as HTML.
std::string StackLabel(const StackResult& stack);

// What the paper found, with ours beside it where a test has a row's timers; empty if none has.
std::string PaperTable(const RunFiles& run);

// A test's stacks side by side with the ratio of each placement to the first.
std::string SideBySideTable(const TestResult& test, size_t number);
// Every percentile.
std::string PercentileTable(const TestResult& test, size_t number);
// Rows offered, logged and captured.
std::string RowsTable(const TestResult& test, size_t number);
// Bytes by tier, as bars too.
std::string TierTable(const TestResult& test, size_t number);
std::string ProcessTable(const TestResult& test, size_t number);
// "" if no stack's processes were looked at.
std::string ShareTable(const TestResult& test, size_t number);
// The search for a stack's highest rate, step by step.
std::string MaximumTable(const Maximum& maximum, size_t number);
std::string EnvironmentTable(const RunFiles& run);

}  // namespace tickstack::loadtest::report
