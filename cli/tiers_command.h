#pragma once

// `tickstack tiers`: shows where the RDBs of a configuration would place their columns.

#include <string>
#include <vector>

namespace tickstack::cli {

struct TiersOptions {
  std::string config;
  bool json = false;
  std::vector<std::string> rows;  // As ParsePlannedRows reads them (planned_rows.h).
};

// Prints to stdout, for each RDB of a configuration: its tiers, with what their directories and
// nodes really are; the tier of every column and index; the bytes of `rows` rows; and whether they
// fit. Probes a directory by opening a tier of 16 MiB in it.
//
// Returns 0; 1 if `rows` are given and do not fit into a tier or into the machine's memory, if a
// tier that is used cannot be opened, or if numa_node does not exist; 2 if the configuration or
// `rows` is wrong, with the error.
int RunTiers(const TiersOptions& options);

}  // namespace tickstack::cli
