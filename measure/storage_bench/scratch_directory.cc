#include "measure/storage_bench/scratch_directory.h"

#include <linux/magic.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/human_text.h"
#include "base/status.h"

namespace tickstack::measure::storage_bench {

absl::StatusOr<ScratchDirectory> ScratchDirectory::In(const std::string& parent) {
  std::string path = parent + "/tickstack-bench.XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    return Annotate(ErrnoStatus(errno, "create a directory in it"), parent);
  }
  return ScratchDirectory(std::move(path), ::getpid());
}

ScratchDirectory::ScratchDirectory(ScratchDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})), owner_(other.owner_) {}

ScratchDirectory::~ScratchDirectory() { Remove().IgnoreError(); }

absl::Status ScratchDirectory::Remove() {
  if (path_.empty() || owner_ != ::getpid()) return absl::OkStatus();
  std::error_code error;
  std::filesystem::remove_all(path_, error);  // Does not follow links.
  if (error) return Annotate(ErrnoStatus(error.value(), "remove"), path_);
  path_.clear();
  return absl::OkStatus();
}

absl::StatusOr<FileSystem> FileSystemOf(const std::string& directory) {
  struct statvfs space{};
  struct statfs kind{};
  if (::statvfs(directory.c_str(), &space) != 0 || ::statfs(directory.c_str(), &kind) != 0) {
    return Annotate(ErrnoStatus(errno, "statfs"), directory);
  }
  const auto type = static_cast<uint64_t>(kind.f_type);
  return FileSystem{.free_bytes = uint64_t{space.f_bavail} * space.f_frsize,
                    .is_memory = type == TMPFS_MAGIC || type == RAMFS_MAGIC};
}

absl::Status CheckFits(const std::string& directory, uint64_t bytes) {
  TS_ASSIGN_OR_RETURN(const FileSystem found, FileSystemOf(directory));
  if (bytes <= found.free_bytes) return absl::OkStatus();
  return ResourceExhausted(
      "{}: {} are free, the benchmark writes up to {}; choose a smaller --size or fewer processes",
      directory, BytesText(found.free_bytes), BytesText(bytes));
}

}  // namespace tickstack::measure::storage_bench
