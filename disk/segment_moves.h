#pragma once

// Measures how a database's partitions are distributed over the segments of its par.txt, and moves
// whole partitions from a full segment to an emptier one:
//
//   1  to/moving.2024.01.29$/...         copied, synced, read back and compared
//   2  from/2024.01.29  ->  from/moved.2024.01.29$
//   3  to/moving.2024.01.29$  ->  to/2024.01.29
//   4  from/moved.2024.01.29$            removed
//
// A partition is never visible in two segments, since each of its rows would count twice. Between
// steps 2 and 3, for the duration of a rename, it is in none. If the process dies there,
// FinishMoves completes the move. Names that end in `$` are reserved for our own files.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "disk/database.h"
#include "disk/storage.h"

namespace tickstack::disk {

struct PartitionLoad {
  std::string name;  // `2024.01.29`
  uint64_t bytes = 0;
};

struct SegmentLoad {
  std::string path;
  std::vector<PartitionLoad> partitions;  // By name.
  uint64_t bytes = 0;                     // Sum over `partitions`.
};

// Measures the segments in the order of par.txt; without par.txt, the database is one segment.
// Cost: a stat for each file.
absl::StatusOr<std::vector<SegmentLoad>> MeasureSegments(const Database& database);

// Returns the size of the fullest segment divided by the mean size; 1 for an empty database.
double Skew(std::span<const SegmentLoad> segments);

struct PartitionMove {
  std::string name;
  std::string from, to;  // Segments.
  uint64_t bytes = 0;
};

// Returns moves to do one after the other. Each moves a partition from the fullest segment to the
// emptiest: the largest partition of which the emptiest has no part yet, and with which it stays
// less full than the fullest was.
std::vector<PartitionMove> PlanMoves(std::vector<SegmentLoad> segments);

// Returns moves after which the segment `to` has the partitions by date that are older than
// `first`, and no others: older ones go there, newer ones to the emptiest other segment. `segments`
// has `to` and at least one more. A partition stays if the segment that it would go to has a part
// of it.
std::vector<PartitionMove> PlanMovesByAge(std::vector<SegmentLoad> segments, std::string_view to,
                                          int32_t first);

// Moves a partition in the steps above. After an error in step 1 or 2, the partition is still in
// its old place. After an error in step 3 or 4, FinishMoves completes the move. kDataLoss if the
// copy differs when it is read back. Threads: one mover at a time, and none while partitions are
// written; readers must load the database again afterwards.
absl::Status MovePartition(const PartitionMove& move, const Storage& storage);

// Returns the name that step 2 gives to the partition's old directory. Between steps 2 and 3,
// FindPartition returns that directory.
std::string NameWhileMoved(std::string_view partition);
// True for an entry of a segment that belongs to a move, either running or interrupted.
bool IsPartOfMove(std::string_view name);
// Returns the paths of all entries in `segments` that belong to moves.
absl::StatusOr<std::vector<std::string>> UnfinishedMoves(std::span<const std::string> segments);

// Completes interrupted moves, so that every partition is complete and in one segment. Returns the
// number of these moves. kFailedPrecondition, with what to do, if a partition was written again
// meanwhile.
absl::StatusOr<size_t> FinishMoves(std::span<const std::string> segments, const Storage& storage);

}  // namespace tickstack::disk
