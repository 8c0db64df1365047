#pragma once

// Finds out whether a tier of a configuration can be opened on this machine.

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "mem/tier.h"

namespace tickstack::cli {

// True if its size is taken from a file system.
inline bool IsInFiles(const mem::TierOptions& options) { return !options.path.empty(); }

struct TierProbe {
  std::optional<size_t> free_bytes;  // Free bytes of the file system, for a file kind.
  absl::Status status;               // Why it cannot be opened, or does not fit.
  mem::TierStats found;              // Valid if status is OK.
};

// Opens the tier briefly: a file kind with 16 MiB, since its whole capacity would be taken from the
// file system; other kinds unchanged, which only reserves addresses. `rdb` is the name of the RDB
// that would use it, whose persistent file counts as free space. Leaves nothing behind.
TierProbe ProbeTier(const std::string& rdb, const mem::TierOptions& options);

}  // namespace tickstack::cli
