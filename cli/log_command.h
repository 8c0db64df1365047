#pragma once

// `tickstack log dump|check|repair FILE`: shows, checks and repairs a tickerplant log. Results go
// to stdout, errors to stderr. The exit code is 0 if it is done and nothing is wrong; 1 if the log
// has problems or could not be read. Threads: the main one.

#include <cstdint>
#include <limits>
#include <string>

namespace tickstack::cli {

struct LogDumpOptions {
  std::string file;
  bool json = false;    // True: one object per line: seq, offset, bytes, verb, table, rows.
  bool values = false;  // True: also print the rows.
  uint64_t from = 0;    // Number of the first message.
  uint64_t count = std::numeric_limits<uint64_t>::max();
  std::string table;  // Only messages of this table, which `count` counts; empty: all.
};

struct LogCheckOptions {
  std::string file;
  bool json = false;  // True: print one JSON object.
};

struct LogRepairOptions {
  std::string file;
  bool json = false;  // True: print one JSON object.
  // If the log is damaged in the middle, writes its undamaged part to FILE.repaired and keeps FILE.
  bool skip_damaged = false;
};

int RunLogDump(const LogDumpOptions& options);
int RunLogCheck(const LogCheckOptions& options);
int RunLogRepair(const LogRepairOptions& options);

}  // namespace tickstack::cli
