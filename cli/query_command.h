#pragma once

// `tickstack query`: sends q to processes and prints the answers.

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "cli/query_output.h"
#include "wire/client.h"
#include "wire/tls_context.h"

namespace tickstack::cli {

struct QueryOptions {
  // `host:port`, `:port`, `tcps://host:port` or `unix:PATH`; several are separated by commas.
  std::string address;
  std::string query;  // A q expression; `-`: read from stdin; empty: shell or script.
  std::string file;   // A script, whose statements are evaluated one after the other.
  OutputFormat format = OutputFormat::kText;
  std::string user;  // The password is in the environment variable TICKSTACK_PASSWORD.
  // Path of a file with the line user:password; replaces `user` and the environment variable.
  std::string credentials;
  wire::TlsClientOptions tls;
  std::optional<double> timeout_s;  // Default: 30 s; in a shell, where Ctrl-C cancels, a day.
};

// Returns how to log in. Errors: those of security::LoadCredentials.
absl::StatusOr<wire::ClientOptions> LoginOf(const QueryOptions& options);

// Sends queries to processes that speak kdb+ IPC, and prints the answers to stdout. The queries
// come from the command line, a script (or stdin, if that is not a terminal), or a shell
// (query_shell.h). On a terminal, a long table is cut at the screen's height. Returns 0; or 1 with
// the reason on stderr: q's error as `'type`, with file and line if it came from a script, or the
// address that does not answer.
int RunQuery(const QueryOptions& options);

}  // namespace tickstack::cli
