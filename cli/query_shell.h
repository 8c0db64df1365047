#pragma once

// The shell of `tickstack query ADDRESS`: a prompt with editing, history and completion of tables,
// columns and functions. Input is sent to the server; `\h` lists the shell's own commands.

#include <chrono>
#include <memory>

#include "cli/query_command.h"
#include "cli/query_servers.h"

namespace tickstack::cli {

// Runs the shell until its end is typed. Ctrl-C drops a line, or cancels the pending query, also at
// the server. Blocks. Returns the exit code.
int RunQueryShell(std::unique_ptr<QueryServers> servers, const QueryOptions& options,
                  std::chrono::milliseconds timeout);

}  // namespace tickstack::cli
