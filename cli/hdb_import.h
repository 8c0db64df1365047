#pragma once

// `tickstack hdb import DIR FILE..`: writes the rows of files as partitions (import_rows.h).

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tickstack::cli {

struct HdbImportOptions {
  std::string directory;
  std::vector<std::string> files;
  std::string mapping;
  std::string compression = "none";
  bool skip_existing = false;
};

// Adds the subcommand's options to `command`. `options` must outlive the command.
void AddHdbImportOptions(CLI::App& command, HdbImportOptions& options);

// Reads all files, and then writes a partition for each day. Before it writes the first one, it
// checks that the table fits those of the database, and that no day has a partition yet. Returns
// the exit code: 0, 1 if the import failed, or 2 for a wrong option. Threads: the main one.
int RunHdbImport(const HdbImportOptions& options);

}  // namespace tickstack::cli
