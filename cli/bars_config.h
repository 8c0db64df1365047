#pragma once

// [aggengine]'s bars: which there are, and the tables that they are published as.

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggengine/aggregate.h"
#include "base/config.h"
#include "table/schema.h"

namespace tickstack {

// The default bars, unless `default_bars` is false, and those of [[aggengine.bars]]. Adds the table
// of each to `schemas`, which has the sources, unless it is there already; the tickerplant and the
// RDBs get them from there. Adds to `warnings` which default bars there are not, and why.
//
// Errors: kInvalidArgument with file, line, key, found and expected: no such source or column, no
// aggregate, another table of that name.
absl::StatusOr<std::vector<aggengine::BarSpec>> ReadBars(const ConfigTable& table,
                                                         std::vector<Schema>& schemas,
                                                         std::vector<std::string>& warnings);

// The names of bars of a day. Of all bars they have the fewest rows: the newest is found at once.
std::vector<std::string> DailyBars(std::span<const aggengine::BarSpec> bars);

}  // namespace tickstack
