#pragma once

#include <CLI/App.hpp>
#include <string>

namespace tickstack::cli {

// Returns what is wrong with a command line, in one line: an unknown flag with the one that may
// have been meant, or a value that is no number of those that its flag takes, with what was
// expected. For any other error, CLI11's own text.
std::string UsageErrorText(const CLI::App& app, const CLI::ParseError& error);

}  // namespace tickstack::cli
