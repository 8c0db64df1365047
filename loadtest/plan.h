#pragma once

// How many rows the rdbs begin with, so that a run fits the machine, and how large their tiers are.
//
// The paper's rdbs began with 650 million quotes and 85 million trades. Where so many do not fit,
// all rdbs get as many as the tightest place has room for, in the same ratio:
//
//   rows of an rdb = (3/4 of what is free there - what the run adds to it) / rdbs there
//
// A place is the machine's memory, the file system of a path, or both: tmpfs is memory.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "loadtest/placement.h"
#include "loadtest/profile.h"

namespace tickstack::loadtest {

inline constexpr int64_t kPaperQuotes = 650'000'000;
inline constexpr int64_t kPaperTrades = 85'000'000;

struct RowCounts {
  int64_t quotes = 0;
  int64_t trades = 0;
  bool operator==(const RowCounts&) const = default;
};
// What a run of the profile adds.
RowCounts RowsOfRun(const Profile& profile);
// Columns and index of an rdb with so many rows, as its tier rounds them.
uint64_t BytesOfRows(const RowCounts& rows);
// The size for a tier that holds all of an rdb: prestress, run, and the tables of bars.
uint64_t TierBytes(const RowCounts& prestress, const Profile& profile);
// Of the tickerplant's log.
uint64_t BytesOfLog(const Profile& profile);

// What is free where. Places by name: "memory", a path's file system, "node 1".
struct FreeSpace {
  std::map<std::string, uint64_t> bytes;
};
// Which places the rows of a stack take from.
using Places = std::vector<std::string>;

struct PlanInput {
  struct Stack {
    int rdbs = 1;
    Places rows;
    // Of a stack whose tiers have a size of their own; 0: they are made as large as is needed.
    uint64_t tier_bytes = 0;
  };
  Profile profile;
  std::vector<Stack> stacks;
  FreeSpace free;
  Places logs;                            // Where the tickerplants' logs go.
  std::optional<int64_t> quotes, trades;  // Instead of what fits.
};

struct Plan {
  RowCounts prestress;      // Of each rdb.
  std::string explanation;  // Lines that say what was computed, and why.
};

// kResourceExhausted, with the place, what is needed and what is free, if not even the run's own
// rows fit, or not the rows that were asked for.
absl::StatusOr<Plan> PlanPrestress(const PlanInput& input);

// What this machine has for these stacks; logs go below `work`. kNotFound for a path that is not
// there.
absl::StatusOr<PlanInput> LookAtMachine(const Profile& profile,
                                        const std::vector<StackSpec>& stacks,
                                        const std::string& work);

}  // namespace tickstack::loadtest
