#pragma once

// The steps in which the writers of a database change a file system: files are created, written,
// synced, renamed. A test observes each step before it happens. It may refuse the step, which
// simulates a full disk, or refuse all further steps, which simulates that the process was killed.
//
// Threads: any, concurrently.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "disk/checksum_file.h"

namespace tickstack::disk {

enum class StorageStep : uint8_t {
  kMakeDirectory,
  kCreate,
  kWrite,
  kTruncate,
  kSync,
  kSyncDirectory,
  kRename,    // The path is the new one.
  kExchange,  // The path is the second one.
  kLink,      // The path is the new one.
  kRemove,    // Removes a file, or a directory with its content.
};

class StorageObserver {
 public:
  virtual ~StorageObserver() = default;
  // Called before each step. If it returns an error, the step fails with that error and has no
  // effect. `bytes` is the number of bytes of a kWrite.
  virtual absl::Status Before(StorageStep step, const std::string& path, size_t bytes) = 0;
};

class Storage {
 public:
  Storage() = default;
  explicit Storage(StorageObserver* observer) : observer_(observer) {}

  // Creates a directory and its parents. Does not sync: call SyncDirectory for the parent
  // afterwards.
  absl::Status MakeDirectory(const std::string& path) const;
  // Calls CreateDirectories (base/file.h).
  absl::Status MakeDurableDirectory(const std::string& path) const;
  absl::StatusOr<File> Create(const std::string& path) const;
  absl::Status Write(File& file, uint64_t offset, std::span<const std::byte> bytes) const;
  absl::Status Truncate(File& file, uint64_t bytes) const;
  absl::Status Sync(File& file) const;
  absl::Status SyncDirectory(const std::string& path) const;
  // Does not sync: call SyncDirectory for the directory of `to` afterwards.
  absl::Status Rename(const std::string& from, const std::string& to) const;
  // Exchanges the names of two directories of the same file system in one step: at any moment, each
  // name leads to one of them. kFailedPrecondition if the file system cannot do that. Syncs as
  // little as Rename does.
  absl::Status Exchange(const std::string& one, const std::string& other) const;
  // Makes `to` another name of the file `from`. Syncs as little as Rename does.
  absl::Status Link(const std::string& from, const std::string& to) const;
  // Removes a file, or a directory with its content. Succeeds if `path` does not exist.
  absl::Status Remove(const std::string& path) const;

 private:
  absl::Status Before(StorageStep step, const std::string& path, size_t bytes = 0) const {
    return observer_ == nullptr ? absl::OkStatus() : observer_->Before(step, path, bytes);
  }

  StorageObserver* observer_ = nullptr;
};

// Writes a new file of exactly these bytes and syncs it, but not its directory. Its checksums go to
// `checksums`, unless that is nullptr.
absl::Status WriteNewFile(const Storage& storage, const std::string& path,
                          std::span<const std::byte> bytes, ChecksumCollector* checksums = nullptr);

}  // namespace tickstack::disk
