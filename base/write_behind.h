#pragma once

// Keeps a file that grows at its end from filling the page cache: what was appended goes to the
// disk at once, and what is there and older than the last so many bytes leaves the cache.
//
//   file    | on the disk, not in the cache | on its way, cached | appended, dirty |
//                                           |<---- keep_bytes ------------------->|
//
// Left to itself the kernel gathers dirty pages for up to half a minute, writes them all at once,
// and makes whoever appends wait for it; and every page is a new one, for which memory has to be
// found and, under a hypervisor, fetched. Here the same few pages are used again and again.
//
// A promise of durability it is not: File::SyncData is. But that the disk failed to take bytes is
// seen here, where else nobody would ask: at the next step, or when they leave the cache.
//
// Where pages have no other place (tmpfs, DAX), or the file system does not say, nothing leaves.

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

// Threads: one owner, whose calls do not wait, but for Stop; a thread of its own does the work.
class WriteBehind {
 public:
  // Of the file at `path`, which has `bytes` now: they stay as they are. Of what comes the last
  // `keep_bytes` stay in the cache, 8 MiB at least. A descriptor of its own reads it, so that a
  // failure is told here and to whoever syncs the file by another.
  static absl::StatusOr<std::unique_ptr<WriteBehind>> Start(const std::string& path, uint64_t bytes,
                                                            uint64_t keep_bytes);
  ~WriteBehind();
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;

  // The file has so many bytes, all of them whole: none of these will be cut off again.
  void OnGrown(uint64_t bytes);

  // Ends the thread, which may be waiting for the disk to take 8 MiB. Once or more.
  void Stop();

  // Bytes did not reach the disk; then nothing more is written or dropped here.
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  const absl::Status& status() const { return status_; }  // Once failed() said true.

 private:
  WriteBehind(File file, uint64_t bytes, uint64_t keep_bytes);
  void Run();
  absl::Status Advance(uint64_t bytes);
  absl::Status StartWriting(uint64_t offset) const;
  absl::Status Drop(uint64_t offset) const;
  absl::Status Sync(uint64_t offset, unsigned flags) const;

  File file_;
  const uint64_t keep_bytes_;
  // Of the thread: all before them is on its way, and is out of the cache.
  uint64_t started_, dropped_;

  std::atomic<uint64_t> grown_;
  uint64_t announced_;  // Of the owner: what the thread was woken for.
  std::atomic<bool> failed_ = false;
  absl::Status status_;  // Written once, before failed_.
  std::mutex mutex_;     // Of waiting for grown_ or stop_.
  std::condition_variable wake_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;  // Last: it uses everything above.
};

}  // namespace tickstack
