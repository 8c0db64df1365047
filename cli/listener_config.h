#pragma once

// The keys of stack.toml, and the flags, of a process's listener. A new option of all listeners
// needs a key here, and a field and its effect in wire/listener_options.h.

#include <functional>
#include <string>

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

// Adds --take-over, for a process of this role that can take the place of a running one. Returns a
// function that checks the flag when all flags are known. It throws CLI::ValidationError.
std::function<void()> AddTakeOverFlag(CLI::App& command, const std::string& role,
                                      const wire::ListenerOptions& listener, bool& take_over);

}  // namespace tickstack::cli
