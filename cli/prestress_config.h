#pragma once

// Rows that an rdb begins with, of the simulated market:
//
//   [rdb.prestress]
//   quotes = 60_000_000
//   trades = 6_000_000

#include <vector>

#include "absl/status/status.h"
#include "base/config.h"
#include "rdb/rdb_main.h"
#include "table/schema.h"

namespace tickstack {

// Reads the section of the rdb that is read into `options`, if there is one. `schemas` as ReadTiers
// takes them: without, the section is an error, for nobody has tables yet when it is needed.
absl::Status ReadPrestress(const ConfigTable& rdb, const std::vector<Schema>* schemas,
                           rdb::RdbMainOptions& options);

}  // namespace tickstack
