#pragma once

// `tickstack hdb check DIR [--json]`: reads every file of a database and says what is damaged, and
// where (disk/database_check.h).

#include <cstddef>
#include <string>

namespace tickstack {

struct HdbCheckOptions {
  std::string directory;
  bool json = false;    // One object.
  bool strict = false;  // Warnings count as findings.
  size_t threads = 0;   // 0: as many as there are cores.
};

// Findings and totals to stdout, errors to stderr. Returns the exit code: 0 sound, 1 there are
// findings, or the directory could not be read. Threads: the main one.
int RunHdbCheck(const HdbCheckOptions& options);

}  // namespace tickstack
