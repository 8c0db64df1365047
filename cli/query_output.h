#pragma once

// How answers are written: to a terminal, a file or a pager.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "cli/query_servers.h"
#include "table/format_value.h"
#include "table/value.h"

namespace tickstack {

// Parquet is of one table of one server, and not for a terminal: FormatParquet makes it.
enum class OutputFormat { kText, kJson, kCsv, kParquet };

// What stdout shows at once, if it is a terminal; the last line is left to the prompt.
TextLimits TerminalLimits();

std::string Formatted(const Value& value, OutputFormat format, const TextLimits& limits);

// Of several servers, each under its name; in JSON one object with an entry for each.
std::string Formatted(const std::vector<QueryServers::Answered>& answers, OutputFormat format,
                      const TextLimits& limits);

// As q shows it: its own errors behind a quote.
std::string ErrorText(const absl::Status& error);

// To stdout; false, and why on stderr, if it does not take it.
bool WriteOut(std::string_view text);

// Through $PAGER, else `less -FRSX`; to stdout if there is none. Waits for its end.
void ShowInPager(const std::string& text);

}  // namespace tickstack
