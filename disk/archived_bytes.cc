#include "disk/archived_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/status.h"
#include "disk/checksum_file.h"

namespace tickstack::disk {
namespace {

// Large enough that the time of a request is that of its bytes, small enough that several are under
// way for one column.
constexpr uint64_t kFetchBlocksMax = 64;
// A reader counts as sequential after this many consecutive blocks; from then on, twice as many
// blocks are fetched ahead of it as it has read, up to the maximum.
constexpr uint64_t kSequentialBlocks = 8, kAheadBlocksMax = 512;
// No more fetches than this wait for readers that may come.
constexpr size_t kAheadFetchesMax = 64;
// How often a waiting thread asks its WaitCheck.
constexpr std::chrono::milliseconds kCheckEvery{20};
// A reader repeats its plan if fetches that it waits for were cancelled by others.
constexpr int kPlansMax = 100;

std::atomic<uint64_t> local_bytes_read{0};
std::atomic<uint64_t> cache_bytes_read{0};

// Holds a pin. Destroyed outside of the cache's mutex.
struct ArchivePin {
  std::shared_ptr<ArchivedBytes> file;
  std::function<void()> release;
  ~ArchivePin() { release(); }
};

}  // namespace

// Never destroyed: files may outlive static objects.
ArchiveCache& ArchiveCache::Instance() {
  static auto* const cache = new ArchiveCache();
  return *cache;
}

void ArchiveCache::CountLocal(uint64_t bytes) {
  local_bytes_read.fetch_add(bytes, std::memory_order_relaxed);
}

void ArchiveCache::Configure(uint64_t bytes_max, size_t requests) {
  const std::lock_guard lock(mutex_);
  bytes_max_ = bytes_max;
  threads_max_ = std::max<size_t>(requests, 1);
  MakeRoom(0);
}

ArchiveCounts ArchiveCache::Counts() {
  const std::lock_guard lock(mutex_);
  ArchiveCounts counts = counts_;
  counts.local_bytes = local_bytes_read.load(std::memory_order_relaxed);
  counts.cache_bytes = cache_bytes_read.load(std::memory_order_relaxed);
  counts.held_bytes = held_bytes_;
  counts.held_bytes_max = bytes_max_;
  return counts;
}

void ArchiveCache::Stop() {
  std::vector<std::thread> threads;
  Fetches dropped;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    for (ArchivedBytes* const file : files_) {
      for (auto& [block, fetch] : file->fetches_) fetch->cancelled.store(true);
    }
    threads.swap(threads_);
  }
  work_.notify_all();
  for (std::thread& thread : threads) thread.join();
  {
    const std::lock_guard lock(mutex_);
    while (!needed_.empty() || !ahead_.empty()) {
      std::deque<std::shared_ptr<Fetch>>& queue = needed_.empty() ? ahead_ : needed_;
      dropped.push_back(queue.front());
      queue.pop_front();
      Finish(dropped.back(), Unavailable("fetches from the object store have ended"));
    }
    is_stopping_ = false;
  }
}

absl::Status ArchiveCache::Need(ArchivedBytes& file, uint64_t begin_block, uint64_t end_block) {
  Lock lock(mutex_);
  AddPins(file, 1);
  absl::Status status = NeedLocked(lock, file, begin_block, end_block);
  AddPins(file, -1);
  return status;
}

absl::Status ArchiveCache::NeedLocked(Lock& lock, ArchivedBytes& file, uint64_t begin_block,
                                      uint64_t end_block) {
  for (int plan = 0; plan < kPlansMax; ++plan) {
    Fetches needed;
    const absl::Status planned = Plan(lock, file, begin_block, end_block, needed);
    if (planned.ok()) PlanAhead(file, end_block);
    const absl::Status status = planned.ok() ? Wait(lock, needed) : planned;
    Fetches unneeded;
    for (const std::shared_ptr<Fetch>& fetch : needed) {
      if (--fetch->waiting > 0 || fetch->is_done) continue;
      fetch->cancelled.store(true, std::memory_order_relaxed);
      if (!fetch->is_running) unneeded.push_back(fetch);
    }
    for (const std::shared_ptr<Fetch>& fetch : unneeded) {
      Unqueue(fetch);
      Finish(fetch, absl::AbortedError("no query needs it any more"));
    }
    if (!status.ok()) CancelAhead(file, unneeded);
    // The last reference to a file must not be dropped under the mutex.
    lock.unlock();
    needed.clear();
    unneeded.clear();
    lock.lock();
    if (!absl::IsAborted(status)) {
      TS_RETURN_IF_ERROR(status);
      if (file.AreVerified(begin_block, end_block)) return absl::OkStatus();
    }
  }
  return Unavailable("{}: its fetches were cancelled {} times", file.path_, kPlansMax);
}

// Adds the fetches of all blocks that are missing to `needed`, and increments their `waiting`.
absl::Status ArchiveCache::Plan(Lock& lock, ArchivedBytes& file, uint64_t begin_block,
                                uint64_t end_block, Fetches& needed) {
  for (uint64_t block = begin_block; block < end_block;) {
    if (file.blocks_->IsVerified(block)) {
      ++block;
      continue;
    }
    if (const std::shared_ptr<Fetch> fetch = file.FetchOf(block)) {
      if (fetch->waiting++ == 0 && !fetch->is_running) {
        Unqueue(fetch);
        needed_.push_back(fetch);
        work_.notify_one();
      }
      needed.push_back(fetch);
      block = fetch->end_block;
      continue;
    }
    uint64_t end = block + 1;
    const uint64_t object_blocks = file.marker_.object_bytes / kChecksumBlockBytes;
    const uint64_t end_max =
        std::min({end_block, block + kFetchBlocksMax, (block / object_blocks + 1) * object_blocks});
    while (end < end_max && !file.IsComing(end)) ++end;
    const uint64_t bytes = file.BytesOf(block, end);
    if (!MakeRoom(bytes)) {
      Fetches dropped;
      const bool are_some_running = DropAhead(dropped);
      if (dropped.empty() && !are_some_running) {
        return ResourceExhausted(
            "{}: {} bytes to fetch, and the cache of archived columns has room for {} of its {} "
            "beside what running queries read (hdb.tiers.cache)",
            file.path_, bytes, bytes_max_ - std::min(held_bytes_, bytes_max_), bytes_max_);
      }
      if (are_some_running) done_.wait_for(lock, kCheckEvery);
      lock.unlock();
      dropped.clear();
      const absl::Status status = WaitCheck::Now();
      lock.lock();
      TS_RETURN_IF_ERROR(status);
      continue;  // Other readers may have planned some of these blocks meanwhile.
    }
    needed.push_back(Enqueue(file, block, end, true));
    block = end;
  }
  return absl::OkStatus();
}

absl::Status ArchiveCache::Wait(Lock& lock, const Fetches& needed) {
  auto next_check = std::chrono::steady_clock::now() + kCheckEvery;
  for (const std::shared_ptr<Fetch>& fetch : needed) {
    while (!fetch->is_done) {
      done_.wait_until(lock, next_check);
      if (std::chrono::steady_clock::now() < next_check) continue;
      lock.unlock();
      const absl::Status status = WaitCheck::Now();
      lock.lock();
      TS_RETURN_IF_ERROR(status);
      next_check = std::chrono::steady_clock::now() + kCheckEvery;
    }
    TS_RETURN_IF_ERROR(fetch->status);
  }
  return absl::OkStatus();
}

// Fetches blocks behind `end_block` if those before it were read one after the other. Does nothing
// while half of them are there or on their way, so that requests are large.
void ArchiveCache::PlanAhead(ArchivedBytes& file, uint64_t end_block) {
  uint64_t run = 0;
  while (run < std::min(end_block, kAheadBlocksMax) && file.IsComing(end_block - 1 - run)) ++run;
  if (run < kSequentialBlocks) return;
  const uint64_t ahead = std::min(2 * run, kAheadBlocksMax);
  const uint64_t end_max = std::min(file.blocks_->blocks(), end_block + ahead);
  uint64_t begin = end_block;
  while (begin < end_max && file.IsComing(begin)) ++begin;
  if (begin - end_block > ahead / 2) return;
  EnqueueAhead(file, begin, end_max);
}

void ArchiveCache::EnqueueAhead(ArchivedBytes& file, uint64_t begin, uint64_t end_max) {
  const uint64_t object_blocks = file.marker_.object_bytes / kChecksumBlockBytes;
  while (begin < end_max && ahead_.size() < kAheadFetchesMax) {
    uint64_t end = begin;
    const uint64_t stop =
        std::min({end_max, begin + kFetchBlocksMax, (begin / object_blocks + 1) * object_blocks});
    while (end < stop && !file.IsComing(end)) ++end;
    if (end == begin) {
      ++begin;
      continue;
    }
    // As long as its file has readers, a block stays even if they never need it. So these blocks
    // must leave room for others.
    const uint64_t bytes = file.BytesOf(begin, end);
    if (pinned_bytes_ + bytes > bytes_max_ / 2 || !MakeRoom(bytes)) return;
    Enqueue(file, begin, end, false);
    begin = end;
  }
}

std::shared_ptr<ArchiveCache::Fetch> ArchiveCache::Enqueue(ArchivedBytes& file,
                                                           uint64_t begin_block, uint64_t end_block,
                                                           bool is_needed) {
  const auto fetch = std::make_shared<Fetch>();
  fetch->file = file.shared_from_this();
  fetch->begin_block = begin_block;
  fetch->end_block = end_block;
  fetch->waiting = is_needed ? 1 : 0;
  const uint64_t bytes = file.BytesOf(begin_block, end_block);
  AddHeld(file, bytes);
  file.fetches_[begin_block] = fetch;
  (is_needed ? needed_ : ahead_).push_back(fetch);
  StartThreads();
  work_.notify_one();
  return fetch;
}

bool ArchiveCache::MakeRoom(uint64_t bytes) {
  for (auto at = files_.begin(); at != files_.end() && held_bytes_ + bytes > bytes_max_;) {
    ArchivedBytes& file = **at++;
    if (file.pins_ == 0 && file.fetches_.empty()) Evict(file);
  }
  return held_bytes_ + bytes <= bytes_max_;
}

void ArchiveCache::Evict(ArchivedBytes& file) {
  file.blocks_->Forget();
  file.mapping_.Forget(0, file.mapping_.bytes().size());
  counts_.evicted_bytes += file.held_bytes_;
  DropHeld(file, file.held_bytes_);
}

void ArchiveCache::AddPins(ArchivedBytes& file, int pins) {
  const bool was_pinned = file.pins_ > 0;
  file.pins_ += pins;
  if (was_pinned == (file.pins_ > 0)) return;
  pinned_bytes_ = was_pinned ? pinned_bytes_ - file.held_bytes_ : pinned_bytes_ + file.held_bytes_;
}

void ArchiveCache::AddHeld(ArchivedBytes& file, uint64_t bytes) {
  if (file.held_bytes_ == 0) file.at_ = files_.insert(files_.end(), &file);
  file.held_bytes_ += bytes;
  held_bytes_ += bytes;
  if (file.pins_ > 0) pinned_bytes_ += bytes;
}

void ArchiveCache::DropHeld(ArchivedBytes& file, uint64_t bytes) {
  if (bytes == 0) return;
  file.held_bytes_ -= bytes;
  held_bytes_ -= bytes;
  if (file.pins_ > 0) pinned_bytes_ -= bytes;
  if (file.held_bytes_ == 0) files_.erase(file.at_);
}

void ArchiveCache::CancelAhead(ArchivedBytes& file, Fetches& dropped) {
  Fetches ahead;
  for (const auto& [block, fetch] : file.fetches_) {
    if (fetch->waiting == 0) ahead.push_back(fetch);
  }
  for (const std::shared_ptr<Fetch>& fetch : ahead) {
    fetch->cancelled.store(true, std::memory_order_relaxed);
    if (fetch->is_running) continue;
    Unqueue(fetch);
    Finish(fetch, absl::AbortedError("no query needs it any more"));
  }
  dropped.insert(dropped.end(), ahead.begin(), ahead.end());
}

bool ArchiveCache::DropAhead(Fetches& dropped) {
  bool are_some_running = false;
  while (!ahead_.empty()) {
    dropped.push_back(ahead_.front());
    ahead_.pop_front();
    Finish(dropped.back(), absl::AbortedError("the cache needs its room"));
  }
  for (ArchivedBytes* const file : files_) {
    for (const auto& [block, fetch] : file->fetches_) {
      if (fetch->waiting > 0) continue;
      fetch->cancelled.store(true, std::memory_order_relaxed);
      are_some_running = true;
    }
  }
  return are_some_running;
}

void ArchiveCache::Unqueue(const std::shared_ptr<Fetch>& fetch) {
  std::erase(needed_, fetch);
  std::erase(ahead_, fetch);
}

void ArchiveCache::StartThreads() {
  if (is_stopping_ || threads_.size() >= threads_max_ ||
      running_ + needed_.size() + ahead_.size() <= threads_.size()) {
    return;
  }
  threads_.emplace_back([this] { RunFetches(); });
}

void ArchiveCache::RunFetches() {
  Lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return is_stopping_ || !needed_.empty() || !ahead_.empty(); });
    if (is_stopping_) return;
    std::deque<std::shared_ptr<Fetch>>& queue = needed_.empty() ? ahead_ : needed_;
    std::shared_ptr<Fetch> fetch = std::move(queue.front());
    queue.pop_front();
    fetch->is_running = true;
    running_ += 1;
    lock.unlock();
    const absl::Status status = Run(*fetch);
    lock.lock();
    running_ -= 1;
    Finish(fetch, status);
    lock.unlock();
    fetch.reset();  // It may hold the last reference to its file, whose end takes the mutex.
    lock.lock();
  }
}

absl::Status ArchiveCache::Run(Fetch& fetch) {
  ArchivedBytes& file = *fetch.file;
  const uint64_t begin = fetch.begin_block * kChecksumBlockBytes;
  const uint64_t bytes = file.BytesOf(fetch.begin_block, fetch.end_block);
  const std::string key = file.marker_.KeyOf(file.number_, begin);
  file.mapping_.Populate(begin, bytes);
  const absl::Status got =
      file.store_->Get(key, begin % file.marker_.object_bytes,
                       file.mapping_.writable_bytes().subspan(begin, bytes), &fetch.cancelled);
  if (absl::IsCancelled(got)) return absl::AbortedError(got.message());
  if (absl::IsNotFound(got)) {
    return Annotate(got, fmt::format("{}: if it was recalled, reload the database", file.path_));
  }
  if (!got.ok()) return Annotate(got, file.path_);
  const std::optional<DamagedBlock> damage =
      file.blocks_->FindDamage(file.bytes(), begin, begin + bytes);
  if (!damage) return absl::OkStatus();
  return DataLoss(
      "{}: byte {}: block {} (up to byte {}) has CRC32C {:08x}, expected {:08x}: {}/{}: the store "
      "or the network changed it",
      file.path_, damage->begin, damage->number, damage->end, damage->found, damage->expected,
      file.store_->name(), key);
}

// Called under the mutex. The caller keeps `fetch`, and drops it without the mutex.
void ArchiveCache::Finish(const std::shared_ptr<Fetch>& fetch, absl::Status status) {
  ArchivedBytes& file = *fetch->file;
  file.fetches_.erase(fetch->begin_block);
  if (fetch->is_running) {
    counts_.store_requests += 1;
    if (status.ok()) {
      counts_.store_bytes += file.BytesOf(fetch->begin_block, fetch->end_block);
    } else if (!absl::IsAborted(status)) {
      counts_.store_errors += 1;
    }
  }
  if (!status.ok()) {
    DropHeld(file, file.ForgetUnverified(fetch->begin_block, fetch->end_block));
  }
  fetch->status = std::move(status);
  fetch->is_done = true;
  done_.notify_all();
}

absl::StatusOr<std::shared_ptr<ArchivedBytes>> ArchivedBytes::Open(const std::string& path,
                                                                   const ChecksumFile* checksums) {
  const std::string directory = DirectoryOf(path);
  TS_ASSIGN_OR_RETURN(std::optional<ArchiveMarker> marker,
                      ReadArchiveMarker(directory, kArchivedName));
  if (!marker) return nullptr;
  const std::optional<size_t> number = marker->Find(path.substr(path.rfind('/') + 1));
  if (!number) return nullptr;
  std::shared_ptr<ObjectStore> store = GetObjectStore();
  if (store == nullptr || store->name() != marker->store) {
    return FailedPrecondition(
        "{}: archived in {}, and this process {}: name that store in [hdb.tiers] of the "
        "configuration, or fetch the table with `tickstack hdb recall`",
        path, marker->store,
        store == nullptr ? std::string("has no object store") : "uses " + store->name());
  }
  std::shared_ptr<const ChecksumFile> read;
  if (checksums == nullptr) {
    TS_ASSIGN_OR_RETURN(read, ChecksumFile::Open(fmt::format("{}/{}", directory, kChecksumName)));
    checksums = read.get();
  }
  if (checksums == nullptr) {
    return DataLoss("{}: archived, but its table has no {}", path, kChecksumName);
  }
  const uint64_t bytes = marker->files[*number].bytes;
  marker->files.clear();  // Keys need the number only, and a table has many columns.
  TS_ASSIGN_OR_RETURN(std::shared_ptr<const VerifiedBlocks> blocks,
                      VerifiedBlocks::Load(checksums, path, bytes));
  TS_ASSIGN_OR_RETURN(Mapping mapping, Mapping::OfSparseMemory(bytes));
  return std::shared_ptr<ArchivedBytes>(new ArchivedBytes(
      path, std::move(store), *std::move(marker), *number, std::move(mapping), std::move(blocks)));
}

// Its fetches hold references to it, so there are none.
ArchivedBytes::~ArchivedBytes() {
  ArchiveCache& cache = ArchiveCache::Instance();
  const std::lock_guard lock(cache.mutex_);
  cache.DropHeld(*this, held_bytes_);
}

std::shared_ptr<const void> ArchivedBytes::Pin() {
  ArchiveCache& cache = ArchiveCache::Instance();
  auto pin = std::make_shared<ArchivePin>();
  pin->file = shared_from_this();
  pin->release = [this, &cache] {
    ArchiveCache::Fetches dropped;  // Destroyed after the lock.
    const std::lock_guard lock(cache.mutex_);
    cache.AddPins(*this, -1);
    // Its last reader has what it wanted, or gave up.
    if (pins_ == 0) cache.CancelAhead(*this, dropped);
  };
  const std::lock_guard lock(cache.mutex_);
  cache.AddPins(*this, 1);
  if (held_bytes_ > 0) cache.files_.splice(cache.files_.end(), cache.files_, at_);
  return pin;
}

absl::Status ArchivedBytes::Need(uint64_t begin, uint64_t end) {
  if (begin >= end) return absl::OkStatus();
  const uint64_t begin_block = begin / kChecksumBlockBytes;
  const uint64_t end_block = (end - 1) / kChecksumBlockBytes + 1;
  if (AreVerified(begin_block, end_block)) {
    cache_bytes_read.fetch_add(end - begin, std::memory_order_relaxed);
    // The cache is asked nevertheless if a reader from front to back will soon miss blocks.
    const uint64_t later = std::min(blocks_->blocks(), end_block + kAheadBlocksMax / 2) - 1;
    if (blocks_->IsVerified(later)) return absl::OkStatus();
  } else {
    uint64_t cached = 0;
    for (uint64_t block = begin_block; block < end_block; ++block) {
      if (blocks_->IsVerified(block)) cached += BytesOf(block, block + 1);
    }
    cache_bytes_read.fetch_add(cached, std::memory_order_relaxed);
  }
  return ArchiveCache::Instance().Need(*this, begin_block, end_block);
}

void ArchivedBytes::WillRead(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  const uint64_t begin_block = begin / kChecksumBlockBytes;
  const uint64_t end_block =
      std::min((end - 1) / kChecksumBlockBytes + 1, begin_block + kAheadBlocksMax);
  if (AreVerified(begin_block, end_block)) return;
  ArchiveCache& cache = ArchiveCache::Instance();
  const std::lock_guard lock(cache.mutex_);
  if (pins_ > 0) cache.EnqueueAhead(*this, begin_block, end_block);
}

bool ArchivedBytes::AreVerified(uint64_t begin_block, uint64_t end_block) const {
  for (uint64_t block = begin_block; block < end_block; ++block) {
    if (!blocks_->IsVerified(block)) return false;
  }
  return true;
}

std::shared_ptr<ArchiveCache::Fetch> ArchivedBytes::FetchOf(uint64_t block) const {
  auto after = fetches_.upper_bound(block);
  if (after == fetches_.begin()) return nullptr;
  const std::shared_ptr<ArchiveCache::Fetch>& fetch = std::prev(after)->second;
  return block < fetch->end_block ? fetch : nullptr;
}

uint64_t ArchivedBytes::BytesOf(uint64_t begin_block, uint64_t end_block) const {
  return std::min<uint64_t>(end_block * kChecksumBlockBytes, mapping_.bytes().size()) -
         begin_block * kChecksumBlockBytes;
}

uint64_t ArchivedBytes::ForgetUnverified(uint64_t begin_block, uint64_t end_block) {
  uint64_t bytes = 0;
  for (uint64_t block = begin_block; block < end_block; ++block) {
    if (blocks_->IsVerified(block)) continue;
    const uint64_t of_block = BytesOf(block, block + 1);
    mapping_.Forget(block * kChecksumBlockBytes, of_block);
    bytes += of_block;
  }
  return bytes;
}

}  // namespace tickstack::disk
