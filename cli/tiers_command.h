#pragma once

#include <cstddef>
#include <string>

namespace tickstack {

struct TiersOptions {
  std::string config;
  bool json = false;
  size_t rows = 1'000'000;  // Rows of each table.
};

// Writes to stdout what each RDB of a configuration would place where: its tiers, with what their
// directories and nodes really are, the tier of every column and index, and the bytes that `rows`
// rows take. A directory is probed by opening a tier of 16 MiB in it for a moment. 0; 1 if a tier
// that is used would not open, or numa_node is no node; 2 if the configuration is wrong, with the
// error that a start would end with.
int RunTiers(const TiersOptions& options);

}  // namespace tickstack
