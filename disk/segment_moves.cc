#include "disk/segment_moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/check.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/status.h"
#include "base/time.h"
#include "disk/directory_copy.h"
#include "disk/partition_name.h"
#include "disk/partition_versions.h"

namespace tickstack::disk {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMoving = "moving.";
constexpr std::string_view kMoved = "moved.";

std::string Marked(const std::string& segment, std::string_view mark, std::string_view name) {
  return fmt::format("{}/{}{}$", segment, mark, name);
}

// Returns the partition of one of our names; empty for other names.
std::string_view Unmarked(std::string_view name, std::string_view mark) {
  if (!name.starts_with(mark) || !name.ends_with('$')) return {};
  name = name.substr(mark.size(), name.size() - mark.size() - 1);
  return ParsePartitionName(name).has_value() ? name : std::string_view();
}

absl::StatusOr<uint64_t> BytesUnder(const std::string& directory) {
  uint64_t bytes = 0;
  const absl::Status status =
      EachEntry(directory, [&](const std::string& path, bool is_directory) -> absl::Status {
        if (is_directory) return absl::OkStatus();
        std::error_code error;
        const uintmax_t size = fs::file_size(directory + path, error);
        if (error) return ErrnoStatus(error.value(), directory + path);
        bytes += size;
        return absl::OkStatus();
      });
  TS_RETURN_IF_ERROR(status);
  return bytes;
}

bool Has(const SegmentLoad& segment, std::string_view name) {
  return std::ranges::any_of(segment.partitions,
                             [&](const PartitionLoad& each) { return each.name == name; });
}

}  // namespace

absl::StatusOr<std::vector<SegmentLoad>> MeasureSegments(const Database& database) {
  std::vector<SegmentLoad> segments;
  for (const std::string& path : database.segments()) {
    SegmentLoad segment{path, {}, 0};
    TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(path));
    for (const DirectoryEntry& entry : entries) {
      if (!entry.is_directory || !ParsePartitionName(entry.name).has_value()) continue;
      TS_ASSIGN_OR_RETURN(const uint64_t bytes, BytesUnder(path + "/" + entry.name));
      segment.partitions.push_back({entry.name, bytes});
      segment.bytes += bytes;
    }
    segments.push_back(std::move(segment));
  }
  return segments;
}

double Skew(std::span<const SegmentLoad> segments) {
  uint64_t all = 0, most = 0;
  for (const SegmentLoad& segment : segments) {
    all += segment.bytes;
    most = std::max(most, segment.bytes);
  }
  if (all == 0) return 1;
  return static_cast<double>(most) * static_cast<double>(segments.size()) /
         static_cast<double>(all);
}

std::vector<PartitionMove> PlanMovesByAge(std::vector<SegmentLoad> segments, std::string_view to,
                                          int32_t first) {
  std::vector<PartitionMove> moves;
  const auto old = std::ranges::find(segments, to, &SegmentLoad::path);
  TS_CHECK(old != segments.end() && segments.size() > 1);
  const auto move = [&moves](const PartitionLoad& partition, SegmentLoad& from, SegmentLoad& into) {
    if (Has(into, partition.name)) return;
    moves.push_back({partition.name, from.path, into.path, partition.bytes});
    from.bytes -= partition.bytes;
    into.bytes += partition.bytes;
    into.partitions.push_back(partition);
  };
  const auto is_old = [first](const PartitionLoad& partition) {
    const std::optional<int32_t> date = ParseDate(partition.name);
    return date.has_value() && *date < first;
  };
  // Newer ones first: they may leave the room that older ones need.
  for (const PartitionLoad& each : std::vector(old->partitions)) {
    if (is_old(each)) continue;
    SegmentLoad* emptiest = nullptr;
    for (SegmentLoad& segment : segments) {
      const bool is_emptier = emptiest == nullptr || segment.bytes < emptiest->bytes;
      if (&segment != &*old && is_emptier) emptiest = &segment;
    }
    move(each, *old, *emptiest);
  }
  for (SegmentLoad& segment : segments) {
    if (&segment == &*old) continue;
    for (const PartitionLoad& each : std::vector(segment.partitions)) {
      if (is_old(each)) move(each, segment, *old);
    }
  }
  return moves;
}

std::vector<PartitionMove> PlanMoves(std::vector<SegmentLoad> segments) {
  std::vector<PartitionMove> moves;
  if (segments.size() < 2) return moves;
  while (true) {
    const auto by_bytes = [](const SegmentLoad& a, const SegmentLoad& b) {
      return a.bytes < b.bytes;
    };
    SegmentLoad& full = *std::ranges::max_element(segments, by_bytes);
    SegmentLoad& empty = *std::ranges::min_element(segments, by_bytes);
    // The largest partition whose move keeps the emptier segment below the fuller one's old size.
    // Each move reduces the sum of squares, so the loop ends.
    PartitionLoad* best = nullptr;
    for (PartitionLoad& each : full.partitions) {
      const bool fits = each.bytes > 0 && empty.bytes + each.bytes < full.bytes;
      if (!fits || Has(empty, each.name)) continue;
      if (best == nullptr || each.bytes > best->bytes) best = &each;
    }
    if (best == nullptr) return moves;
    moves.push_back({best->name, full.path, empty.path, best->bytes});
    full.bytes -= best->bytes;
    empty.bytes += best->bytes;
    empty.partitions.push_back(*best);
    full.partitions.erase(full.partitions.begin() + (best - full.partitions.data()));
  }
}

absl::Status MovePartition(const PartitionMove& move, const Storage& storage) {
  const std::string from = move.from + "/" + move.name, to = move.to + "/" + move.name;
  TS_ASSIGN_OR_RETURN(const bool is_there, FileExists(to));
  if (is_there) return FailedPrecondition("{}: there is one already", to);
  // What an interrupted merge left must be beside the partition to be ended.
  TS_RETURN_IF_ERROR(FinishVersions(from, storage).status());
  const std::string moving = Marked(move.to, kMoving, move.name);
  const std::string moved = Marked(move.from, kMoved, move.name);
  TS_RETURN_IF_ERROR(storage.Remove(moving));
  if (const absl::Status copied = CopyDirectory(from, moving, storage); !copied.ok()) {
    (void)storage.Remove(moving);  // May fail, for example on a full disk.
    return copied;
  }
  TS_RETURN_IF_ERROR(storage.SyncDirectory(move.to));
  TS_RETURN_IF_ERROR(storage.Rename(from, moved));
  TS_RETURN_IF_ERROR(storage.SyncDirectory(move.from));
  TS_RETURN_IF_ERROR(storage.Rename(moving, to));
  TS_RETURN_IF_ERROR(storage.SyncDirectory(move.to));
  return storage.Remove(moved);
}

std::string NameWhileMoved(std::string_view partition) {
  return fmt::format("{}{}$", kMoved, partition);
}

bool IsPartOfMove(std::string_view name) {
  return !Unmarked(name, kMoved).empty() || !Unmarked(name, kMoving).empty();
}

absl::StatusOr<std::vector<std::string>> UnfinishedMoves(std::span<const std::string> segments) {
  std::vector<std::string> paths;
  for (const std::string& segment : segments) {
    TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(segment));
    for (const DirectoryEntry& entry : entries) {
      if (IsPartOfMove(entry.name)) paths.push_back(segment + "/" + entry.name);
    }
  }
  return paths;
}

absl::StatusOr<size_t> FinishMoves(std::span<const std::string> segments, const Storage& storage) {
  size_t finished = 0;
  const auto each_marked = [&](std::string_view mark, auto f) -> absl::Status {
    for (const std::string& segment : segments) {
      TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(segment));
      for (const DirectoryEntry& entry : entries) {
        const std::string name(Unmarked(entry.name, mark));
        if (name.empty()) continue;
        ++finished;
        TS_RETURN_IF_ERROR(f(segment, name));
      }
    }
    return absl::OkStatus();
  };
  // The renamed directory had been copied completely. While the copy waits for its name, it is the
  // only complete one, whatever other segments have of the partition.
  const absl::Status ended =
      each_marked(kMoved, [&](const std::string& from, const std::string& name) -> absl::Status {
        const std::string moved = Marked(from, kMoved, name);
        auto to = segments.begin();
        for (; to != segments.end(); ++to) {
          TS_ASSIGN_OR_RETURN(const bool is_copy, FileExists(Marked(*to, kMoving, name)));
          if (is_copy) break;
        }
        if (to == segments.end()) return storage.Remove(moved);  // The copy has its name.
        const std::string moving = Marked(*to, kMoving, name);
        for (const std::string& segment : {*to, from}) {
          const std::string again = segment + "/" + name;
          TS_ASSIGN_OR_RETURN(const bool is_there, FileExists(again));
          if (!is_there) continue;
          return FailedPrecondition(
              "{}: written again while a move of it waited to be ended; keep this one: remove {} "
              "and {}; or keep the moved one: remove this one, and balance with --move again",
              again, moved, moving);
        }
        TS_RETURN_IF_ERROR(storage.Rename(moving, *to + "/" + name));
        TS_RETURN_IF_ERROR(storage.SyncDirectory(*to));
        return storage.Remove(moved);
      });
  TS_RETURN_IF_ERROR(ended);
  TS_RETURN_IF_ERROR(each_marked(kMoving, [&](const std::string& to, const std::string& name) {
    return storage.Remove(Marked(to, kMoving, name));
  }));
  return finished;
}

}  // namespace tickstack::disk
