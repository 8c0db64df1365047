#pragma once

// Computes how many rows the rdbs start with, so that a run fits the machine, and how large their
// tiers are.
//
// The paper's rdbs started with 650 million quotes and 85 million trades. Where these do not fit,
// all rdbs get as many rows as the tightest place has room for, in the same ratio:
//
//   rows of an rdb = (3/4 of the free bytes - bytes that the run adds) / rdbs in that place
//
// A place is the machine's memory, the file system of a path, or both: a tmpfs is memory, too.

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
// Returns how many rows a run of the profile adds.
RowCounts RowsOfRun(const Profile& profile);
// Returns the bytes that these rows and their index occupy in an rdb's tier, rounded up as the tier
// does.
uint64_t BytesOfRows(const RowCounts& rows);
// Returns the size of a tier that holds all tables of an rdb: prestress, run, and bars.
uint64_t TierBytes(const RowCounts& prestress, const Profile& profile);
// Returns the size of the tickerplant's log.
uint64_t BytesOfLog(const Profile& profile);

// Free bytes by place: "memory", a path's file system, "node 1".
struct FreeSpace {
  std::map<std::string, uint64_t> bytes;
};
// Names of the places in which a byte occupies space.
using Places = std::vector<std::string>;

struct PlanInput {
  struct Stack {
    int rdbs = 1;
    Places rows;
    // Size of the tiers if the stack's file gives one; 0: they are made as large as needed.
    uint64_t tier_bytes = 0;
  };
  Profile profile;
  std::vector<Stack> stacks;
  FreeSpace free;
  Places logs;                            // Places of the tickerplants' logs.
  std::optional<int64_t> quotes, trades;  // Default: as many as fit.
};

struct Plan {
  RowCounts prestress;      // Rows that each rdb starts with.
  std::string explanation;  // Lines that say what was computed, and why.
};

// kResourceExhausted if the run's own rows do not fit, or the requested ones do not. The message
// has the place, the bytes needed and the bytes free.
absl::StatusOr<Plan> PlanPrestress(const PlanInput& input);

// Returns what this machine offers these stacks. Logs are put below `work`. kNotFound if a path
// does not exist.
absl::StatusOr<PlanInput> ReadMachine(const Profile& profile, const std::vector<StackSpec>& stacks,
                                      const std::string& work);

}  // namespace tickstack::loadtest
