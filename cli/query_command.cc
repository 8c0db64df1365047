#include "cli/query_command.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string_view>

#include "base/status.h"
#include "table/format_value.h"
#include "wire/client.h"

namespace tickstack {
namespace {

// What stdout shows at once, if it is a terminal; the last line is left to the prompt.
TextLimits TerminalLimits() {
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
  if (size.ws_row < 4 || size.ws_col < 10) return {};
  return {.lines = size.ws_row - size_t{1}, .columns = size.ws_col};
}

std::string Formatted(const Value& value, OutputFormat format) {
  switch (format) {
    case OutputFormat::kJson:
      return FormatJson(value) + "\n";
    case OutputFormat::kCsv:
      return FormatCsv(value);
    case OutputFormat::kText:
      break;
  }
  return FormatText(value, TerminalLimits());
}

absl::StatusOr<Value> AskOnce(const QueryOptions& options) {
  TS_ASSIGN_OR_RETURN(const wire::Address address, wire::ParseAddress(options.address));
  std::string query = options.query;
  if (query == "-") query.assign(std::istreambuf_iterator<char>(std::cin), {});
  wire::ClientOptions client;
  client.user = options.user;
  if (const char* password = std::getenv("TICKSTACK_PASSWORD")) client.password = password;
  const std::chrono::milliseconds timeout(static_cast<int64_t>(options.timeout_s * 1000));
  return wire::Ask(address, Value::String(query), timeout, client);
}

}  // namespace

int RunQuery(const QueryOptions& options) {
  const absl::StatusOr<Value> answer = AskOnce(options);
  if (!answer.ok()) {
    // kUnknown carries q's own error text, and q shows that behind a quote.
    const bool from_q = answer.status().code() == absl::StatusCode::kUnknown;
    const std::string_view message = Message(answer.status());
    std::fprintf(stderr, "%s%.*s\n", from_q ? "'" : "", static_cast<int>(message.size()),
                 message.data());
    return EXIT_FAILURE;
  }
  const std::string text = Formatted(*answer, options.format);
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written) std::perror("stdout");
  return written ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace tickstack
