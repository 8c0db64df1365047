#pragma once

// Reads and writes files by descriptor. Reads and writes are complete, never short; every error
// names the path.
//
// Files are not mapped here: base/mapping.h maps files that never change. Truncating a mapped file
// kills its readers by SIGBUS, and logs are truncated on purpose.

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"

namespace tickstack {

// How long a process that starts waits for the lock of one that is ending.
inline constexpr std::chrono::seconds kLockWaitAtStart{5};

// An open file. The destructor closes it, and child programs never inherit it. Each call states its
// offset, so threads may share a File for ReadAt, while one of them writes.
class File {
 public:
  File() = default;
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  // Opens a file. kNotFound if there is none. kInvalidArgument if it is not a regular file; opening
  // a pipe does not block.
  static absl::StatusOr<File> OpenForReading(std::string path);
  // Opens for reading and writing, and creates the file (mode 0644) if there is none.
  static absl::StatusOr<File> OpenOrCreate(std::string path);
  // Creates a file (mode 0644) for writing: kInternal if there is one already.
  static absl::StatusOr<File> Create(std::string path);

  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }

  absl::StatusOr<uint64_t> Bytes() const;

  // Fills `out` starting at `offset`, and returns the number of bytes read, which is smaller than
  // requested only at the end of the file.
  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<std::byte> out) const;

  // Writes all segments, one after the other, starting at `offset`, with one system call per
  // IOV_MAX segments. After an error, any prefix may have been written. kResourceExhausted: the
  // disk is full, or a quota or the process's limit is reached.
  absl::Status WriteAt(uint64_t offset, std::span<const std::span<const std::byte>> segments);
  absl::Status WriteAt(uint64_t offset, std::span<const std::byte> bytes);

  // Chooses whether later writes bypass the page cache. If so, memory, offset and length of each
  // write must be multiples of kDirectAlignment, and a write returns when the disk has the bytes,
  // although not durably: SyncData is still needed. If the file system cannot do that, or cannot do
  // it for a write's bytes, writes use the page cache again.
  static constexpr size_t kDirectAlignment = 4096;
  void SetDirect(bool on);
  bool is_direct() const { return direct_; }

  absl::Status Truncate(uint64_t bytes);
  absl::Status SyncData();  // fdatasync: the bytes, and the size if it grew.
  // Asks the kernel to start writing these bytes to the disk, so that a later SyncData has less to
  // do. Guarantees nothing.
  void StartWriting(uint64_t offset, uint64_t bytes);

  // Takes an exclusive lock. The kernel releases it when the file's last descriptor is closed, and
  // therefore also when the process is killed. kUnavailable if another File or process holds it;
  // the error names the process.
  absl::Status TryLock();
  // Takes the lock as TryLock does, but retries for `at_most`: a process that was killed a moment
  // ago, or whose parent was killed, may still hold it. Blocks the thread.
  absl::Status LockWithin(std::chrono::nanoseconds at_most);
  // Releases the lock; the file stays open.
  void Unlock();
  // Returns whether another File or process holds the lock. Does not take it.
  absl::StatusOr<bool> IsLockedByAnother() const;

 private:
  File(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  int fd_ = -1;
  bool direct_ = false;
  std::string path_;
};

// Returns whether there is a file, directory or other entry of that path; a link to nothing is
// none. An error if the system cannot tell, for example because a disk fails (EIO) or this user may
// not search the directory: callers that create files must not take that for a missing one.
absl::StatusOr<bool> FileExists(const std::string& path);

// Creates a directory and its parents, like mkdir -p. When it returns, the names of the directories
// that it created are durable, and so is the name of the deepest one that existed: an earlier call
// may have been interrupted between creating that one and syncing its name. A parent that this user
// may not read cannot be synced, so the kernel decides when names in it become durable. Cost: an
// fsync for each directory that it creates, and one more.
absl::Status CreateDirectories(const std::string& path);

// Returns the directory part of a path: `data/tplog` of `data/tplog/sym2013.10.07`, `.` of a bare
// name.
std::string DirectoryOf(std::string_view path);

// Makes the names in a directory durable; needed after creating or renaming a file in it.
absl::Status SyncDirectory(const std::string& path);

// Which other users may read the files and directories that this process creates.
enum class FileAccess {
  kOwner,     // None: 0600 and 0700.
  kGroup,     // The group: 0640 and 0750.
  kEveryone,  // Whatever the process's umask allows.
};

// Sets the umask of this process, which its children inherit. It only removes rights: a stricter
// umask stays in force. Call it before other threads start.
void RestrictFileAccess(FileAccess access);

// Gives the files and directories that this process creates from now on the access that a directory
// has: sets the umask, whatever it was. Does nothing if there is no such directory. Call it before
// other threads start.
void UseFileAccessOf(const std::string& directory);

// Renames `from` to `to`, replacing an existing file, and syncs the directory. The caller must have
// synced the file.
absl::Status RenameReplacing(const std::string& from, const std::string& to);

// Returns the whole file; kResourceExhausted if it has more than `bytes_max` bytes.
absl::StatusOr<ByteBuffer> ReadWholeFile(const std::string& path, uint64_t bytes_max);

}  // namespace tickstack
