#pragma once

// The keys of stack.toml, and the flags, of a feed's source. Both are made from the options that
// the sources list (feed/source_options.h).
//
// Options of another kind than the chosen one are accepted, so that `source` can be changed alone.
// Their values are checked, unless the chosen kind has an option of the same key.

#include <functional>

#include "absl/status/status.h"
#include "base/config.h"
#include "feed/sources/source_registry.h"

namespace CLI {
class App;
}

namespace tickstack::cli {

// Reads `source` and the options' keys. kInvalidArgument with file, line and key.
absl::Status ReadSource(const ConfigTable& table, feed::SourceSettings& source);

// Adds `--source` and a flag for each option, such as `--batch-rows` for `batch_rows`. Returns a
// function that sets the options when all flags are known; it throws CLI::ValidationError. `source`
// outlives it.
std::function<void()> AddSourceFlags(CLI::App& command, feed::SourceSettings& source);

// Sets one option from a flag's text: a list is `aig,bac`. kInvalidArgument with what was expected.
absl::Status SetOption(const feed::SourceOption& option, const std::string& text);

}  // namespace tickstack::cli
