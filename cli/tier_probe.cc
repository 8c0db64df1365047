#include "cli/tier_probe.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <memory>

#include "base/status.h"
#include "rdb/rdb_main.h"

namespace tickstack::cli {
namespace {

constexpr size_t kProbeBytes = size_t{16} << 20;

absl::StatusOr<size_t> FreeBytesOf(const std::string& path) {
  struct statvfs found{};
  if (statvfs(path.c_str(), &found) != 0) return ErrnoStatus(errno, path);
  return size_t{found.f_bavail} * found.f_frsize;
}

// Returns the size of a file; 0 if there is none.
size_t SizeOfFile(const std::string& path) {
  struct stat found{};
  return stat(path.c_str(), &found) == 0 ? static_cast<size_t>(found.st_size) : 0;
}

}  // namespace

TierProbe ProbeTier(const std::string& rdb, const mem::TierOptions& options) {
  TierProbe probe;
  mem::TierOptions small = options;
  small.touch_ahead_bytes = 0;
  if (IsInFiles(small)) {
    const absl::StatusOr<size_t> free_bytes = FreeBytesOf(small.path);
    if (free_bytes.ok()) {
      // An existing file of a persistent tier is reused, or created again in its own place.
      const bool persistent = small.kind == mem::TierKind::kPersistent;
      const size_t held =
          persistent ? SizeOfFile(fmt::format("{}/{}", small.path, rdb::PersistentFileOf(rdb))) : 0;
      probe.free_bytes = *free_bytes + held;
      if (small.capacity_bytes > *probe.free_bytes) {
        probe.status = ResourceExhausted("tier {}: size is {} bytes, {} has {} free", small.name,
                                         small.capacity_bytes, small.path, *probe.free_bytes);
      }
    }
    // The same mapping; a persistent tier would leave files.
    small.kind = mem::TierKind::kFilesystem;
    small.allocator = mem::FileAllocator::kArena;
    small.capacity_bytes = kProbeBytes;
    if (free_bytes.ok() && *free_bytes < kProbeBytes) return probe;  // Too little space to try it.
  }
  const absl::StatusOr<std::unique_ptr<mem::Tier>> tier = mem::OpenTier(small);
  if (!tier.ok()) {
    probe.status = tier.status();
    return probe;
  }
  probe.found = (*tier)->Stats();
  return probe;
}

}  // namespace tickstack::cli
