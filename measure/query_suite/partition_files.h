#pragma once

// The files of a database's partitions, by the directory of par.txt that holds them: which parts of
// them the page cache has.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "disk/database.h"
#include "measure/storage_bench/page_cache.h"

namespace tickstack::measure::query_suite {

class PartitionFiles {
 public:
  // A directory of par.txt; without par.txt, the database's.
  struct Segment {
    std::string path;
    std::vector<std::string> partitions;  // Directories.
  };

  explicit PartitionFiles(const disk::Database& database);

  const std::vector<Segment>& segments() const { return segments_; }
  // True if all segments are in memory (tmpfs), which no drop empties.
  absl::StatusOr<bool> OnMemory() const;

  // Drops the pages of all files, as storage_bench::DropPages does. The first call also syncs them;
  // nothing may write to them after it.
  absl::StatusOr<storage_bench::CacheDrop> Drop(storage_bench::CacheDrop drop);

  // Returns how many bytes of each segment are in the page cache, and the size of all of them, in
  // whole pages. Cost: some 10 us for each file; reads none.
  struct Cached {
    std::vector<uint64_t> bytes;
    uint64_t database_bytes = 0;
  };
  absl::StatusOr<Cached> CachedBytes() const;

 private:
  std::vector<Segment> segments_;
  bool synced_ = false;
};

}  // namespace tickstack::measure::query_suite
