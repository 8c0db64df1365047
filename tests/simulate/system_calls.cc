#include "tests/simulate/system_calls.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <random>
#include <string>

#include "base/time.h"
#include "tests/simulate/world.h"

namespace tickstack::simulate {
namespace {

// Returns the C library's function of that name.
template <typename Function>
Function* Next(const char* name, Function*& cached) {
  if (cached == nullptr) cached = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
  return cached;
}

Disk* DiskOf(const char* path) {
  return the_world != nullptr ? the_world->DiskOf(std::string_view(path)) : nullptr;
}
Disk* DiskOf(int fd) { return the_world != nullptr ? the_world->DiskOf(fd) : nullptr; }

// Returns the path of a name in an open directory.
std::string PathIn(int directory, const char* name) {
  if (name[0] == '/' || directory == AT_FDCWD) return name;
  char path[PATH_MAX];
  const ssize_t bytes =
      readlink(("/proc/self/fd/" + std::to_string(directory)).c_str(), path, sizeof(path));
  if (bytes < 0) return name;
  // Relative, as the disk's root is.
  char here[PATH_MAX];
  const std::string full = std::string(path, static_cast<size_t>(bytes)) + "/" + name;
  const std::string prefix = std::string(getcwd(here, sizeof(here)) != nullptr ? here : "") + "/";
  return full.starts_with(prefix) ? full.substr(prefix.size()) : full;
}

// The current process's clock.
int64_t NowNs() {
  const Process* const process = the_world->current();
  return process == nullptr ? the_world->NowNs() : process->clock().NowNs();
}

int64_t ToNs(const timespec& time) { return int64_t{time.tv_sec} * kNsPerSecond + time.tv_nsec; }

}  // namespace

namespace real {

int Open(const char* path, int flags, mode_t mode) {
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
int Close(int fd) { return static_cast<int>(syscall(SYS_close, fd)); }
ssize_t ReadAt(int fd, void* bytes, size_t count, off_t offset) {
  return syscall(SYS_pread64, fd, bytes, count, offset);
}
ssize_t WriteAt(int fd, const void* bytes, size_t count, off_t offset) {
  return syscall(SYS_pwrite64, fd, bytes, count, offset);
}
int Truncate(int fd, off_t bytes) { return static_cast<int>(syscall(SYS_ftruncate, fd, bytes)); }
int Rename(const char* from, const char* to) {
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int Remove(const char* path, bool is_directory) {
  const int flags = is_directory ? AT_REMOVEDIR : 0;
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, flags));
}
int MakeDirectory(const char* path, mode_t mode) {
  return static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

int CreateThread(pthread_t* handle, const pthread_attr_t* attributes, void* (*function)(void*),
                 void* argument) {
  static decltype(pthread_create)* cached = nullptr;
  return Next("pthread_create", cached)(handle, attributes, function, argument);
}
int JoinThread(pthread_t handle) {
  static decltype(pthread_join)* cached = nullptr;
  return Next("pthread_join", cached)(handle, nullptr);
}
int TryLock(pthread_mutex_t* mutex) { return pthread_mutex_trylock(mutex); }
int Unlock(pthread_mutex_t* mutex) { return pthread_mutex_unlock(mutex); }

}  // namespace real
}  // namespace tickstack::simulate

namespace sim = tickstack::simulate;
using sim::the_world;

extern "C" {

// ---- files

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  sim::Disk* const disk = sim::DiskOf(path);
  return disk != nullptr ? disk->Open(path, flags, mode) : sim::real::Open(path, flags, mode);
}

int close(int fd) {
  if (sim::Disk* const disk = sim::DiskOf(fd)) disk->OnClosed(fd);
  if (the_world != nullptr) the_world->OnClosed(fd);
  return sim::real::Close(fd);
}

ssize_t pread(int fd, void* bytes, size_t count, off_t offset) {
  if (sim::Disk* const disk = sim::DiskOf(fd)) return disk->ReadAt(fd, bytes, count, offset);
  return sim::real::ReadAt(fd, bytes, count, offset);
}

ssize_t pwritev(int fd, const iovec* parts, int count, off_t offset) {
  if (sim::Disk* const disk = sim::DiskOf(fd)) return disk->WriteAt(fd, parts, count, offset);
  return syscall(SYS_pwritev, fd, parts, count, offset, 0);
}

int ftruncate(int fd, off_t bytes) noexcept {
  if (sim::Disk* const disk = sim::DiskOf(fd)) return disk->Truncate(fd, bytes);
  return sim::real::Truncate(fd, bytes);
}

int fdatasync(int fd) {
  if (sim::Disk* const disk = sim::DiskOf(fd)) return disk->Sync(fd);
  return static_cast<int>(syscall(SYS_fdatasync, fd));
}

int fsync(int fd) {
  if (sim::Disk* const disk = sim::DiskOf(fd)) return disk->Sync(fd);
  return static_cast<int>(syscall(SYS_fsync, fd));
}

int rename(const char* from, const char* to) noexcept {
  if (sim::Disk* const disk = sim::DiskOf(from)) return disk->Rename(from, to);
  return sim::real::Rename(from, to);
}

int unlinkat(int directory, const char* name, int flags) noexcept {
  const std::string path = sim::PathIn(directory, name);
  if (sim::Disk* const disk = sim::DiskOf(path.c_str())) return disk->Remove(path.c_str());
  return static_cast<int>(syscall(SYS_unlinkat, directory, name, flags));
}

int unlink(const char* path) noexcept { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char* path) noexcept { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
int remove(const char* path) noexcept {
  if (unlink(path) == 0) return 0;
  return errno == EISDIR ? rmdir(path) : -1;
}

int mkdir(const char* path, mode_t mode) noexcept {
  if (sim::Disk* const disk = sim::DiskOf(path)) return disk->MakeDirectory(path, mode);
  return sim::real::MakeDirectory(path, mode);
}

// The loops poll it before each of their events, but connections and timers are simulated. The
// kernel would take half of a life's time. Only a loop that another thread posts to has events, and
// one that watches a readable descriptor.
int epoll_wait(int fd, epoll_event* events, int count, int timeout_ms) {
  if (the_world != nullptr && timeout_ms == 0) {
    the_world->threads().MaybeYield();
    if (!the_world->HasReadable(fd)) return 0;
  } else if (the_world != nullptr) {
    const int64_t deadline_ns =
        timeout_ms < 0 ? INT64_MAX : the_world->MonotonicNs() + int64_t{timeout_ms} * 1'000'000;
    the_world->threads().WaitForEvents(fd, deadline_ns);
    timeout_ms = 0;
  }
  return static_cast<int>(syscall(SYS_epoll_pwait, fd, events, count, timeout_ms, nullptr, 8));
}

int epoll_ctl(int fd, int operation, int about, epoll_event* event) noexcept {
  if (the_world != nullptr && operation != EPOLL_CTL_DEL) {
    the_world->threads().NoteEvents(fd);
    the_world->OnWatched(fd, about);
  }
  return static_cast<int>(syscall(SYS_epoll_ctl, fd, operation, about, event));
}

// The processors of a machine. Those of the one that this runs on must not matter.
int get_nprocs() noexcept {
  static decltype(get_nprocs)* cached = nullptr;
  return the_world != nullptr ? 2 : sim::Next("get_nprocs", cached)();
}

// ---- time

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (the_world == nullptr) return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  const int64_t ns = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE
                         ? sim::NowNs() + tickstack::kUnixNsOfKdbEpoch
                         : the_world->MonotonicNs();
  time->tv_sec = ns / tickstack::kNsPerSecond;
  time->tv_nsec = ns % tickstack::kNsPerSecond;
  return 0;
}

// ---- threads

int pthread_create(pthread_t* handle, const pthread_attr_t* attributes, void* (*function)(void*),
                   void* argument) noexcept {
  if (the_world != nullptr && the_world->current() != nullptr) {
    return the_world->threads().Create(handle, attributes, function, argument);
  }
  return sim::real::CreateThread(handle, attributes, function, argument);
}

int pthread_join(pthread_t handle, void** result) {
  if (the_world != nullptr && the_world->threads().Join(handle, result)) return 0;
  static decltype(pthread_join)* cached = nullptr;
  return sim::Next("pthread_join", cached)(handle, result);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  if (the_world != nullptr) return the_world->threads().Lock(mutex);
  static decltype(pthread_mutex_lock)* cached = nullptr;
  return sim::Next("pthread_mutex_lock", cached)(mutex);
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  if (the_world != nullptr) return the_world->threads().Wait(condition, mutex, INT64_MAX);
  static decltype(pthread_cond_wait)* cached = nullptr;
  return sim::Next("pthread_cond_wait", cached)(condition, mutex);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
  if (the_world != nullptr) {
    const int64_t offset_ns = clock == CLOCK_REALTIME ? the_world->MonotonicNs() - sim::NowNs() -
                                                            tickstack::kUnixNsOfKdbEpoch
                                                      : 0;
    return the_world->threads().Wait(condition, mutex, sim::ToNs(*until) + offset_ns);
  }
  static decltype(pthread_cond_clockwait)* cached = nullptr;
  return sim::Next("pthread_cond_clockwait", cached)(condition, mutex, clock, until);
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* until) {
  if (the_world != nullptr) return pthread_cond_clockwait(condition, mutex, CLOCK_REALTIME, until);
  static decltype(pthread_cond_timedwait)* cached = nullptr;
  return sim::Next("pthread_cond_timedwait", cached)(condition, mutex, until);
}

int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  if (the_world != nullptr) {
    the_world->threads().Wake(condition, false);
    return 0;
  }
  static decltype(pthread_cond_signal)* cached = nullptr;
  return sim::Next("pthread_cond_signal", cached)(condition);
}

int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  if (the_world != nullptr) {
    the_world->threads().Wake(condition, true);
    return 0;
  }
  static decltype(pthread_cond_broadcast)* cached = nullptr;
  return sim::Next("pthread_cond_broadcast", cached)(condition);
}

}  // extern "C"

// Hash seeds and the like.
unsigned int std::random_device::_M_getval() {
  return the_world == nullptr ? 4 : static_cast<unsigned int>(the_world->random().Next());
}
