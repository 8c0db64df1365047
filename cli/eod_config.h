#pragma once

// Reads `[eod]` of a stack's configuration: which rdb writes days, into which database, and how.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/config.h"
#include "rdb/rdb_main.h"

namespace tickstack::cli {

// Applies `[eod]` to the rdb that it names, or else to the first one; does nothing without `[eod]`.
// The name of an hdb is not resolved to an address yet. If no hdb is named, `default_hdb` is
// notified. kInvalidArgument with file, line and key.
absl::Status ReadEndOfDay(const ConfigTable& root, const std::string& default_hdb,
                          std::vector<rdb::RdbMainOptions>& rdbs);

}  // namespace tickstack::cli
