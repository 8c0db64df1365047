#pragma once

// `tickstack --version`: what this program is, and which files and peers it understands.

#include <string>
#include <vector>

namespace tickstack::cli {

// True if the command line, without the program's name, is `--version`, with or without `--json`.
bool AsksForVersion(const std::vector<std::string>& args);

// Prints the version, the commit, and the versions of the protocol and of each format that
// tickstack itself defines. Returns 0.
int RunVersion(bool json);

}  // namespace tickstack::cli
