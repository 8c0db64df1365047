#pragma once

// `tickstack hdb balance DIR [--move]`: shows how full each segment of a database is, and moves
// whole partitions until the segments are about even, or by their age (disk/segment_moves.h).

#include <optional>
#include <string>

namespace tickstack::cli {

struct HdbBalanceOptions {
  std::string directory;
  bool json = false;  // True: print one JSON object.
  bool move = false;  // False: change nothing.
  // With a segment: it gets the partitions that are older than this number of days, and no others.
  std::string old_segment;  // Empty: moves make segments even.
  std::optional<int> older_than_days;
};

// Prints results to stdout, progress and errors to stderr, and returns the exit code. If it may
// move, it first completes what an earlier move left unfinished.
int RunHdbBalance(const HdbBalanceOptions& options);

}  // namespace tickstack::cli
