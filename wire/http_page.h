#pragma once

// Renders values as HTML pages for a browser. A page is one file without scripts, readable on a
// phone, in dark mode and on paper. Everything that a value contains is escaped.

#include <string>
#include <string_view>
#include <vector>

#include "table/value.h"

namespace tickstack::wire {

// Rows of a table, or lines of anything else, that a page shows. It gives the full number, and
// links to all rows as CSV, JSON and text.
inline constexpr size_t kPageRows = 1000;

// `query` is the question as it was asked. Cost: the shown rows. Threads: any.
std::string AnswerPage(std::string_view query, const Value& answer);
// Shows an error, `what`, above the question, which can be edited and asked again.
std::string ErrorPage(std::string_view query, std::string_view what);
// Lists the tables that can be queried.
std::string IndexPage(const std::vector<std::string>& tables);

}  // namespace tickstack::wire
