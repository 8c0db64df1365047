#include "measure/query_suite/partition_files.h"

#include <unistd.h>

#include <algorithm>

#include "base/status.h"
#include "measure/storage_bench/scratch_directory.h"

namespace tickstack::measure::query_suite {

PartitionFiles::PartitionFiles(const disk::Database& database) {
  for (const std::string& path : database.segments()) segments_.push_back({path, {}});
  for (const disk::Partition& partition : database.partitions()) {
    const std::string folder = partition.directory.substr(0, partition.directory.rfind('/'));
    const auto segment = std::ranges::find(segments_, folder, &Segment::path);
    if (segment != segments_.end()) segment->partitions.push_back(partition.directory);
  }
}

absl::StatusOr<bool> PartitionFiles::OnMemory() const {
  for (const Segment& segment : segments_) {
    TS_ASSIGN_OR_RETURN(const storage_bench::FileSystem system,
                        storage_bench::FileSystemOf(segment.path));
    if (!system.is_memory) return false;
  }
  return true;
}

absl::StatusOr<storage_bench::CacheDrop> PartitionFiles::Drop(storage_bench::CacheDrop drop) {
  std::vector<std::string> directories;
  for (const Segment& segment : segments_) {
    directories.insert(directories.end(), segment.partitions.begin(), segment.partitions.end());
  }
  using storage_bench::Unwritten;
  TS_ASSIGN_OR_RETURN(drop, storage_bench::DropPages(
                                directories, drop, synced_ ? Unwritten::kNone : Unwritten::kSync));
  synced_ = true;
  return drop;
}

absl::StatusOr<PartitionFiles::Cached> PartitionFiles::CachedBytes() const {
  const auto page_bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  Cached cached;
  for (const Segment& segment : segments_) {
    storage_bench::Pages pages;
    for (const std::string& partition : segment.partitions) {
      TS_ASSIGN_OR_RETURN(const storage_bench::Pages found, storage_bench::PagesBelow(partition));
      pages.resident += found.resident;
      pages.total += found.total;
    }
    cached.bytes.push_back(pages.resident * page_bytes);
    cached.database_bytes += pages.total * page_bytes;
  }
  return cached;
}

}  // namespace tickstack::measure::query_suite
