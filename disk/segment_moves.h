#pragma once

// How a database's partitions are spread over the segments of its par.txt, and moving whole ones
// from a full segment to an emptier one:
//
//   1  to/moving.2024.01.29$/...         copied, synced, read back and compared
//   2  from/2024.01.29  ->  from/moved.2024.01.29$
//   3  to/moving.2024.01.29$  ->  to/2024.01.29
//   4  from/moved.2024.01.29$            removed
//
// A partition is never in two segments, where each of its rows would count twice. Between 2 and 3
// it is in none, for the time of a rename; whoever dies there leaves that to FinishMoves. Names
// that end in `$` are nobody's but ours.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "disk/database.h"
#include "disk/storage.h"

namespace tickstack {

struct PartitionLoad {
  std::string name;  // `2024.01.29`
  uint64_t bytes = 0;
};

struct SegmentLoad {
  std::string path;
  std::vector<PartitionLoad> partitions;  // By name.
  uint64_t bytes = 0;                     // Sum over `partitions`.
};

// Measures the segments in the order of par.txt, or the one segment without it. Cost: a stat for
// each file.
absl::StatusOr<std::vector<SegmentLoad>> MeasureSegments(const Database& database);

// Returns the size of the fullest segment divided by the mean size; 1 for an empty database.
double Skew(std::span<const SegmentLoad> segments);

struct PartitionMove {
  std::string name;
  std::string from, to;  // Segments.
  uint64_t bytes = 0;
};

// Moves, one after the other, each of which makes the fullest segment smaller without making
// another one as full: from the fullest to the emptiest, the largest partition that fits. Moves
// only what the emptiest does not have a part of already.
std::vector<PartitionMove> PlanMoves(std::vector<SegmentLoad> segments);

// As above. An error leaves the partition where it was, or, if it is one of step 3 or 4, to
// FinishMoves. kDataLoss if what was read back is not what was written. Threads: one mover at a
// time, none while partitions are written; readers load the database again afterwards.
absl::Status MovePartition(const PartitionMove& move, const Storage& storage);

// The name that the directory of a partition has in the segment that it leaves, once its copy waits
// for its own name: then it is the partition's only whole directory.
std::string NameOfTakenAway(std::string_view partition);
// Whether an entry of a segment is of a move: one that runs now, or died and waits for FinishMoves.
bool IsOfMove(std::string_view name);
// Their paths.
absl::StatusOr<std::vector<std::string>> UnfinishedMoves(std::span<const std::string> segments);

// Ends what died halfway: afterwards every partition is in one segment, whole. Returns how many
// there were. kFailedPrecondition, with what to do, if the partition was written again meanwhile.
absl::StatusOr<size_t> FinishMoves(std::span<const std::string> segments, const Storage& storage);

}  // namespace tickstack
