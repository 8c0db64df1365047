#include "cli/query_output.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "base/status.h"
#include "interchange/arrow_stream.h"
#include "interchange/parquet.h"

namespace tickstack::cli {

TextLimits TerminalLimits() {
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
  if (size.ws_row < 4 || size.ws_col < 10) return {};
  return {.lines = size.ws_row - size_t{1}, .columns = size.ws_col};
}

absl::StatusOr<std::string> FormatTable(const Value& table, OutputFormat format) {
  return format == OutputFormat::kArrow ? interchange::FormatArrow(table)
                                        : interchange::FormatParquet(table);
}

std::string Formatted(const Value& value, OutputFormat format, const TextLimits& limits) {
  switch (format) {
    case OutputFormat::kJson:
      return FormatJson(value) + "\n";
    case OutputFormat::kCsv:
      return FormatCsv(value);
    case OutputFormat::kText:
    case OutputFormat::kParquet:
    case OutputFormat::kArrow:
      break;
  }
  return FormatText(value, limits);
}

std::string Formatted(const std::vector<QueryServers::Answered>& answers, OutputFormat format,
                      const TextLimits& limits) {
  std::string text;
  for (const QueryServers::Answered& answered : answers) {
    const bool ok = answered.answer.ok();
    const std::string error = ok ? "" : ErrorText(answered.answer.status());
    if (format == OutputFormat::kJson) {
      text += fmt::format("{}{}:{}", text.empty() ? "{" : ",",
                          FormatJson(Value::String(answered.address)),
                          ok ? FormatJson(*answered.answer)
                             : fmt::format("{{\"error\":{}}}", FormatJson(Value::String(error))));
    } else {
      text += fmt::format("{}:\n{}", answered.address,
                          ok ? Formatted(*answered.answer, format, limits) : error + "\n");
    }
  }
  return format == OutputFormat::kJson ? text + "}\n" : text;
}

namespace {

// A server's error must not control the terminal; FormatText and JSON escape answers themselves.
std::string WithoutControls(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string ErrorText(const absl::Status& error) {
  const bool from_q = error.code() == absl::StatusCode::kUnknown;
  return fmt::format("{}{}", from_q ? "'" : "", WithoutControls(Message(error)));
}

bool WriteOut(std::string_view text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written) std::perror("stdout");
  return written;
}

void ShowInPager(const std::string& text) {
  const char* const asked = std::getenv("PAGER");
  const std::string command =
      fmt::format("{} 2>/dev/null || cat", asked != nullptr && *asked != 0 ? asked : "less -FRSX");
  // A pager that is closed early takes no more; that must not end this process.
  void (*const before)(int) = ::signal(SIGPIPE, SIG_IGN);
  std::fflush(stdout);
  FILE* const pager = ::popen(command.c_str(), "w");
  if (pager == nullptr) {
    WriteOut(text);
  } else {
    std::fwrite(text.data(), 1, text.size(), pager);
    ::pclose(pager);
  }
  ::signal(SIGPIPE, before);
}

}  // namespace tickstack::cli
