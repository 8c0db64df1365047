#include "mem/medium_timeline.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>

#include "base/status.h"
#include "base/time.h"

namespace tickstack::mem {
namespace {

constexpr size_t kFileBytes = 4096;
constexpr int64_t kStepsPerNs = 16;
// A lane that is reserved for longer than this was not reserved by a process: it has the time of
// another boot, or foreign bytes. An access takes a ms or two.
constexpr int64_t kTakenNsMax = 10 * kNsPerSecond;

// Takes a lock; retries if it is interrupted.
bool Lock(int fd, int operation) {
  int done = 0;
  do {
    done = flock(fd, operation);
  } while (done != 0 && errno == EINTR);
  return done == 0;
}

// Returns whether the open file still has this name: another process may have removed it since.
bool HasName(int fd, const std::string& path) {
  struct stat open_one = {}, named = {};
  return fstat(fd, &open_one) == 0 && stat(path.c_str(), &named) == 0 &&
         open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

absl::Status AllocateBytes(int fd, const std::string& path) {
  struct stat found = {};
  if (fstat(fd, &found) != 0) return Annotate(ErrnoStatus(errno, "stat"), path);
  if (found.st_size == static_cast<off_t>(kFileBytes)) return absl::OkStatus();
  if (found.st_size != 0) {
    return DataLoss("{}: {} bytes, expected none or {}: it is not a medium's", path, found.st_size,
                    kFileBytes);
  }
  // Allocated: a store into a hole of a full file system would be a SIGBUS.
  const int error = posix_fallocate(fd, 0, kFileBytes);
  return error == 0 ? absl::OkStatus() : Annotate(ErrnoStatus(error, "allocate"), path);
}

}  // namespace

absl::StatusOr<std::unique_ptr<MediumTimeline>> MediumTimeline::Open(const std::string& path) {
  auto timeline = std::make_unique<MediumTimeline>();
  while (true) {
    OwnedFd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!file.is_open()) return Annotate(ErrnoStatus(errno, "open"), path);
    if (!Lock(file.get(), LOCK_SH)) return Annotate(ErrnoStatus(errno, "lock"), path);
    if (!HasName(file.get(), path)) continue;
    TS_RETURN_IF_ERROR(AllocateBytes(file.get(), path));
    void* const mapped =
        mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (mapped == MAP_FAILED) return Annotate(ErrnoStatus(errno, "mmap"), path);
    timeline->lanes_ = static_cast<Lanes*>(mapped);
    timeline->file_ = std::move(file);
    timeline->path_ = path;
    return timeline;
  }
}

MediumTimeline::~MediumTimeline() {
  if (!file_.is_open()) return;
  munmap(lanes_, kFileBytes);
  // A process that gets the exclusive lock is the last user. One that opens the file meanwhile
  // waits for the lock, and then finds the file removed.
  if (Lock(file_.get(), LOCK_EX | LOCK_NB) && HasName(file_.get(), path_)) unlink(path_.c_str());
}

int64_t MediumTimeline::Take(Lane lane, int64_t from_ns, double ns) {
  const std::atomic_ref<int64_t> until(lanes_->lane[static_cast<size_t>(lane)].busy_until);
  const int64_t from = from_ns * kStepsPerNs;
  const auto steps = static_cast<int64_t>(std::ceil(ns * kStepsPerNs));
  // Nothing depends on the order of this number, so relaxed is enough.
  int64_t old = until.load(std::memory_order_relaxed);
  int64_t end = 0;
  do {
    const bool ours = old <= from + kTakenNsMax * kStepsPerNs;
    end = (ours ? std::max(old, from) : from) + steps;
  } while (!until.compare_exchange_weak(old, end, std::memory_order_relaxed));
  return end / kStepsPerNs;
}

}  // namespace tickstack::mem
