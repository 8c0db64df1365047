#pragma once

// What the writers of a database do to a file system, one step after the other: files are created,
// written, synced, renamed. A test gets to see each step before it is done, and may refuse it: that
// is a full disk; and if it refuses all that follow, a process that was killed there.
//
// Threads: any, also at once.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"

namespace tickstack {

enum class StorageStep : uint8_t {
  kMakeDirectory,
  kCreate,
  kWrite,
  kTruncate,
  kSync,
  kSyncDirectory,
  kRename,  // The path is the new one.
  kRemove,  // Removes a file, or a directory with its content.
};

class StorageObserver {
 public:
  virtual ~StorageObserver() = default;
  // An error is what the step fails with, and then nothing was done. `bytes`: of a kWrite.
  virtual absl::Status Before(StorageStep step, const std::string& path, size_t bytes) = 0;
};

class Storage {
 public:
  Storage() = default;
  explicit Storage(StorageObserver* observer) : observer_(observer) {}

  absl::Status MakeDirectory(const std::string& path) const;  // With those above it.
  absl::StatusOr<File> Create(const std::string& path) const;
  absl::Status Write(File& file, uint64_t offset, std::span<const std::byte> bytes) const;
  absl::Status Truncate(File& file, uint64_t bytes) const;
  absl::Status Sync(File& file) const;
  absl::Status SyncDirectory(const std::string& path) const;
  // Not synced: SyncDirectory of where it is must follow.
  absl::Status Rename(const std::string& from, const std::string& to) const;
  // What is not there is removed already.
  absl::Status Remove(const std::string& path) const;

 private:
  absl::Status Before(StorageStep step, const std::string& path, size_t bytes = 0) const {
    return observer_ == nullptr ? absl::OkStatus() : observer_->Before(step, path, bytes);
  }

  StorageObserver* observer_ = nullptr;
};

// A new file of exactly these bytes, synced; its directory is not.
absl::Status WriteNewFile(const Storage& storage, const std::string& path,
                          std::span<const std::byte> bytes);

}  // namespace tickstack
