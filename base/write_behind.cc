#include "base/write_behind.h"

#include <algorithm>
#include <utility>

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

WriteBehind::~WriteBehind() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
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

absl::Status WriteBehind::Advance(uint64_t bytes) {
  file_.StartWriting(started_, bytes - started_);
  started_ = bytes;
  const uint64_t drop = started_ - std::min(started_, std::max(keep_bytes_, kStepBytes));
  if (WholeSteps(drop) <= dropped_) return absl::OkStatus();
  const uint64_t from = std::exchange(dropped_, WholeSteps(drop));
  return file_.DropCached(from, dropped_ - from);
}

}  // namespace tickstack
