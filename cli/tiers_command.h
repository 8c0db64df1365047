#pragma once

// `tickstack tiers`: shows where the RDBs of a configuration would place their columns.

#include <cstddef>
#include <string>

namespace tickstack::cli {

struct TiersOptions {
  std::string config;
  bool json = false;
  size_t rows = 1'000'000;  // Rows of each table.
};

// Prints to stdout what each RDB of a configuration would place where: its tiers, with what their
// directories and nodes really are; the tier of every column and index; and the bytes of `rows`
// rows. It probes a directory by opening a tier of 16 MiB in it. Returns 0; 1 if a tier that is
// used cannot be opened, or numa_node does not exist; 2 if the configuration is wrong, with the
// error that would also end a start.
int RunTiers(const TiersOptions& options);

}  // namespace tickstack::cli
