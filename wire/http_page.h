#pragma once

// Values as pages of HTML: what a browser shows of an answer. A page is one file without scripts,
// readable on a phone, in the dark and on paper; whatever a value holds is escaped.

#include <string>
#include <string_view>
#include <vector>

#include "table/value.h"

namespace tickstack::wire {

// Rows of a table, or lines of anything else, that a page shows; it says how many there are, and
// links to all of them as CSV, JSON and text.
inline constexpr size_t kPageRows = 1000;

// `query` as it was asked. Cost: the rows that are shown. Threads: any.
std::string AnswerPage(std::string_view query, const Value& answer);
// What went wrong, above the question that can be asked again; `what` as people read it.
std::string ErrorPage(std::string_view query, std::string_view what);
// What there is to ask for.
std::string IndexPage(const std::vector<std::string>& tables);

}  // namespace tickstack::wire
