#pragma once

// The shell of `tickstack query ADDRESS`: a prompt with editing, history and completion of tables,
// columns and functions. What is typed goes to the server; `\h` lists what the shell does itself.

#include <chrono>
#include <memory>

#include "cli/query_command.h"
#include "cli/query_servers.h"

namespace tickstack {

// Until its end is typed. Ctrl-C drops a line, or ends the question that is waited for, at the
// server too. Blocks.
int RunQueryShell(std::unique_ptr<QueryServers> servers, const QueryOptions& options,
                  std::chrono::milliseconds timeout);

}  // namespace tickstack
