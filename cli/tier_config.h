#pragma once

// Reads tiers and placement of a stack's file (docs/operating/tiers.md lists the keys):
//
//   [tier.NAME], [placement]            for every RDB of the file
//   [rdb.tier.NAME], [rdb.placement]    changes for one RDB, key by key

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/config.h"
#include "rdb/rdb_main.h"
#include "table/schema.h"

namespace tickstack::cli {

inline constexpr int kNumaNodeMax = 1023;
// The smallest tier in files, in bytes.
inline constexpr size_t kFileTierBytesMin = size_t{16} << 20;

// Reads the tiers and the placement of the RDB that is being read into `options`, which already has
// its name. With `schemas`, keys of the placement are checked against these tables; nullptr: the
// RDB will get its tables from elsewhere, and checks then.
//
// Errors: kInvalidArgument with file, line and key: a value of the wrong type, a key that the
// tier's kind does not take, a missing key that it needs, an unknown tier, table or column, or rows
// that are partly in a persistent tier. Adds a line to `warnings` for each tier that is declared
// only for this RDB and that nothing is placed in.
absl::Status ReadTiers(const ConfigTable& root, const ConfigTable& rdb,
                       const std::vector<Schema>* schemas, rdb::RdbMainOptions& options,
                       std::vector<std::string>& warnings);

// Reads the tier of an aggregation engine's state: `state` of its [aggengine.placement], else DRAM.
// kInvalidArgument as in ReadTiers, and for a persistent tier, since the state is restored from the
// log.
absl::Status ReadStateTier(const ConfigTable& root, const ConfigTable& table,
                           mem::TierOptions& state, std::vector<std::string>& warnings);

// Call it when all RDBs are read: adds the same warning for the stack's own tiers. In a file
// without an RDB, it reads their keys and reports errors. `state` is the tier of an aggregation
// engine; empty if there is none.
absl::Status CheckStackTiers(const ConfigTable& root, const std::vector<rdb::RdbMainOptions>& rdbs,
                             std::string_view state, std::vector<std::string>& warnings);

}  // namespace tickstack::cli
