#pragma once

// `tickstack hdb balance DIR [--move]`: how full each segment of a database is, and moving whole
// partitions until they are about even (disk/segment_moves.h).

#include <string>

namespace tickstack {

struct HdbBalanceOptions {
  std::string directory;
  bool json = false;  // One object.
  bool move = false;  // Without it nothing is changed.
};

// Results to stdout, progress and errors to stderr; returns the exit code. Ends first what an
// earlier move left halfway, if it may move.
int RunHdbBalance(const HdbBalanceOptions& options);

}  // namespace tickstack
