#pragma once

// Keeps a growing file from filling the page cache. Appended bytes are written to the disk at once,
// and bytes that are on the disk and older than the last `keep_bytes` are dropped from the cache.
//
//   file    | on the disk, not in the cache | on its way, cached | appended, dirty |
//                                           |<---- keep_bytes ------------------->|
//
// Without it, the kernel buffers dirty pages for up to 30 s, writes them all at once, and blocks
// the thread that appends. Also, each appended page is then new to the cache: the kernel has to
// find a free page, and a hypervisor may have to provide it. With WriteBehind, the same few pages
// are reused.
//
// This is not a durability guarantee; use File::SyncData for that. It detects a write error of the
// disk at the next write or drop, even if the file is never synced.
//
// Nothing is dropped where pages are the storage (tmpfs, DAX).

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

// Threads: one owner; none of its calls except Stop blocks. The object has its own thread, which
// does the work.
class WriteBehind {
 public:
  // Starts for the file at `path`, whose first `bytes` bytes, its present content, are left alone.
  // The last `keep_bytes` of the appended bytes stay in the cache, at least 8 MiB. The file is
  // opened again, so that a write error is reported both here and to the descriptor that syncs the
  // file.
  static absl::StatusOr<std::unique_ptr<WriteBehind>> Start(const std::string& path, uint64_t bytes,
                                                            uint64_t keep_bytes);
  ~WriteBehind();
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;

  // Tells it that the file has grown to `bytes`. The file must not be truncated below that
  // afterwards.
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
  std::mutex mutex_;     // Used with wake_ to wait for a change of grown_ or stop_.
  std::condition_variable wake_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;  // Last: it uses everything above.
};

}  // namespace tickstack
