#pragma once

#include <optional>
#include <string>

#include "cli/query_output.h"

namespace tickstack {

struct QueryOptions {
  std::string address;  // `host:port`, `:port`, `unix:PATH`; several with commas between.
  std::string query;    // A q expression; `-`: read from stdin; empty: a shell or script.
  std::string file;     // A script, whose statements are asked one after the other.
  OutputFormat format = OutputFormat::kText;
  std::string user;  // The password is in the environment variable TICKSTACK_PASSWORD.
  std::optional<double> timeout_s;  // Default: 30 s; in a shell, where Ctrl-C cancels, a day.
};

// Asks processes that speak kdb+ IPC and writes the answers to stdout: a question, the statements
// of a script (also of stdin, if that is no terminal), or what is typed into a shell
// (query_shell.h). On a terminal a long table is cut at the screen's height. 0; 1 with the reason
// on stderr: q's error as `'type`, with file and line if it came from a script, or who does not
// answer.
int RunQuery(const QueryOptions& options);

}  // namespace tickstack
