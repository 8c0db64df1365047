#pragma once

// `[[shard]]`: a stack whose symbols are spread over several tickerplants.
//
// The sections of tickerplants, rdbs, hdbs and engines are templates. Each shard has a process of
// each of them: [[rdb]] with the name `rdb` becomes `rdb-a` for the shard `a`. It listens on the
// template's port plus the shard's `port_offset`, and its files are in DATA/a.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/config.h"
#include "cli/process_table.h"

namespace tickstack::cli {

// Reads `[[shard]]`, and replaces each template by the processes of all shards. Call it when
// everything else is read. Does nothing without `[[shard]]`. kInvalidArgument, with the key's
// place, for a name or a symbol that is there twice, or a process that cannot be used with shards.
absl::Status ReadShards(const ConfigTable& root, StackConfig& config);

// Returns the shard of a process; empty if it belongs to none.
std::string ShardOf(const StackConfig& config, const std::string& process);

// Returns the data directory of a process: DATA/SHARD, or DATA.
std::string DataOf(const StackConfig& config, const std::string& process);

// Returns the digest of the map, or `none`, for the flag --shard-map of a child.
std::string ShardMapFlag(const StackConfig& config);

// Returns the configuration with the processes of one shard only, and its data directory.
StackConfig OneShard(const StackConfig& config, const std::string& shard);

}  // namespace tickstack::cli
