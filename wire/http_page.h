#pragma once

// Renders values as HTML pages for a browser. A page is one file without scripts, readable on a
// phone, in dark mode and on paper. Everything that a value contains is escaped.

#include <string>
#include <string_view>
#include <vector>

#include "table/value.h"

namespace tickstack::wire {

// Number of a table's rows, or of another value's lines, that a page shows at most. The page states
// the full number, and links to all rows as CSV, JSON and text.
inline constexpr size_t kPageRows = 1000;

// Shows an answer below its query, which can be edited and asked again. Cost: O(shown rows).
// Threads: any.
std::string AnswerPage(std::string_view query, const Value& answer);
// Shows the error `what` in the same way.
std::string ErrorPage(std::string_view query, std::string_view what);
// Lists the tables that can be queried.
std::string IndexPage(const std::vector<std::string>& tables);

}  // namespace tickstack::wire
