#pragma once

// The keys of stack.toml, and the flags, of a process's listener. A new option of all listeners is
// a key here, and a field with its effect in wire/listener_options.h.

#include "absl/status/status.h"
#include "base/config.h"
#include "wire/listener_options.h"

namespace CLI {
class App;
}

namespace tickstack::cli {

// Reads the keys of one process's section. Errors: kInvalidArgument with file, line and key.
absl::Status ReadListener(const ConfigTable& section, wire::ListenerOptions& listener);

// Adds the flags, whose defaults are the values in `listener`. It must outlive `command`.
void AddListenerFlags(CLI::App& command, wire::ListenerOptions& listener);

}  // namespace tickstack::cli
