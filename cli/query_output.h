#pragma once

// Formats and writes answers: to a terminal, a file or a pager.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/query_servers.h"
#include "table/format_value.h"
#include "table/value.h"

namespace tickstack::cli {

enum class OutputFormat { kText, kJson, kCsv, kParquet, kArrow };

// True for formats of one table of one server, which are not for terminals; use FormatTable.
constexpr bool IsTableFile(OutputFormat format) {
  return format == OutputFormat::kParquet || format == OutputFormat::kArrow;
}
// Returns a table in such a format. kInvalidArgument for a value that the format cannot have.
absl::StatusOr<std::string> FormatTable(const Value& table, OutputFormat format);

// Returns how much fits on stdout's screen if it is a terminal; the prompt needs the last line.
TextLimits TerminalLimits();

std::string Formatted(const Value& value, OutputFormat format, const TextLimits& limits);

// Formats the answers of several servers, each under its name; in JSON, as one object with an entry
// for each server.
std::string Formatted(const std::vector<QueryServers::Answered>& answers, OutputFormat format,
                      const TextLimits& limits);

// Returns an error as q shows it: q's own errors after a quote.
std::string ErrorText(const absl::Status& error);

// Writes to stdout. On failure, prints the reason to stderr and returns false.
bool WriteOut(std::string_view text);

// Shows text in $PAGER, else in `less -FRSX`, and waits for its end; prints to stdout if there is
// neither.
void ShowInPager(const std::string& text);

}  // namespace tickstack::cli
