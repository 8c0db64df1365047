#pragma once

// `tickstack hdb repair DIR DATE TABLE COLUMN --log LOG`: rebuilds a damaged column of a partition
// from the log of its day (disk/column_repair.h).

#include <cstddef>
#include <string>

namespace tickstack::cli {

struct HdbRepairOptions {
  std::string directory;
  std::string date;
  std::string table;
  std::string column;
  std::string log;
  std::string config;  // Path of the stack.toml with the schemas and the compression; may be empty.
};

// Prints the replaced files to stdout, errors to stderr. Returns the exit code: 0 done, 1 failed, 2
// wrong usage. Threads: the main one.
int RunHdbRepair(const HdbRepairOptions& options);

}  // namespace tickstack::cli
