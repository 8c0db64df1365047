#pragma once

// Reads how many rows of the simulated market an rdb starts with:
//
//   [rdb.prestress]
//   quotes = 60_000_000
//   trades = 6_000_000

#include <vector>

#include "absl/status/status.h"
#include "base/config.h"
#include "rdb/rdb_main.h"
#include "table/schema.h"

namespace tickstack::cli {

// Reads the section [rdb.prestress] of `rdb`, if there is one, into `options`. `schemas` as in
// ReadTiers; if it is nullptr, the section is an error, because the tables are needed before the
// rdb gets them from elsewhere.
absl::Status ReadPrestress(const ConfigTable& rdb, const std::vector<Schema>* schemas,
                           rdb::RdbMainOptions& options);

}  // namespace tickstack::cli
