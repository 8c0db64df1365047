#pragma once

// `tickstack log dump|check|repair FILE`: a look at, a verdict on, and a cure for a tickerplant
// log. The results go to stdout, errors to stderr; the return value is the exit code: 0 done and
// nothing wrong, 1 something is wrong with the log, or it could not be read. Threads: the main one.

#include <cstdint>
#include <limits>
#include <string>

namespace tickstack {

struct LogDumpOptions {
  std::string file;
  bool json = false;    // One object per line: seq, offset, bytes, verb, table, rows.
  bool values = false;  // Also the rows themselves.
  uint64_t from = 0;    // Number of the first message.
  uint64_t count = std::numeric_limits<uint64_t>::max();
  std::string table;  // Only messages of this table; empty: all. `count` counts those.
};

struct LogCheckOptions {
  std::string file;
  bool json = false;  // One object.
};

struct LogRepairOptions {
  std::string file;
  bool json = false;  // One object.
  // Go on after damage in the middle: what is whole is written to FILE.repaired, FILE stays.
  bool skip_damaged = false;
};

int RunLogDump(const LogDumpOptions& options);
int RunLogCheck(const LogCheckOptions& options);
int RunLogRepair(const LogRepairOptions& options);

}  // namespace tickstack
