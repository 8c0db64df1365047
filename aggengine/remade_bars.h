#pragma once

// Computes bars again from the finished rows of a day, after rows were added to them or corrected.

#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "aggengine/aggregate.h"
#include "mem/tier.h"
#include "table/symbols.h"
#include "table/table.h"

namespace tickstack::aggengine {

// Returns the tables of these bars, all of which have the source `ticks`, in the order of `specs`.
// They are what the engine publishes after it has taken all rows, in any order. kInvalidArgument if
// `ticks` lacks what a spec needs; kResourceExhausted if the tier is full. `symbols` must be those
// of `ticks`; it and the tier must outlive the tables. Cost: that of the engine for these rows.
absl::StatusOr<std::vector<std::shared_ptr<Table>>> RemakeBars(std::span<const BarSpec> specs,
                                                               const Snapshot& ticks,
                                                               SymbolTable* symbols,
                                                               mem::Tier* tier);

}  // namespace tickstack::aggengine
