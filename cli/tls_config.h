#pragma once

// Reads the section [tls] of a stack's configuration: certificates, and what listeners and clients
// do with them. It holds for all processes of the file.

#include "absl/status/status.h"
#include "base/config.h"
#include "cli/process_table.h"

namespace tickstack::cli {

// Call it when all processes have been read. kInvalidArgument, with file, line and key, for a
// missing or superfluous key. Does not open the files: the processes do.
absl::Status ReadTls(const ConfigTable& root, StackConfig& config);

// Applies [tls] to the connections that this process makes. kInvalidArgument: a file is wrong.
absl::Status UseTls(const StackConfig& config);

}  // namespace tickstack::cli
