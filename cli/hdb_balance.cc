#include "cli/hdb_balance.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "base/time.h"
#include "disk/database.h"
#include "disk/partition_name.h"
#include "disk/segment_moves.h"
#include "disk/storage.h"
#include "disk/symbol_file_writer.h"

namespace tickstack::cli {
namespace {

// Reports what a plan omits: days that no segment has completely until their moves are finished.
void PrintUnfinished(std::span<const std::string> unfinished) {
  for (const std::string& path : unfinished) {
    fmt::print(stderr, "{}: left by an interrupted move; --move completes it\n", path);
  }
}

void PrintBalance(std::span<const disk::SegmentLoad> segments,
                  std::span<const disk::PartitionMove> moves) {
  for (const disk::SegmentLoad& segment : segments) {
    fmt::print("{:>14}  {:>6} partitions  {}\n", segment.bytes, segment.partitions.size(),
               segment.path);
  }
  fmt::print("the largest segment has {:.2f} times the mean size\n", disk::Skew(segments));
  for (const disk::PartitionMove& move : moves) {
    fmt::print("move {} from {} to {}: {} bytes\n", move.name, move.from, move.to, move.bytes);
  }
}

void PrintBalanceJson(std::span<const disk::SegmentLoad> segments,
                      std::span<const disk::PartitionMove> moves,
                      std::span<const std::string> unfinished) {
  nlohmann::ordered_json all;
  all["skew"] = disk::Skew(segments);
  all["segments"] = nlohmann::ordered_json::array();
  for (const disk::SegmentLoad& segment : segments) {
    all["segments"].push_back({{"path", segment.path},
                               {"partitions", segment.partitions.size()},
                               {"bytes", segment.bytes}});
  }
  all["moves"] = nlohmann::ordered_json::array();
  for (const disk::PartitionMove& move : moves) {
    all["moves"].push_back(
        {{"partition", move.name}, {"from", move.from}, {"to", move.to}, {"bytes", move.bytes}});
  }
  all["unfinished"] = unfinished;
  fmt::print("{}\n", all.dump());
}

// Moves hold the lock that an rdb needs to write its day, for which it asks every `retry_s` (5 by
// default). In a pause it gets the lock, and then the next move is refused.
constexpr std::chrono::seconds kBetweenPauses{60}, kPauseForRdb{6};

absl::StatusOr<std::vector<disk::PartitionMove>> Plan(
    const HdbBalanceOptions& options, const disk::Database& database,
    const std::vector<disk::SegmentLoad>& segments) {
  if (options.old_segment.empty()) return disk::PlanMoves(segments);
  const auto is_old = [&options](const disk::SegmentLoad& segment) {
    std::error_code absent;
    return std::filesystem::equivalent(segment.path, options.old_segment, absent);
  };
  const auto old = std::ranges::find_if(segments, is_old);
  if (old == segments.end() || segments.size() < 2) {
    return InvalidArgument("--old-in {}: expected one of at least two lines of {}/par.txt",
                           options.old_segment, options.directory);
  }
  if (!database.partitions().empty() && database.partition_kind() != disk::PartitionKind::kDate) {
    return Unimplemented("{}: partitions by {}, expected partitions by date", options.directory,
                         NameOf(database.partition_kind()));
  }
  const int64_t today = DayOf(SystemClock::Instance().NowNs());
  return disk::PlanMovesByAge(segments, old->path,
                              static_cast<int32_t>(today - options.older_than_days.value_or(0)));
}

absl::Status Balance(const HdbBalanceOptions& options) {
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const disk::Database> database,
                      disk::Database::Open(options.directory));
  const disk::Storage storage;
  if (options.move) {
    TS_ASSIGN_OR_RETURN(const File lock, disk::LockDatabase(options.directory));
    TS_ASSIGN_OR_RETURN(const size_t finished, disk::FinishMoves(database->segments(), storage));
    if (finished > 0) fmt::print(stderr, "completed {} interrupted moves\n", finished);
  }
  TS_ASSIGN_OR_RETURN(const std::vector<std::string> unfinished,
                      disk::UnfinishedMoves(database->segments()));
  PrintUnfinished(unfinished);
  TS_ASSIGN_OR_RETURN(const std::vector<disk::SegmentLoad> segments,
                      disk::MeasureSegments(*database));
  TS_ASSIGN_OR_RETURN(const std::vector<disk::PartitionMove> moves,
                      Plan(options, *database, segments));
  if (options.json) {
    PrintBalanceJson(segments, moves, unfinished);
  } else {
    PrintBalance(segments, moves);
  }
  if (!options.move) return absl::OkStatus();
  auto next_pause = std::chrono::steady_clock::now() + kBetweenPauses;
  for (const disk::PartitionMove& move : moves) {
    if (std::chrono::steady_clock::now() >= next_pause) {
      std::this_thread::sleep_for(kPauseForRdb);
      next_pause = std::chrono::steady_clock::now() + kBetweenPauses;
    }
    TS_ASSIGN_OR_RETURN(const File lock, disk::LockDatabase(options.directory));
    TS_RETURN_IF_ERROR(disk::MovePartition(move, storage));
    fmt::print(stderr, "moved {} to {}\n", move.name, move.to);
  }
  if (!moves.empty()) {
    fmt::print(stderr, "a running hdb uses the old paths until it reloads: send it `\\l .`\n");
  }
  return absl::OkStatus();
}

}  // namespace

int RunHdbBalance(const HdbBalanceOptions& options) {
  const absl::Status status = Balance(options);
  if (status.ok()) return 0;
  fmt::print(stderr, "{}\n", Message(status));
  return 1;
}

}  // namespace tickstack::cli
