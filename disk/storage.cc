#include "disk/storage.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/status.h"

namespace tickstack::disk {

absl::Status Storage::MakeDirectory(const std::string& path) const {
  TS_RETURN_IF_ERROR(Before(StorageStep::kMakeDirectory, path));
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return Annotate(ErrnoStatus(error.value(), "mkdir"), path);
  return absl::OkStatus();
}

absl::Status Storage::MakeDurableDirectory(const std::string& path) const {
  TS_ASSIGN_OR_RETURN(const bool is_there, FileExists(path));
  if (!is_there) TS_RETURN_IF_ERROR(Before(StorageStep::kMakeDirectory, path));
  return CreateDirectories(path);
}

absl::StatusOr<File> Storage::Create(const std::string& path) const {
  TS_RETURN_IF_ERROR(Before(StorageStep::kCreate, path));
  return File::Create(path);
}

absl::Status Storage::Write(File& file, uint64_t offset, std::span<const std::byte> bytes) const {
  TS_RETURN_IF_ERROR(Before(StorageStep::kWrite, file.path(), bytes.size()));
  return file.WriteAt(offset, bytes);
}

absl::Status Storage::Truncate(File& file, uint64_t bytes) const {
  TS_RETURN_IF_ERROR(Before(StorageStep::kTruncate, file.path()));
  return file.Truncate(bytes);
}

absl::Status Storage::Sync(File& file) const {
  TS_RETURN_IF_ERROR(Before(StorageStep::kSync, file.path()));
  return file.SyncData();
}

absl::Status Storage::SyncDirectory(const std::string& path) const {
  TS_RETURN_IF_ERROR(Before(StorageStep::kSyncDirectory, path));
  return tickstack::SyncDirectory(path);
}

absl::Status Storage::Rename(const std::string& from, const std::string& to) const {
  TS_RETURN_IF_ERROR(Before(StorageStep::kRename, to));
  if (std::rename(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
  return Annotate(ErrnoStatus(errno, "rename"), to);
}

absl::Status Storage::Exchange(const std::string& one, const std::string& other) const {
  TS_RETURN_IF_ERROR(Before(StorageStep::kExchange, other));
  if (::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0) {
    return absl::OkStatus();
  }
  const int error_number = errno;
  if (error_number == EINVAL || error_number == ENOSYS || error_number == EOPNOTSUPP) {
    return FailedPrecondition(
        "{}: its file system cannot exchange two directories (renameat2 with RENAME_EXCHANGE), "
        "expected one that can, such as ext4, xfs or btrfs",
        other);
  }
  return Annotate(ErrnoStatus(error_number, "exchange"), other);
}

absl::Status Storage::Link(const std::string& from, const std::string& to) const {
  TS_RETURN_IF_ERROR(Before(StorageStep::kLink, to));
  if (::link(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
  return Annotate(ErrnoStatus(errno, "link"), to);
}

absl::Status Storage::Remove(const std::string& path) const {
  TS_RETURN_IF_ERROR(Before(StorageStep::kRemove, path));
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) return Annotate(ErrnoStatus(error.value(), "remove"), path);
  return absl::OkStatus();
}

absl::Status WriteNewFile(const Storage& storage, const std::string& path,
                          std::span<const std::byte> bytes, ChecksumCollector* checksums) {
  TS_ASSIGN_OR_RETURN(File file, storage.Create(path));
  TS_RETURN_IF_ERROR(storage.Write(file, 0, bytes));
  TS_RETURN_IF_ERROR(storage.Sync(file));
  if (checksums == nullptr) return absl::OkStatus();
  BlockChecksums blocks;
  blocks.Append(bytes);
  checksums->Add(path, std::move(blocks));
  return absl::OkStatus();
}

}  // namespace tickstack::disk
