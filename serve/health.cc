#include "serve/health.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <filesystem>

#include "base/human_text.h"
#include "base/status.h"

namespace tickstack::serve {

absl::StatusOr<DiskSpace> SpaceOf(const std::string& path) {
  std::filesystem::path at = path.empty() ? "." : path;
  struct statvfs found{};
  while (statvfs(at.c_str(), &found) != 0) {
    const int error = errno;
    const std::filesystem::path parent = at.has_parent_path() ? at.parent_path() : ".";
    if (error != ENOENT || parent == at) return ErrnoStatus(error, at.string());
    at = parent;
  }
  return DiskSpace{uint64_t{found.f_bavail} * found.f_frsize,
                   uint64_t{found.f_blocks} * found.f_frsize};
}

void CheckDisk(const WatchedDisk& disk, const absl::StatusOr<DiskSpace>& space,
               const HealthLimits& limits, Reasons& reasons) {
  if (!disk.must_have_space) return;
  if (!space.ok()) {
    reasons.push_back(fmt::format("disk {}: {}", disk.name, Message(space.status())));
    return;
  }
  const uint64_t least =
      limits.disk_free_bytes > 0 ? limits.disk_free_bytes : space->total_bytes / 10;
  if (space->free_bytes >= least) return;
  reasons.push_back(fmt::format("disk {}: {} of {} are free at {}, expected {}", disk.name,
                                BytesText(space->free_bytes), BytesText(space->total_bytes),
                                disk.path, BytesText(least)));
}

}  // namespace tickstack::serve
