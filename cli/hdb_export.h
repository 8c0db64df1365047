#pragma once

// `tickstack hdb export DIR DEST`: writes partitions as Parquet files
// (interchange/partition_export.h).

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tickstack::cli {

struct HdbExportOptions {
  std::string directory;
  std::string destination;
  std::string config;  // Path of a configuration with [hdb.tiers]; needed for archived partitions.
  std::vector<std::string> tables;
  std::vector<std::string> skip;
  std::string from;
  std::string to;
  uint64_t row_group = uint64_t{1} << 20;
  int zstd = 1;
  bool spark = false;
  bool force = false;
  bool json = false;   // True: print one JSON object.
  size_t threads = 0;  // 0: one for each core.
};

// Adds the subcommand's options to `command`. `options` must outlive the command.
void AddHdbExportOptions(CLI::App& command, HdbExportOptions& options);

// Prints a line for each file to stderr, and totals to stdout. Returns the exit code: 0, or 1 if
// the export failed. Threads: the main one.
int RunHdbExport(const HdbExportOptions& options);

}  // namespace tickstack::cli
