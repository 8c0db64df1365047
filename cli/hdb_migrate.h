#pragma once

// `tickstack hdb migrate DIR --table TABLE add|rename|retype|drop ...`: changes a column in all
// partitions (disk/partition_migration.h), and tells the hdb to reload.

#include <string>

#include "disk/partition_migration.h"

namespace CLI {
class App;
}

namespace tickstack::cli {

struct HdbMigrateOptions {
  std::string directory;
  std::string table;
  std::string hdb;  // host:port of the hdb to reload.
  bool dry_run = false;
  disk::ColumnChange::Kind kind = disk::ColumnChange::Kind::kAdd;
  std::string column;
  std::string new_name;
  std::string type;   // A letter, such as `f`.
  std::string value;  // Default of a new column, as text.
};

void AddHdbMigrateOptions(CLI::App& command, HdbMigrateOptions& options);

// Prints what was changed to stdout, notes and errors to stderr. Returns the exit code: 0 done, 1
// failed, 2 wrong usage. Threads: the main one.
int RunHdbMigrate(const HdbMigrateOptions& options);

}  // namespace tickstack::cli
