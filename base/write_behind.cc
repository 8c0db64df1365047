#include "base/write_behind.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/status.h"

namespace tickstack {
namespace {

// Large enough for a disk's full rate, and a wake-up each 50 ms at 160 MB/s; whole pages.
constexpr uint64_t kStepBytes = uint64_t{8} << 20;

uint64_t WholeSteps(uint64_t bytes) { return bytes / kStepBytes * kStepBytes; }

}  // namespace

absl::StatusOr<std::unique_ptr<WriteBehind>> WriteBehind::Start(const std::string& path,
                                                                uint64_t bytes,
                                                                uint64_t keep_bytes) {
  absl::StatusOr<File> file = File::OpenForReading(path);
  if (!file.ok()) return file.status();
  return std::unique_ptr<WriteBehind>(new WriteBehind(*std::move(file), bytes, keep_bytes));
}

WriteBehind::WriteBehind(File file, uint64_t bytes, uint64_t keep_bytes)
    : file_(std::move(file)),
      keep_bytes_(keep_bytes),
      started_(WholeSteps(bytes)),
      dropped_(started_),
      grown_(bytes),
      announced_(started_),
      thread_([this] { Run(); }) {}

WriteBehind::~WriteBehind() { Stop(); }

void WriteBehind::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

// Relaxed: the bytes are the kernel's, the number is all that passes between the threads.
void WriteBehind::OnGrown(uint64_t bytes) {
  grown_.store(bytes, std::memory_order_relaxed);
  if (bytes - announced_ < kStepBytes) return;
  announced_ = WholeSteps(bytes);
  // Under the lock, so that the thread either sees the number or is woken.
  const std::lock_guard lock(mutex_);
  wake_.notify_one();
}

void WriteBehind::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] {
      return stop_ || grown_.load(std::memory_order_relaxed) - started_ >= kStepBytes;
    });
    if (stop_) return;
    lock.unlock();
    absl::Status status = Advance(WholeSteps(grown_.load(std::memory_order_relaxed)));
    if (!status.ok()) {
      status_ = std::move(status);
      failed_.store(true, std::memory_order_release);
      return;
    }
    lock.lock();
  }
}

// Works in steps, so that Stop waits for at most one.
absl::Status WriteBehind::Advance(uint64_t bytes) {
  for (; started_ < bytes && !stop_; started_ += kStepBytes) {
    TS_RETURN_IF_ERROR(StartWriting(started_));
  }
  const uint64_t kept = std::min(started_, std::max(keep_bytes_, kStepBytes));
  for (const uint64_t end = WholeSteps(started_ - kept); dropped_ < end && !stop_;
       dropped_ += kStepBytes) {
    TS_RETURN_IF_ERROR(Drop(dropped_));
  }
  return absl::OkStatus();
}

// New pages have no write in progress to wait for; waiting reports an error of an earlier write.
absl::Status WriteBehind::StartWriting(uint64_t offset) const {
  return Sync(offset, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE);
}

absl::Status WriteBehind::Drop(uint64_t offset) const {
  TS_RETURN_IF_ERROR(Sync(
      offset, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER));
  (void)::posix_fadvise(file_.fd(), static_cast<off64_t>(offset), kStepBytes, POSIX_FADV_DONTNEED);
  return absl::OkStatus();
}

absl::Status WriteBehind::Sync(uint64_t offset, unsigned flags) const {
  if (::sync_file_range(file_.fd(), static_cast<off64_t>(offset), kStepBytes, flags) == 0) {
    return absl::OkStatus();
  }
  const int error = errno;
  // If the file system does not support it, the disk has not failed.
  if (error == EINVAL || error == ENOSYS || error == ESPIPE || error == EPERM) {
    return absl::OkStatus();
  }
  return ErrnoStatus(error, fmt::format("{}: writing what was appended", file_.path()));
}

}  // namespace tickstack
