#pragma once

// Tiers and placement as a stack's file has them (docs/operating/tiers.md lists the keys):
//
//   [tier.NAME], [placement]            what every RDB of the file begins with
//   [rdb.tier.NAME], [rdb.placement]    and what one changes, key by key

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/config.h"
#include "rdb/rdb_main.h"
#include "table/schema.h"

namespace tickstack {

inline constexpr int kNumaNodeMax = 1023;

// Reads the tiers and the placement of the RDB that is read into `options`, whose name it has. With
// `schemas`, keys of the placement are checked against these tables; nullptr: the RDB will get its
// tables from elsewhere, and checks then.
//
// Errors: kInvalidArgument with file, line and key: a value of the wrong kind, a key that the
// tier's kind does not take or a missing one that it needs, an unknown tier, table or column, rows
// that are partly in a persistent tier. Adds a line to `warnings` for each tier that is declared
// for this RDB alone and that nothing is placed in.
absl::Status ReadTiers(const ConfigTable& root, const ConfigTable& rdb,
                       const std::vector<Schema>* schemas, rdb::RdbMainOptions& options,
                       std::vector<std::string>& warnings);

// Reads where an aggregation engine's state lives: one tier, `state` of its [aggengine.placement],
// else DRAM. kInvalidArgument as ReadTiers, and for a persistent tier: the log brings the state
// back.
absl::Status ReadStateTier(const ConfigTable& root, const ConfigTable& table,
                           mem::TierOptions& state, std::vector<std::string>& warnings);

// Once all RDBs are read: the same warning for the stack's own tiers. In a file without an RDB,
// their keys are read and what is wrong in itself is an error.
// `state` is the tier of an aggregation engine's, empty if there is none.
absl::Status CheckStackTiers(const ConfigTable& root, const std::vector<rdb::RdbMainOptions>& rdbs,
                             std::string_view state, std::vector<std::string>& warnings);

}  // namespace tickstack
