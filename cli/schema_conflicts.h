#pragma once

// Compares `[tables]` with the database into which an rdb writes days.

#include <string>
#include <vector>

#include "cli/stack_config.h"

namespace tickstack::cli {

// Returns why the rdb cannot write days of the configured tables into its database: for each table
// of which a column has another type there (disk/schema_check.h). Empty if all fit, if the rdb
// writes no days, or if its tickerplant is not of this configuration. A database that cannot be
// read has one reason: that.
std::vector<std::string> SchemaConflictsOf(const StackConfig& config,
                                           const rdb::RdbMainOptions& rdb);

}  // namespace tickstack::cli
