#pragma once

// Reads the bars of [aggengine], and the tables in which they are published.

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggengine/aggregate.h"
#include "base/config.h"
#include "table/schema.h"

namespace tickstack::cli {

// Returns the default bars, unless `default_bars` is false, and those of [[aggengine.bars]]. Adds
// the table of each to `schemas`, which must have the sources, unless it has that table already;
// the tickerplant and the RDBs get these tables from there. Adds to `warnings` which default bars
// are missing, and why.
//
// Errors: kInvalidArgument with file, line, key, found and expected: an unknown source or column,
// an unknown aggregate, or a different table with that name.
absl::StatusOr<std::vector<aggengine::BarSpec>> ReadBars(const ConfigTable& table,
                                                         std::vector<Schema>& schemas,
                                                         std::vector<std::string>& warnings);

// Returns the names of daily bars. They have the fewest rows, so the newest one is found fastest.
std::vector<std::string> DailyBars(std::span<const aggengine::BarSpec> bars);

}  // namespace tickstack::cli
