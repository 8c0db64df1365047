#pragma once

// Keeps a growing file from filling the page cache. Appended bytes are written to the disk at once,
// and bytes that are on the disk and older than the last `keep_bytes` are dropped from the cache.
//
//   file    | on the disk, not in the cache | on its way, cached | appended, dirty |
//                                           |<---- keep_bytes ------------------->|
//
// Without it, the kernel buffers dirty pages for up to 30 s, writes them all at once, and blocks
// the thread that appends. Each page is also a new one, which the kernel has to find and a
// hypervisor may have to fetch; with it, the same few pages are reused.
//
// This is not a durability guarantee; use File::SyncData for that. A write error of the disk is
// noticed here, at the next step or when pages are dropped, also if the file is never synced.
//
// Nothing is dropped where pages are the storage (tmpfs, DAX) or the file system cannot tell.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"

namespace tickstack {

// Threads: one owner, whose calls do not block except for Stop. A thread of its own does the work.
class WriteBehind {
 public:
  // Starts for the file at `path`, which has `bytes` bytes now; these are left alone. The last
  // `keep_bytes` of what is appended stay in the cache, at least 8 MiB. The file is opened again,
  // so that a write error is reported both here and to the descriptor that syncs the file.
  static absl::StatusOr<std::unique_ptr<WriteBehind>> Start(const std::string& path, uint64_t bytes,
                                                            uint64_t keep_bytes);
  ~WriteBehind();
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;

  // The file has grown to `bytes`, and will not be truncated below that.
  void OnGrown(uint64_t bytes);

  // Ends the thread. Blocks while the disk writes up to 8 MiB. May be called again.
  void Stop();

  // True after a write error; from then on nothing is written or dropped.
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  const absl::Status& status() const { return status_; }  // Valid after failed().

 private:
  WriteBehind(File file, uint64_t bytes, uint64_t keep_bytes);
  void Run();
  absl::Status Advance(uint64_t bytes);
  absl::Status StartWriting(uint64_t offset) const;
  absl::Status Drop(uint64_t offset) const;
  absl::Status Sync(uint64_t offset, unsigned flags) const;

  File file_;
  const uint64_t keep_bytes_;
  // Used by the thread only. Bytes before `started_` are written or being written, and those before
  // `dropped_` are out of the cache.
  uint64_t started_, dropped_;

  std::atomic<uint64_t> grown_;
  uint64_t announced_;  // Used by the owner: the size at which it last woke the thread.
  std::atomic<bool> failed_ = false;
  absl::Status status_;  // Written once, before failed_.
  std::mutex mutex_;     // For waiting on grown_ and stop_.
  std::condition_variable wake_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;  // Last: it uses everything above.
};

}  // namespace tickstack
