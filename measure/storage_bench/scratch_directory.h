#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tickstack::measure::storage_bench {

// A new directory inside a given one, and everything that is written to it. Removes itself, and
// nothing else. A process that is killed by SIGKILL leaves it behind.
// Threads: one owner. Children of the owner's process may have copies, which remove nothing.
class ScratchDirectory {
 public:
  // Creates `parent`/tickstack-bench.XXXXXX with mode 0700. The error names `parent`: kNotFound if
  // it does not exist, kInternal or kPermissionDenied if nothing can be created in it.
  static absl::StatusOr<ScratchDirectory> In(const std::string& parent);
  ScratchDirectory(ScratchDirectory&& other) noexcept;
  ScratchDirectory& operator=(ScratchDirectory&&) = delete;
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory();

  const std::string& path() const { return path_; }

  // Removes the directory. The error names the file that could not be removed.
  absl::Status Remove();

 private:
  ScratchDirectory(std::string path, pid_t owner) : path_(std::move(path)), owner_(owner) {}

  std::string path_;  // Empty once it is removed.
  pid_t owner_;
};

// Facts about the file system of a directory.
struct FileSystem {
  uint64_t free_bytes = 0;  // Bytes that this user may still write.
  bool is_memory = false;   // tmpfs or ramfs: there is no device, and nothing to drop.
};
absl::StatusOr<FileSystem> FileSystemOf(const std::string& directory);

// kResourceExhausted, with both numbers, if `bytes` do not fit into the file system of `directory`.
absl::Status CheckFits(const std::string& directory, uint64_t bytes);

}  // namespace tickstack::measure::storage_bench
