#pragma once

// `[eod]` of a stack's configuration: which rdb writes days into which database, and how.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/config.h"
#include "rdb/rdb_main.h"

namespace tickstack {

// Gives the rdb that it names, or else the first, what `[eod]` says; nothing if there is no such
// table. An hdb's name stays a name, to be resolved with the other addresses; `default_hdb` is told
// if none is named. kInvalidArgument with file, line and key.
absl::Status ReadEndOfDay(const ConfigTable& root, const std::string& default_hdb,
                          std::vector<rdb::RdbMainOptions>& rdbs);

}  // namespace tickstack
