// Makes system calls on files fail, in a program that loads this library by LD_PRELOAD.
//
// The calls below are those that the program and its shared libraries make through the C library.
// Calls that the C library makes itself, such as the reads of a FILE, are not seen.
//
// Environment variables:
//
//   FAILING_CALLS_BELOW  Directory; only calls on it, and on files and directories in it, count.
//   FAILING_CALLS_TRACE  File to which each counted call is appended as a line
//                        `KIND NUMBER FUNCTION PATH`, followed by the error if it failed.
//   FAILING_CALLS        `KIND NUMBER ERRNO TIMES`: of the calls of this kind, TIMES calls fail
//                        from call NUMBER on, which is counted from 1.
//
// Two more kinds are unions: `change`, all calls that a file system mounted read-only refuses, and
// `grow`, all calls that need room. A write that fails has written the first half of its bytes.
// Without these variables, the library changes nothing.

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace tickstack::faults {
namespace {

enum Kind : size_t {
  kOpen,
  kCreate,  // Opens for writing.
  kClose,
  kStat,
  kList,
  kRead,
  kMap,
  kWrite,
  kSync,
  kTruncate,
  kAllocate,
  kRename,
  kLink,
  kRemove,
  kMkdir,
  kTimes,
  kLock,
  kChange,
  kGrow,
  kKinds,
};
constexpr std::array<const char*, kKinds> kNames = {
    "open",     "create", "close", "stat",   "list",  "read",  "map",  "write",  "sync", "truncate",
    "allocate", "rename", "link",  "remove", "mkdir", "times", "lock", "change", "grow"};

bool Changes(Kind kind) {
  return kind == kCreate || kind == kWrite || kind == kSync || kind == kTruncate ||
         kind == kAllocate || kind == kRename || kind == kLink || kind == kRemove ||
         kind == kMkdir || kind == kTimes;
}
bool Grows(Kind kind) {
  return kind == kCreate || kind == kWrite || kind == kAllocate || kind == kLink || kind == kMkdir;
}

// What is to fail, and how many calls there were.
class Plan {
 public:
  Plan() {
    if (const char* const below = std::getenv("FAILING_CALLS_BELOW")) below_ = below;
    if (const char* const trace = std::getenv("FAILING_CALLS_TRACE")) {
      trace_ = static_cast<int>(
          syscall(SYS_openat, AT_FDCWD, trace, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    }
    char kind[32] = "";
    const char* const plan = std::getenv("FAILING_CALLS");
    if (plan == nullptr) return;
    if (std::sscanf(plan, "%31s %ld %d %ld", kind, &first_, &error_, &times_) != 4) std::abort();
    while (kind_ > 0 && std::strcmp(kind, kNames[kind_ - 1]) != 0) --kind_;
    if (kind_-- == 0) std::abort();
  }

  // Counts a call, and returns its error; 0: the call is made.
  int ErrorOf(Kind kind, const char* function, const std::string& path) {
    if (below_.empty() || !path.starts_with(below_) ||
        (path.size() > below_.size() && path[below_.size()] != '/')) {
      return 0;
    }
    const long number = ++counts_[kind];
    bool fails = IsToFail(kind, number);
    if (Changes(kind)) fails |= IsToFail(kChange, ++counts_[kChange]);
    if (Grows(kind)) fails |= IsToFail(kGrow, ++counts_[kGrow]);
    if (trace_ >= 0) Trace(kNames[kind], number, function, path, fails ? error_ : 0);
    return fails ? error_ : 0;
  }

  const std::string& below() const { return below_; }

 private:
  bool IsToFail(size_t kind, long number) const {
    return kind == kind_ && number >= first_ && number < first_ + times_;
  }

  void Trace(const char* kind, long number, const char* function, const std::string& path,
             int error) const {
    std::string line = std::string(kind) + " " + std::to_string(number) + " " + function + " " +
                       path.substr(below_.size());
    if (error != 0) line += std::string(" ") + strerrorname_np(error);
    line += '\n';
    syscall(SYS_write, trace_, line.data(), line.size());
  }

  std::string below_;
  int trace_ = -1;
  size_t kind_ = kKinds;  // None.
  int error_ = 0;
  long first_ = 0, times_ = 0;
  std::array<std::atomic<long>, kKinds> counts_{};
};

// Never destroyed: other libraries call after the destructors have run.
Plan& ThePlan() {
  static Plan* const plan = new Plan;
  return *plan;
}

std::string PathOf(int fd) {
  char path[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const long bytes = syscall(SYS_readlinkat, AT_FDCWD, link.c_str(), path, sizeof(path));
  return bytes < 0 ? std::string() : std::string(path, static_cast<size_t>(bytes));
}

std::string PathIn(int directory, const char* name) {
  if (name == nullptr || name[0] == '/' || directory == AT_FDCWD)
    return name == nullptr ? "" : name;
  return PathOf(directory) + "/" + name;
}

// True if the call has to fail, with errno set; otherwise errno is as it was.
bool Fails(Kind kind, const char* function, const std::string& path) {
  const int error = ThePlan().ErrorOf(kind, function, path);
  if (error != 0) errno = error;
  return error != 0;
}

bool FailsAt(Kind kind, const char* function, int fd) {
  const int saved = errno;
  const std::string path = PathOf(fd);
  errno = saved;
  return Fails(kind, function, path);
}

Kind KindOfOpen(int flags) {
  return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0 ? kCreate : kOpen;
}

// Callers pass a mode only with these flags.
mode_t ModeOf(int flags, va_list rest) {
  const bool has = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return has ? va_arg(rest, mode_t) : 0;
}

int OpenAt(const char* function, int directory, const char* path, int flags, mode_t mode) {
  if (Fails(KindOfOpen(flags), function, PathIn(directory, path))) return -1;
  return static_cast<int>(syscall(SYS_openat, directory, path, flags, mode));
}

ssize_t WriteParts(const char* function, int fd, const iovec* parts, int count, off_t offset) {
  if (!FailsAt(kWrite, function, fd)) {
    return offset < 0 ? syscall(SYS_writev, fd, parts, count)
                      : syscall(SYS_pwritev, fd, parts, count, offset, 0);
  }
  const int error = errno;
  if (count > 0) {
    iovec half = parts[0];
    half.iov_len /= 2;
    offset < 0 ? syscall(SYS_writev, fd, &half, 1) : syscall(SYS_pwritev, fd, &half, 1, offset, 0);
  }
  errno = error;
  return -1;
}

ssize_t Write(const char* function, int fd, const void* bytes, size_t count, off_t offset) {
  const iovec part = {const_cast<void*>(bytes), count};
  return WriteParts(function, fd, &part, 1, offset);
}

int StatAt(const char* function, int directory, const char* path, struct stat* status, int flags) {
  if (Fails(kStat, function, PathIn(directory, path))) return -1;
  return static_cast<int>(syscall(SYS_newfstatat, directory, path, status, flags));
}

int StatOf(const char* function, int fd, struct stat* status) {
  if (FailsAt(kStat, function, fd)) return -1;
  return static_cast<int>(syscall(SYS_newfstatat, fd, "", status, AT_EMPTY_PATH));
}

int RenameAt(const char* function, int from_fd, const char* from, int to_fd, const char* to,
             unsigned flags) {
  if (Fails(kRename, function, PathIn(to_fd, to))) return -1;
  return static_cast<int>(syscall(SYS_renameat2, from_fd, from, to_fd, to, flags));
}

int RemoveAt(const char* function, int directory, const char* path, int flags) {
  if (Fails(kRemove, function, PathIn(directory, path))) return -1;
  return static_cast<int>(syscall(SYS_unlinkat, directory, path, flags));
}

void* Map(const char* function, void* at, size_t bytes, int protection, int flags, int fd,
          off_t offset) {
  if (fd >= 0 && FailsAt(kMap, function, fd)) return MAP_FAILED;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): syscall returns addresses as numbers.
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, protection, flags, fd, offset));
}

int Truncate(const char* function, int fd, off_t bytes) {
  if (FailsAt(kTruncate, function, fd)) return -1;
  return static_cast<int>(syscall(SYS_ftruncate, fd, bytes));
}

// Returns an error number, as posix_fallocate does.
int Allocate(const char* function, int fd, int mode, off_t offset, off_t bytes) {
  if (FailsAt(kAllocate, function, fd)) return errno;
  return syscall(SYS_fallocate, fd, mode, offset, bytes) == 0 ? 0 : errno;
}

template <typename Function>
Function* Next(const char* name, Function*& cached) {
  if (cached == nullptr) cached = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
  return cached;
}

}  // namespace
}  // namespace tickstack::faults

using namespace tickstack::faults;  // Functions of the C library have no namespace.

// The calls. glibc has most of them under a second name, for programs that are built for files of
// more than 2 GiB on 32-bit machines.
extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int fd = OpenAt("open", AT_FDCWD, path, flags, ModeOf(flags, rest));
  va_end(rest);
  return fd;
}
int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int fd = OpenAt("open", AT_FDCWD, path, flags, ModeOf(flags, rest));
  va_end(rest);
  return fd;
}
int openat(int directory, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int fd = OpenAt("openat", directory, path, flags, ModeOf(flags, rest));
  va_end(rest);
  return fd;
}
int openat64(int directory, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int fd = OpenAt("openat", directory, path, flags, ModeOf(flags, rest));
  va_end(rest);
  return fd;
}
int close(int fd) {
  const bool fails = FailsAt(kClose, "close", fd);
  const int error = errno;
  const int closed = static_cast<int>(syscall(SYS_close, fd));  // Also if it reports an error.
  if (!fails) return closed;
  errno = error;
  return -1;
}

ssize_t read(int fd, void* bytes, size_t count) {
  return FailsAt(kRead, "read", fd) ? -1 : syscall(SYS_read, fd, bytes, count);
}
ssize_t pread(int fd, void* bytes, size_t count, off_t offset) {
  return FailsAt(kRead, "pread", fd) ? -1 : syscall(SYS_pread64, fd, bytes, count, offset);
}
ssize_t pread64(int fd, void* bytes, size_t count, off_t offset) {
  return FailsAt(kRead, "pread", fd) ? -1 : syscall(SYS_pread64, fd, bytes, count, offset);
}
ssize_t write(int fd, const void* bytes, size_t count) {
  return Write("write", fd, bytes, count, -1);
}
ssize_t pwrite(int fd, const void* bytes, size_t count, off_t offset) {
  return Write("pwrite", fd, bytes, count, offset);
}
ssize_t pwrite64(int fd, const void* bytes, size_t count, off_t offset) {
  return Write("pwrite", fd, bytes, count, offset);
}
ssize_t writev(int fd, const iovec* parts, int count) {
  return WriteParts("writev", fd, parts, count, -1);
}
ssize_t pwritev(int fd, const iovec* parts, int count, off_t offset) {
  return WriteParts("pwritev", fd, parts, count, offset);
}
ssize_t pwritev64(int fd, const iovec* parts, int count, off_t offset) {
  return WriteParts("pwritev", fd, parts, count, offset);
}
int fdatasync(int fd) {
  return FailsAt(kSync, "fdatasync", fd) ? -1 : static_cast<int>(syscall(SYS_fdatasync, fd));
}
int fsync(int fd) {
  return FailsAt(kSync, "fsync", fd) ? -1 : static_cast<int>(syscall(SYS_fsync, fd));
}
int ftruncate(int fd, off_t bytes) noexcept { return Truncate("ftruncate", fd, bytes); }
int ftruncate64(int fd, off_t bytes) noexcept { return Truncate("ftruncate", fd, bytes); }
int fallocate(int fd, int mode, off_t offset, off_t bytes) {
  const int error = Allocate("fallocate", fd, mode, offset, bytes);
  if (error != 0) errno = error;
  return error == 0 ? 0 : -1;
}
int posix_fallocate(int fd, off_t offset, off_t bytes) {
  return Allocate("posix_fallocate", fd, 0, offset, bytes);
}

int rename(const char* from, const char* to) noexcept {
  return RenameAt("rename", AT_FDCWD, from, AT_FDCWD, to, 0);
}
int renameat(int from_fd, const char* from, int to_fd, const char* to) noexcept {
  return RenameAt("renameat", from_fd, from, to_fd, to, 0);
}
int renameat2(int from_fd, const char* from, int to_fd, const char* to, unsigned flags) noexcept {
  return RenameAt("renameat2", from_fd, from, to_fd, to, flags);
}
int link(const char* from, const char* to) noexcept {
  if (Fails(kLink, "link", to)) return -1;
  return static_cast<int>(syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int unlink(const char* path) noexcept { return RemoveAt("unlink", AT_FDCWD, path, 0); }
int unlinkat(int directory, const char* path, int flags) noexcept {
  return RemoveAt("unlinkat", directory, path, flags);
}
int rmdir(const char* path) noexcept { return RemoveAt("rmdir", AT_FDCWD, path, AT_REMOVEDIR); }
int remove(const char* path) noexcept {
  const int removed = RemoveAt("remove", AT_FDCWD, path, 0);
  if (removed == 0 || errno != EISDIR) return removed;
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR));
}
int mkdir(const char* path, mode_t mode) noexcept {
  if (Fails(kMkdir, "mkdir", path)) return -1;
  return static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}
int utimensat(int directory, const char* path, const timespec* times, int flags) noexcept {
  if (Fails(kTimes, "utimensat", PathIn(directory, path))) return -1;
  return static_cast<int>(syscall(SYS_utimensat, directory, path, times, flags));
}

int stat(const char* path, struct stat* status) noexcept {
  return StatAt("stat", AT_FDCWD, path, status, 0);
}
int lstat(const char* path, struct stat* status) noexcept {
  return StatAt("lstat", AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}
int fstat(int fd, struct stat* status) noexcept { return StatOf("fstat", fd, status); }
int fstat64(int fd, struct stat64* status) noexcept {
  return StatOf("fstat", fd, reinterpret_cast<struct stat*>(status));
}
int access(const char* path, int mode) noexcept {
  if (Fails(kStat, "access", path)) return -1;
  return static_cast<int>(syscall(SYS_faccessat, AT_FDCWD, path, mode));
}
DIR* opendir(const char* path) {
  static decltype(opendir)* cached = nullptr;
  return Fails(kList, "opendir", path) ? nullptr : Next("opendir", cached)(path);
}
DIR* fdopendir(int fd) {
  static decltype(fdopendir)* cached = nullptr;
  return FailsAt(kList, "fdopendir", fd) ? nullptr : Next("fdopendir", cached)(fd);
}
dirent* readdir(DIR* directory) {
  static decltype(readdir)* cached = nullptr;
  return FailsAt(kList, "readdir", dirfd(directory)) ? nullptr : Next("readdir", cached)(directory);
}

void* mmap(void* at, size_t bytes, int protection, int flags, int fd, off_t offset) noexcept {
  return Map("mmap", at, bytes, protection, flags, fd, offset);
}
void* mmap64(void* at, size_t bytes, int protection, int flags, int fd, off_t offset) noexcept {
  return Map("mmap", at, bytes, protection, flags, fd, offset);
}
// Which file is mapped there is not known, so each call counts.
int msync(void* at, size_t bytes, int flags) {
  if (Fails(kSync, "msync", ThePlan().below())) return -1;
  return static_cast<int>(syscall(SYS_msync, at, bytes, flags));
}

// Locks only; the other commands do not touch the disk.
int fcntl(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  const bool locks = command == F_OFD_SETLK || command == F_OFD_GETLK;
  if (locks && FailsAt(kLock, "fcntl", fd)) return -1;
  return static_cast<int>(syscall(SYS_fcntl, fd, command, argument));
}

}  // extern "C"
