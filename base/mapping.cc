#include "base/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <fstream>

#include "base/status.h"

namespace tickstack {
namespace {

// The counters order no other data.
std::atomic<size_t> live_mappings = 0;
std::atomic<size_t> process_max_set = 0;
std::atomic<Mapping::Reclaim> reclaim_function = nullptr;
thread_local MappingReserve* innermost_reserve = nullptr;

size_t ProcessMax() {
  static const size_t of_kernel = [] {
    size_t mappings = 65'530;  // The kernel's default, if it does not report the limit.
    std::ifstream("/proc/sys/vm/max_map_count") >> mappings;
    return mappings;
  }();
  const size_t set = process_max_set.load(std::memory_order_relaxed);
  return set > 0 ? set : of_kernel;
}

size_t MaxOfThread() {
  return innermost_reserve != nullptr ? ProcessMax() - ProcessMax() / 16 : Mapping::Max();
}

// Claims one of the available mappings.
bool ClaimMapping() {
  const size_t max = MaxOfThread();
  size_t live = live_mappings.load(std::memory_order_relaxed);
  while (live < max) {
    if (live_mappings.compare_exchange_weak(live, live + 1, std::memory_order_relaxed)) return true;
  }
  return false;
}

absl::Status MapError(int error_number, const std::string& path, size_t bytes) {
  if (error_number == ENOMEM) {
    return ResourceExhausted(
        "{}: mmap of {} bytes: no memory, or as many mappings as vm.max_map_count allows", path,
        bytes);
  }
  return Annotate(ErrnoStatus(error_number, "mmap"), path);
}

}  // namespace

Mapping::~Mapping() {
  if (data_ == nullptr) return;
  ::munmap(data_, bytes_);
  live_mappings.fetch_sub(1, std::memory_order_relaxed);
}

size_t Mapping::Live() { return live_mappings.load(std::memory_order_relaxed); }

size_t Mapping::Max() { return ProcessMax() - ProcessMax() / 8; }

void Mapping::SetProcessMax(size_t mappings) {
  process_max_set.store(mappings, std::memory_order_relaxed);
}

void Mapping::SetReclaim(Reclaim reclaim) {
  reclaim_function.store(reclaim, std::memory_order_release);
}

absl::StatusOr<Mapping> Mapping::Map(const std::string& name, size_t bytes, int protection,
                                     int flags, int fd) {
  absl::Status error;
  const Reclaim reclaim =
      reclaim_function.load(std::memory_order_acquire);  // Pairs with SetReclaim.
  bool claimed = ClaimMapping();
  for (bool some = reclaim != nullptr; some && !claimed;) {
    some = reclaim();
    claimed = ClaimMapping();  // Another thread may have taken the freed ones.
  }
  if (!claimed) {
    error = ResourceExhausted(
        "{}: not mapped: {} mappings are in use of at most {}, which vm.max_map_count={} leaves",
        name, Live(), MaxOfThread(), ProcessMax());
  } else {
    void* const data = ::mmap(nullptr, bytes, protection, flags, fd, 0);
    if (data != MAP_FAILED) return Mapping(static_cast<std::byte*>(data), bytes);
    error = MapError(errno, name, bytes);
    live_mappings.fetch_sub(1, std::memory_order_relaxed);
  }
  // Memory that was refused for its size does not depend on the number of mappings.
  const bool is_scarce =
      !claimed || (fd >= 0 && error.code() == absl::StatusCode::kResourceExhausted);
  for (MappingReserve* each = innermost_reserve; each != nullptr && is_scarce;
       each = each->outer_) {
    if (each->refused_.ok()) each->refused_ = error;
  }
  return error;
}

MappingReserve::MappingReserve() : outer_(innermost_reserve) { innermost_reserve = this; }
MappingReserve::~MappingReserve() { innermost_reserve = outer_; }

absl::StatusOr<Mapping> Mapping::OfFile(const std::string& path) {
  int fd;
  do {
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return Annotate(ErrnoStatus(errno, "open"), path);

  struct stat status{};
  if (::fstat(fd, &status) != 0) {
    const int error_number = errno;
    ::close(fd);
    return Annotate(ErrnoStatus(error_number, "fstat"), path);
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(fd);
    return InvalidArgument("{}: {}, expected a file", path,
                           S_ISDIR(status.st_mode) ? "a directory" : "a device or pipe");
  }
  const auto bytes = static_cast<size_t>(status.st_size);
  if (bytes == 0) {  // mmap refuses to map 0 bytes.
    ::close(fd);
    return Mapping();
  }
  absl::StatusOr<Mapping> mapping = Map(path, bytes, PROT_READ, MAP_SHARED, fd);
  ::close(fd);
  return mapping;
}

absl::StatusOr<Mapping> Mapping::OfMemory(size_t bytes) {
  if (bytes == 0) return Mapping();
  return Map("memory", bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

absl::StatusOr<Mapping> Mapping::OfSparseMemory(size_t bytes) {
  if (bytes == 0) return Mapping();
  TS_ASSIGN_OR_RETURN(Mapping mapping, Map("memory", bytes, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1));
  // Fails on kernels without large pages, which then need no advice.
  (void)::madvise(mapping.data_, mapping.bytes_, MADV_NOHUGEPAGE);
  return mapping;
}

void Mapping::Forget(size_t offset, size_t bytes) {
  if (bytes > 0) (void)::madvise(data_ + offset, bytes, MADV_DONTNEED);
}

void Mapping::Populate(size_t offset, size_t bytes) {
#ifndef MADV_POPULATE_WRITE
  constexpr int MADV_POPULATE_WRITE = 23;
#endif
  if (bytes > 0) (void)::madvise(data_ + offset, bytes, MADV_POPULATE_WRITE);
}

}  // namespace tickstack
