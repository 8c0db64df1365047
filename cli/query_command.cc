#include "cli/query_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>

#include "base/status.h"
#include "cli/query_servers.h"
#include "cli/query_shell.h"
#include "cli/query_words.h"
#include "security/credentials_file.h"

namespace tickstack::cli {
namespace {

constexpr double kTimeoutSeconds = 30, kShellTimeoutSeconds = 86'400;

std::chrono::milliseconds TimeoutOf(const QueryOptions& options, double otherwise) {
  return std::chrono::milliseconds(
      static_cast<int64_t>(options.timeout_s.value_or(otherwise) * 1000));
}

absl::StatusOr<std::unique_ptr<QueryServers>> ConnectTo(const QueryOptions& options) {
  if (options.tls.is_set()) TS_RETURN_IF_ERROR(wire::SetTlsClientOptions(options.tls));
  TS_ASSIGN_OR_RETURN(const wire::ClientOptions client, LoginOf(options));
  return QueryServers::Connect(options.address, client);
}

bool PrintError(std::string_view place, const absl::Status& why) {
  std::fprintf(stderr, "%.*s%s\n", static_cast<int>(place.size()), place.data(),
               ErrorText(why).c_str());
  return false;
}

// Returns false if it failed, after printing `place` and the reason to stderr.
bool AskAndWrite(QueryServers& servers, const std::string& query, const QueryOptions& options,
                 std::string_view place) {
  const auto answers = servers.Ask(query, TimeoutOf(options, kTimeoutSeconds));
  if (answers.size() == 1) {
    if (!answers[0].answer.ok()) return PrintError(place, answers[0].answer.status());
    if (IsTableFile(options.format)) {
      const absl::StatusOr<std::string> file = FormatTable(*answers[0].answer, options.format);
      return file.ok() ? WriteOut(*file) : PrintError(place, file.status());
    }
    return WriteOut(Formatted(*answers[0].answer, options.format, TerminalLimits()));
  }
  bool ok = WriteOut(Formatted(answers, options.format, TerminalLimits()));
  for (const QueryServers::Answered& answered : answers) {
    if (!answered.answer.ok()) {
      ok = PrintError(fmt::format("{}{}: ", place, answered.address), answered.answer.status());
    }
  }
  return ok;
}

std::string RestOfStdin() { return {std::istreambuf_iterator<char>(std::cin), {}}; }

int RunScript(QueryServers& servers, const QueryOptions& options) {
  std::string script, name = "stdin";
  if (options.file.empty()) {
    script = RestOfStdin();
  } else {
    name = options.file;
    absl::StatusOr<std::string> read = ReadScript(options.file);
    if (!read.ok()) {
      PrintError("", read.status());
      return EXIT_FAILURE;
    }
    script = *std::move(read);
  }
  for (const Statement& statement : StatementsOf(script)) {
    const std::string place = fmt::format("{}:{}: ", name, statement.line);
    if (!AskAndWrite(servers, statement.text, options, place)) return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

absl::Status CheckTableFile(const QueryOptions& options, size_t servers) {
  const std::string_view flag = options.format == OutputFormat::kArrow ? "--arrow" : "--parquet";
  if (servers > 1)
    return InvalidArgument("{} writes the answer of one server: expected one address", flag);
  if (options.query.empty()) {
    return InvalidArgument("{} writes one answer: expected an expression, or - for stdin", flag);
  }
  if (isatty(STDOUT_FILENO) != 0) {
    return InvalidArgument("{} does not write to a terminal: redirect stdout to a file", flag);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<wire::ClientOptions> LoginOf(const QueryOptions& options) {
  wire::ClientOptions client;
  client.user = options.user;
  if (!options.credentials.empty()) {
    TS_ASSIGN_OR_RETURN(const security::FileCredentials file,
                        security::LoadCredentials(options.credentials));
    client.user = file.user;
    client.password = file.password.text();
  } else if (const char* password = std::getenv("TICKSTACK_PASSWORD")) {
    client.password = password;
  }
  return client;
}

int RunQuery(const QueryOptions& options) {
  absl::StatusOr<std::unique_ptr<QueryServers>> servers = ConnectTo(options);
  if (!servers.ok()) {
    PrintError("", servers.status());
    return EXIT_FAILURE;
  }
  if (IsTableFile(options.format)) {
    if (const absl::Status fits = CheckTableFile(options, (*servers)->size()); !fits.ok()) {
      PrintError("", fits);
      return EXIT_FAILURE;
    }
  }
  if ((*servers)->size() > 1 && options.format == OutputFormat::kCsv) {
    PrintError("", InvalidArgument("CSV cannot show the names of several servers; use --json"));
    return EXIT_FAILURE;
  }
  if (!options.query.empty()) {
    const std::string query = options.query == "-" ? RestOfStdin() : options.query;
    return AskAndWrite(**servers, query, options, "") ? EXIT_SUCCESS : EXIT_FAILURE;
  }
  if (!options.file.empty() || isatty(STDIN_FILENO) == 0) return RunScript(**servers, options);
  return RunQueryShell(*std::move(servers), options, TimeoutOf(options, kShellTimeoutSeconds));
}

}  // namespace tickstack::cli
