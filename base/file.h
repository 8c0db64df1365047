#pragma once

// Files by descriptor: whole reads and writes, no short ones; every error names the path.
//
// There is no mapping of files here (base/mapping.h has it, for files that never change). A mapped
// file that somebody cuts short ends the reading process with SIGBUS, and logs are cut short on
// purpose.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"

namespace tickstack {

// An open file; closed by the destructor, never inherited by a program that we start. Positions are
// always given, so that threads may share a File for ReadAt, and one of them may write.
class File {
 public:
  File() = default;
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  // kNotFound if there is none. kInvalidArgument for what is no file. Never waits for a pipe.
  static absl::StatusOr<File> OpenForReading(std::string path);
  // Read and write; created (mode 0644) if there is none.
  static absl::StatusOr<File> OpenOrCreate(std::string path);
  // Write only, new (mode 0644): kInternal if there is one already.
  static absl::StatusOr<File> Create(std::string path);

  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }

  absl::StatusOr<uint64_t> Bytes() const;

  // Fills `out` from `offset` on; returns how many bytes there were, fewer than asked only at the
  // end of the file.
  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<std::byte> out) const;

  // Writes all segments, one after the other, from `offset` on, with one system call per IOV_MAX
  // segments. On an error any prefix may have been written. kResourceExhausted: disk, quota or the
  // process's limit is full.
  absl::Status WriteAt(uint64_t offset, std::span<const std::span<const std::byte>> segments);
  absl::Status WriteAt(uint64_t offset, std::span<const std::byte> bytes);

  // Whether writes from here on go past the page cache. Then memory, offset and length of each are
  // multiples of kDirectAlignment; and it returns when the disk has the bytes, if not yet for good:
  // SyncData is still to come. Where a file system cannot do it, or not for these bytes, writes go
  // the usual way again.
  static constexpr size_t kDirectAlignment = 4096;
  void SetDirect(bool on);
  bool is_direct() const { return direct_; }

  absl::Status Truncate(uint64_t bytes);
  absl::Status SyncData();  // fdatasync: the bytes, and the size if it grew.
  // Lets the kernel begin to write these bytes to the disk now, so that a SyncData to come finds
  // less to do. Promises nothing.
  void StartWriting(uint64_t offset, uint64_t bytes);

  // An exclusive lock that the kernel drops with the file's last descriptor, so also when we are
  // killed. kUnavailable, with the process, if somebody else holds it, in this process
  // or another.
  absl::Status TryLock();
  // Whether somebody else holds that lock now. Takes none itself.
  absl::StatusOr<bool> IsLockedByAnother() const;

 private:
  File(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  int fd_ = -1;
  bool direct_ = false;
  std::string path_;
};

bool FileExists(const std::string& path);

// mkdir -p.
absl::Status CreateDirectories(const std::string& path);

// The directory part of a path: `data/tplog` of `data/tplog/sym2013.10.07`, `.` of a bare name.
std::string DirectoryOf(std::string_view path);

// Makes the names in a directory durable: after creating or renaming a file in it.
absl::Status SyncDirectory(const std::string& path);

// Renames `from` to `to`, replaces an existing file, and syncs the directory. The caller has synced
// the file.
absl::Status RenameReplacing(const std::string& from, const std::string& to);

// The whole file; kResourceExhausted if it has more than `bytes_max` bytes.
absl::StatusOr<ByteBuffer> ReadWholeFile(const std::string& path, uint64_t bytes_max);

}  // namespace tickstack
