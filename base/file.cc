#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "base/process_lookup.h"
#include "base/status.h"

namespace tickstack {
namespace {

absl::Status FileError(int error_number, std::string_view call, const std::string& path) {
  // To a writer, a file at the process's size limit is the same as a full disk.
  if (error_number == EFBIG) error_number = ENOSPC;
  return Annotate(ErrnoStatus(error_number, call), path);
}

absl::StatusOr<int> OpenDescriptor(const std::string& path, int flags) {
  int fd;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return FileError(errno, "open", path);
  return fd;
}

// True if a directory is on another file system than its parent. Whoever mounted it created its
// name, and its parent may be of a kind that cannot be synced, such as squashfs.
bool IsMountPoint(const std::string& path, const std::string& parent) {
  struct stat inside{}, outside{};
  return ::stat(path.c_str(), &inside) == 0 && ::stat(parent.c_str(), &outside) == 0 &&
         inside.st_dev != outside.st_dev;
}

// Removes the first `bytes` of a run of iovecs; returns how many iovecs are done.
size_t Consume(std::span<iovec> parts, size_t bytes) {
  size_t done = 0;
  while (done < parts.size() && bytes >= parts[done].iov_len) bytes -= parts[done++].iov_len;
  if (done < parts.size()) {
    parts[done].iov_base = static_cast<char*>(parts[done].iov_base) + bytes;
    parts[done].iov_len -= bytes;
  }
  return done;
}

}  // namespace

File::File(File&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      direct_(std::exchange(other.direct_, false)),
      path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(direct_, other.direct_);
  std::swap(path_, other.path_);
  return *this;
}

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

absl::StatusOr<File> File::OpenForReading(std::string path) {
  // Opening a pipe would wait for a writer; for a regular file the flag has no effect.
  TS_ASSIGN_OR_RETURN(const int fd, OpenDescriptor(path, O_RDONLY | O_NONBLOCK));
  File file(fd, std::move(path));
  struct stat status{};
  if (::fstat(fd, &status) != 0) return FileError(errno, "fstat", file.path_);
  if (S_ISREG(status.st_mode)) return file;
  return InvalidArgument("{}: {}, expected a file", file.path_,
                         S_ISDIR(status.st_mode) ? "a directory" : "a device or pipe");
}

absl::StatusOr<File> File::OpenOrCreate(std::string path) {
  TS_ASSIGN_OR_RETURN(const int fd, OpenDescriptor(path, O_RDWR | O_CREAT));
  return File(fd, std::move(path));
}

absl::StatusOr<File> File::Create(std::string path) {
  TS_ASSIGN_OR_RETURN(const int fd, OpenDescriptor(path, O_WRONLY | O_CREAT | O_EXCL));
  return File(fd, std::move(path));
}

absl::StatusOr<uint64_t> File::Bytes() const {
  struct stat status{};
  if (::fstat(fd_, &status) != 0) return FileError(errno, "fstat", path_);
  return static_cast<uint64_t>(status.st_size);
}

absl::StatusOr<size_t> File::ReadAt(uint64_t offset, std::span<std::byte> out) const {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t got =
        ::pread(fd_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError(errno, "read", path_);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

absl::Status File::WriteAt(uint64_t offset, std::span<const std::span<const std::byte>> segments) {
  std::array<iovec, IOV_MAX> parts;
  while (!segments.empty()) {
    const size_t count = std::min(segments.size(), parts.size());
    for (size_t i = 0; i < count; ++i) {
      parts[i] = {const_cast<std::byte*>(segments[i].data()), segments[i].size()};
    }
    segments = segments.subspan(count);

    std::span<iovec> rest(parts.data(), count);
    rest = rest.subspan(Consume(rest, 0));  // Skips empty segments at the front.
    while (!rest.empty()) {
      const ssize_t wrote =
          ::pwritev(fd_, rest.data(), static_cast<int>(rest.size()), static_cast<off_t>(offset));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0 && errno == EINVAL && direct_) {
        SetDirect(false);
        continue;
      }
      if (wrote < 0) return FileError(errno, "write", path_);
      offset += static_cast<uint64_t>(wrote);
      rest = rest.subspan(Consume(rest, static_cast<size_t>(wrote)));
    }
  }
  return absl::OkStatus();
}

absl::Status File::WriteAt(uint64_t offset, std::span<const std::byte> bytes) {
  return WriteAt(offset, std::span(&bytes, 1));
}

void File::SetDirect(bool on) {
  const int flags = ::fcntl(fd_, F_GETFL);
  if (flags < 0) return;
  const bool done = ::fcntl(fd_, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
  direct_ = on && done;
}

absl::Status File::Truncate(uint64_t bytes) {
  while (::ftruncate(fd_, static_cast<off_t>(bytes)) != 0) {
    if (errno != EINTR) return FileError(errno, "truncate", path_);
  }
  return absl::OkStatus();
}

absl::Status File::SyncData() {
  // Not repeated after an error: the kernel reports a failed write once, and then drops the pages.
  if (::fdatasync(fd_) != 0) return FileError(errno, "fdatasync", path_);
  return absl::OkStatus();
}

void File::StartWriting(uint64_t offset, uint64_t bytes) {
  (void)::sync_file_range(fd_, static_cast<off64_t>(offset), static_cast<off64_t>(bytes),
                          SYNC_FILE_RANGE_WRITE);
}

// Uses a lock of the open file description: no other kind is separate for two descriptors of one
// process, and can be tested without being taken.
absl::Status File::TryLock() {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(fd_, F_OFD_SETLK, &lock) == 0) return absl::OkStatus();
  if (errno == EAGAIN || errno == EACCES) {
    struct stat status{};
    const ino_t inode = ::fstat(fd_, &status) == 0 ? status.st_ino : 0;
    return Unavailable("{}: {} is writing it", path_, DescribeLockHolder(path_, inode));
  }
  return FileError(errno, "lock", path_);
}

absl::Status File::LockWithin(std::chrono::nanoseconds at_most) {
  constexpr std::chrono::milliseconds kPause(20);
  const auto give_up = std::chrono::steady_clock::now() + at_most;
  absl::Status locked = TryLock();
  while (absl::IsUnavailable(locked) && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(kPause);
    locked = TryLock();
  }
  return locked;
}

void File::Unlock() {
  struct flock lock{};
  lock.l_type = F_UNLCK;
  lock.l_whence = SEEK_SET;
  ::fcntl(fd_, F_OFD_SETLK, &lock);
}

absl::StatusOr<bool> File::IsLockedByAnother() const {
  struct flock lock{};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(fd_, F_OFD_GETLK, &lock) != 0) return FileError(errno, "lock", path_);
  return lock.l_type != F_UNLCK;
}

absl::StatusOr<bool> FileExists(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return FileError(errno, "stat", path);
}

absl::Status CreateDirectories(const std::string& path) {
  if (path.empty() || path == "/" || path == ".") return absl::OkStatus();
  const std::string parent = DirectoryOf(path);
  // A call that was interrupted may have left one directory whose name is not durable: the deepest
  // one that exists. So the recursion ends there, not above it, and that name is synced as well.
  TS_ASSIGN_OR_RETURN(const bool exists, FileExists(path));
  if (!exists) TS_RETURN_IF_ERROR(CreateDirectories(parent));
  std::error_code error;
  std::filesystem::create_directory(path, error);
  if (error == std::errc::file_exists) error = std::make_error_code(std::errc::not_a_directory);
  if (error) return FileError(error.value(), "mkdir", path);
  const bool can_sync = ::access(parent.c_str(), R_OK) == 0 && !IsMountPoint(path, parent);
  return can_sync ? SyncDirectory(parent) : absl::OkStatus();
}

std::string DirectoryOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(path.substr(0, slash == 0 ? 1 : slash));
}

absl::Status SyncDirectory(const std::string& path) {
  TS_ASSIGN_OR_RETURN(const int fd, OpenDescriptor(path, O_RDONLY | O_DIRECTORY));
  const int failed = ::fsync(fd) != 0 ? errno : 0;
  ::close(fd);
  return failed == 0 ? absl::OkStatus() : FileError(failed, "fsync", path);
}

void RestrictFileAccess(FileAccess access) {
  if (access == FileAccess::kEveryone) return;
  const mode_t before = ::umask(0);
  ::umask(before | (access == FileAccess::kOwner ? 077 : 027));
}

void UseFileAccessOf(const std::string& directory) {
  constexpr mode_t kAll = 0777;
  struct stat status{};
  if (::stat(directory.c_str(), &status) == 0) ::umask(~status.st_mode & kAll);
}

absl::Status RenameReplacing(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return FileError(errno, "rename", from);
  return SyncDirectory(DirectoryOf(to));
}

absl::StatusOr<ByteBuffer> ReadWholeFile(const std::string& path, uint64_t bytes_max) {
  TS_ASSIGN_OR_RETURN(const File file, File::OpenForReading(path));
  TS_ASSIGN_OR_RETURN(const uint64_t bytes, file.Bytes());
  if (bytes > bytes_max) {
    return ResourceExhausted("{}: {} bytes, at most {} are read", path, bytes, bytes_max);
  }
  ByteBuffer buffer;
  buffer.resize(static_cast<size_t>(bytes));
  TS_ASSIGN_OR_RETURN(const size_t got, file.ReadAt(0, buffer.span()));
  buffer.resize(got);
  return buffer;
}

}  // namespace tickstack
