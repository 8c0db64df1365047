#pragma once

// `tickstack hdb check DIR [--json]`: reads every file of a database and reports what is damaged,
// and where (disk/database_check.h).

#include <cstddef>
#include <string>

namespace tickstack::cli {

struct HdbCheckOptions {
  std::string directory;
  std::string config;   // Path of a configuration with [hdb.tiers]: then archived columns are read.
  bool json = false;    // True: print one JSON object.
  bool strict = false;  // True: warnings count as findings.
  size_t threads = 0;   // 0: one for each core.
};

// Prints findings and totals to stdout, errors to stderr. Returns the exit code: 0 without
// findings; 1 with findings, or if the directory could not be read. Threads: the main one.
int RunHdbCheck(const HdbCheckOptions& options);

}  // namespace tickstack::cli
