#pragma once

// `tickstack report DIR`: makes the page of a load test's run again from its files.

#include <string>

namespace tickstack {

// Prints the page's path to stdout, errors to stderr. Returns the exit code: 0 made, 1 not. Threads:
// the main one.
int RunReport(const std::string& run_directory);

}  // namespace tickstack
