#pragma once

// The bytes of a column file that is in an object store, as if the file were mapped:
//
//   ArchivedBytes   |..######....########......|   memory of the file's size; only blocks that were
//                       ^ blocks of 64 KiB         fetched take any
//   ArchiveCache    bounds the blocks of all files together, and fetches them
//
// A reader pins the file, then calls Need for the bytes that it is about to read, as it would
// verify the bytes of a mapped file: StoredFile hides the difference. Need fetches the blocks that
// are missing, and compares each with its checksum (verified_blocks.h) before any reader sees it.
//
// When a file is read from front to back, further blocks are fetched ahead of its reader, by
// several requests at a time. When the cache is full, all blocks of the least recently pinned file
// without a reader are evicted. Blocks of pinned files are never evicted, since a reader may hold
// pointers into them: a query whose columns do not fit fails.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mapping.h"
#include "disk/archive_marker.h"
#include "disk/object_store.h"
#include "disk/verified_blocks.h"

namespace tickstack::disk {

class ArchivedBytes;

// What queries have read since the process began.
struct ArchiveCounts {
  // Bytes of local files with checksums that were read for the first time since they were opened.
  uint64_t local_bytes = 0;
  uint64_t cache_bytes = 0;     // Bytes of archived files that were in the cache when needed.
  uint64_t store_bytes = 0;     // Bytes that the store sent, including those fetched ahead.
  uint64_t store_requests = 0;  // Fetches, each of at most 4 MiB.
  uint64_t store_errors = 0;    // Fetches that failed, or whose bytes were damaged.
  uint64_t held_bytes = 0;      // Bytes in the cache now, or being fetched.
  uint64_t held_bytes_max = 0;  // Limit of held_bytes.
  uint64_t evicted_bytes = 0;   // Bytes that made room for others.
};

// One per process. Threads: any.
class ArchiveCache {
 public:
  static ArchiveCache& Instance();

  // Sets the limit on the memory of all archived files, and the number of requests that run at the
  // same time, which is fixed by the first fetch. Defaults: 1 GiB, 8.
  void Configure(uint64_t bytes_max, size_t requests);
  ArchiveCounts Counts();
  // Adds to local_bytes. Called when a block is verified; costs an atomic addition.
  static void CountLocal(uint64_t bytes);
  // Ends all fetches and their threads; readers that wait get kUnavailable. The next fetch starts
  // them again. Call it before the process ends, without concurrent calls.
  void Stop();

 private:
  friend class ArchivedBytes;

  // A request to the store for consecutive blocks of a file.
  struct Fetch {
    std::shared_ptr<ArchivedBytes> file;
    uint64_t begin_block = 0, end_block = 0;
    std::atomic<bool> cancelled{false};
    // Guarded by the cache's mutex:
    int waiting = 0;  // Readers that need its blocks; 0: it is fetched ahead.
    bool is_running = false;
    bool is_done = false;
    absl::Status status;  // Once it is done.
  };
  using Fetches = std::vector<std::shared_ptr<Fetch>>;
  using Lock = std::unique_lock<std::mutex>;

  ArchiveCache() = default;
  absl::Status Need(ArchivedBytes& file, uint64_t begin_block, uint64_t end_block);
  absl::Status NeedLocked(Lock& lock, ArchivedBytes& file, uint64_t begin_block,
                          uint64_t end_block);
  absl::Status Plan(Lock& lock, ArchivedBytes& file, uint64_t begin_block, uint64_t end_block,
                    Fetches& needed);
  absl::Status Wait(Lock& lock, const Fetches& needed);
  void PlanAhead(ArchivedBytes& file, uint64_t end_block);
  void EnqueueAhead(ArchivedBytes& file, uint64_t begin, uint64_t end_max);
  std::shared_ptr<Fetch> Enqueue(ArchivedBytes& file, uint64_t begin_block, uint64_t end_block,
                                 bool is_needed);
  // True if `bytes` more fit, after evicting files without readers.
  bool MakeRoom(uint64_t bytes);
  // Changes the number of readers of a file, and of the bytes that it holds.
  void AddPins(ArchivedBytes& file, int pins);
  void AddHeld(ArchivedBytes& file, uint64_t bytes);
  void DropHeld(ArchivedBytes& file, uint64_t bytes);
  // Cancels the fetches ahead of the readers of a file. The caller drops `dropped` without the
  // mutex.
  void CancelAhead(ArchivedBytes& file, Fetches& dropped);
  // Removes fetches that no reader waits for, and cancels those that run. True if some do.
  bool DropAhead(Fetches& dropped);
  void Unqueue(const std::shared_ptr<Fetch>& fetch);
  void Evict(ArchivedBytes& file);
  void StartThreads();
  void RunFetches();
  static absl::Status Run(Fetch& fetch);
  void Finish(const std::shared_ptr<Fetch>& fetch, absl::Status status);

  std::mutex mutex_;  // Guards all fields below, and those of files that say so.
  std::condition_variable work_;
  std::condition_variable done_;
  std::deque<std::shared_ptr<Fetch>> needed_, ahead_;  // Fetches that are not running yet.
  size_t running_ = 0;
  bool is_stopping_ = false;
  std::list<ArchivedBytes*> files_;  // Those with blocks, the least recently pinned first.
  uint64_t held_bytes_ = 0;
  uint64_t pinned_bytes_ = 0;  // Those of files with readers.
  uint64_t bytes_max_ = uint64_t{1} << 30;
  size_t threads_max_ = 8;
  std::vector<std::thread> threads_;
  ArchiveCounts counts_;  // Only what has no counter elsewhere.
};

// Threads: any, concurrently.
class ArchivedBytes : public std::enable_shared_from_this<ArchivedBytes> {
 public:
  // Opens the column file at `path`, which is not there, through the marker of its table. Returns
  // nullptr if the table is not archived, or its marker does not name the file. `blocks` are
  // loaded from the checksum file of the directory; `checksums` may be nullptr, then it is read.
  // kFailedPrecondition if this process has no store, or another one than the marker names.
  // kDataLoss if marker and checksums disagree. Cost: reads the marker and the checksums; fetches
  // nothing.
  static absl::StatusOr<std::shared_ptr<ArchivedBytes>> Open(const std::string& path,
                                                             const ChecksumFile* checksums);
  ~ArchivedBytes();

  const std::shared_ptr<const VerifiedBlocks>& blocks() const { return blocks_; }
  // All bytes; those that Need has not fetched are undefined, and those that it has are valid while
  // the file is pinned.
  std::span<const std::byte> bytes() const { return mapping_.bytes(); }
  // Keeps fetched blocks in memory until the result is destroyed. Cost: a mutex, an allocation.
  std::shared_ptr<const void> Pin();
  // Fetches and verifies the blocks of bytes [begin, end) that are missing. kDataLoss, with path,
  // byte and object, for damage; kResourceExhausted if the cache has no room beside what running
  // queries read; errors of ObjectStore::Get and of the thread's WaitCheck.
  // Cost: a few loads if all blocks are there.
  absl::Status Need(uint64_t begin, uint64_t end);
  // Begins to fetch what is missing of bytes [begin, end), if the cache has room: the caller has
  // pinned the file, and will call Need. Cost: a few loads if all blocks are there.
  void WillRead(uint64_t begin, uint64_t end);

 private:
  friend class ArchiveCache;
  ArchivedBytes(std::string path, std::shared_ptr<ObjectStore> store, ArchiveMarker marker,
                size_t number, Mapping mapping, std::shared_ptr<const VerifiedBlocks> blocks)
      : path_(std::move(path)),
        store_(std::move(store)),
        marker_(std::move(marker)),
        number_(number),
        mapping_(std::move(mapping)),
        blocks_(std::move(blocks)) {}

  bool AreVerified(uint64_t begin_block, uint64_t end_block) const;
  // Returns the fetch of a block; nullptr if there is none. Under the cache's mutex.
  std::shared_ptr<ArchiveCache::Fetch> FetchOf(uint64_t block) const;
  bool IsComing(uint64_t block) const {
    return blocks_->IsVerified(block) || FetchOf(block) != nullptr;
  }
  uint64_t BytesOf(uint64_t begin_block, uint64_t end_block) const;
  // Gives back the memory of blocks that are not verified. Returns their bytes.
  uint64_t ForgetUnverified(uint64_t begin_block, uint64_t end_block);

  const std::string path_;
  const std::shared_ptr<ObjectStore> store_;
  const ArchiveMarker marker_;  // Without its files.
  const size_t number_;         // The file's number in the marker.
  Mapping mapping_;
  const std::shared_ptr<const VerifiedBlocks> blocks_;
  // Guarded by the cache's mutex:
  std::map<uint64_t, std::shared_ptr<ArchiveCache::Fetch>> fetches_;  // By their first block.
  uint64_t held_bytes_ = 0;  // Bytes of blocks that are verified or being fetched.
  int pins_ = 0;
  std::list<ArchivedBytes*>::iterator at_;  // In the cache's list, if held_bytes_ > 0.
};

}  // namespace tickstack::disk
