#include "mem/persistent_tier.h"

#include <libpmem.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/byte_buffer.h"
#include "base/check.h"
#include "base/crc32c.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"

namespace tickstack::mem {
namespace {

constexpr size_t kSuperblockBytes = 4096;
constexpr size_t kSlotHeaderBytes = 64;
constexpr uint64_t kMagic = 0x3152454954534b54;  // "TKSTIER1".

struct Superblock {
  uint64_t magic;
  uint32_t version;
  uint32_t page_bytes;
  uint64_t file_bytes;
  uint64_t pages;
  uint32_t reserved;
  uint32_t crc;  // Covers the fields above.
};

struct SlotHeader {
  uint64_t sequence;  // 0: never committed.
  uint64_t words_sum;
  uint32_t root_bytes;
  uint32_t root_crc;
  uint64_t reserved[4];
  uint32_t reserved_too;
  uint32_t crc;  // Covers the fields above.
};
static_assert(sizeof(SlotHeader) == kSlotHeaderBytes);

template <typename T>
uint32_t CrcOf(const T& record) {
  return Crc32c(std::as_bytes(std::span(&record, 1)).first(sizeof(T) - sizeof(uint32_t)));
}

// Offsets in a file of `file_bytes` bytes.
struct Layout {
  size_t file_bytes;
  size_t pages;
  size_t slot_bytes;
  size_t data_offset;

  size_t SlotOffset(int slot) const {
    return kSuperblockBytes + static_cast<size_t>(slot) * slot_bytes;
  }
};

Layout LayoutOf(size_t file_bytes) {
  const size_t pages_most = file_bytes / Tier::kHugePageBytes;
  const size_t words_bytes = (pages_most * sizeof(uint32_t) + 4095) / 4096 * 4096;
  const size_t slot_bytes = 4096 + PersistentTier::kRootBytesMax + words_bytes;
  const size_t metadata = kSuperblockBytes + 2 * slot_bytes;
  const size_t data_offset =
      (metadata + Tier::kHugePageBytes - 1) / Tier::kHugePageBytes * Tier::kHugePageBytes;
  return {file_bytes, (file_bytes - data_offset) / Tier::kHugePageBytes, slot_bytes, data_offset};
}

// The sum of this over pages is a checksum of all words that can be updated when one word changes.
uint64_t PageSum(size_t page, uint32_t word) {
  uint64_t x = (uint64_t{word} << 32 | page) + 0x9e3779b97f4a7c15;  // splitmix64.
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return word == 0 ? 0 : x ^ (x >> 31);
}

class CacheLinePersistence final : public Persistence {
 public:
  void Flush(const std::byte* memory, size_t bytes) override { pmem_flush(memory, bytes); }
  absl::Status Fence() override {
    pmem_drain();
    return absl::OkStatus();
  }
};

// msync works on whole pages, so ranges are merged by page first.
class MsyncPersistence final : public Persistence {
 public:
  void Flush(const std::byte* memory, size_t bytes) override {
    const auto begin = reinterpret_cast<uintptr_t>(memory) & ~uintptr_t{4095};
    const auto end = (reinterpret_cast<uintptr_t>(memory) + bytes + 4095) & ~uintptr_t{4095};
    if (!ranges_.empty() && ranges_.back().first == begin && ranges_.back().second >= end) return;
    ranges_.emplace_back(begin, end);
  }
  absl::Status Fence() override {
    std::sort(ranges_.begin(), ranges_.end());
    size_t joined = 0;
    for (const auto& [begin, end] : ranges_) {
      if (joined > 0 && begin <= ranges_[joined - 1].second) {
        ranges_[joined - 1].second = std::max(ranges_[joined - 1].second, end);
      } else {
        ranges_[joined++] = {begin, end};
      }
    }
    // Each call waits for the device. With many ranges, one call over everything between them is
    // cheaper, whatever else is dirty there.
    if (joined > kRangesMax) {
      ranges_[0].second = ranges_[joined - 1].second;
      joined = 1;
    }
    absl::Status status;
    for (size_t i = 0; i < joined && status.ok(); ++i) {
      const auto [begin, end] = ranges_[i];
      void* const pages = reinterpret_cast<void*>(begin);  // NOLINT(performance-no-int-to-ptr)
      if (msync(pages, end - begin, MS_SYNC) != 0) {
        status = ErrnoStatus(errno, "msync");
      }
    }
    ranges_.clear();
    return status;
  }

 private:
  static constexpr size_t kRangesMax = 64;
  std::vector<std::pair<uintptr_t, uintptr_t>> ranges_;
};

}  // namespace

// The mapped file, locked against a second process.
struct PersistentTier::File {
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (base != nullptr) pmem_unmap(base, layout.file_bytes);
  }

  static absl::StatusOr<std::unique_ptr<File>> Open(const TierOptions& options);
  absl::Status Map(const TierOptions& options);
  absl::Status Initialise(Persistence& persistence);
  bool IsTierFile() const;
  SlotHeader* Header(int slot) const {
    return reinterpret_cast<SlotHeader*>(base + layout.SlotOffset(slot));
  }
  std::byte* Root(int slot) const { return base + layout.SlotOffset(slot) + 4096; }
  uint32_t* Words(int slot) const {
    return reinterpret_cast<uint32_t*>(Root(slot) + kRootBytesMax);
  }

  tickstack::File locked;
  std::string path;
  std::string filesystem;
  Layout layout{};
  std::byte* base = nullptr;
  bool dax = false;
  bool fresh = false;
};

absl::StatusOr<std::unique_ptr<PersistentTier::File>> PersistentTier::File::Open(
    const TierOptions& options) {
  TS_RETURN_IF_ERROR(CheckFileOptions(options));
  TS_ASSIGN_OR_RETURN(const FilesystemFacts facts, FactsOfFilesystem(options.path));
  auto file = std::make_unique<File>();
  file->path = fmt::format("{}/{}", options.path, options.file);
  file->filesystem = facts.type;
  file->layout = LayoutOf(options.capacity_bytes);
  TS_ASSIGN_OR_RETURN(file->locked, tickstack::File::OpenOrCreate(file->path));
  TS_RETURN_IF_ERROR(file->locked.LockWithin(options.lock_wait));
  TS_ASSIGN_OR_RETURN(const uint64_t bytes, file->locked.Bytes());
  if (bytes != file->layout.file_bytes && options.read_by_another) {
    return FailedPrecondition("{}: has {} bytes, expected {}: its size cannot change now",
                              file->path, bytes, file->layout.file_bytes);
  }
  if (bytes != file->layout.file_bytes) {
    if (bytes != 0) {
      LogWarn("persistent tier made anew: its size changed path={} bytes={} bytes_were={}",
              file->path, file->layout.file_bytes, bytes);
    }
    TS_RETURN_IF_ERROR(file->locked.Truncate(0));
    file->fresh = true;
    if (facts.free_bytes + bytes < file->layout.file_bytes) {
      return ResourceExhausted("{} ({}) has {} bytes free, expected {} for the tier's size",
                               options.path, facts.type, facts.free_bytes + bytes,
                               file->layout.file_bytes);
    }
  }
  if (absl::Status mapped = file->Map(options); !mapped.ok()) {
    // The allocated blocks of a new file are freed; a file with content is kept.
    if (file->fresh) file->locked.Truncate(0).IgnoreError();
    return mapped;
  }
  if (options.read_by_another && !file->IsTierFile()) {
    return FailedPrecondition("{}: not written by this version, or not whole", file->path);
  }
  if (!file->fresh && !file->IsTierFile()) {
    LogWarn("persistent tier made anew: not written by this version, or not whole path={}",
            file->path);
    file->fresh = true;
  }
  return file;
}

absl::Status PersistentTier::File::Map(const TierOptions& options) {
  size_t mapped_bytes = 0;
  int is_pmem = 0;
  // Given a length, libpmem first allocates all blocks, so that no store finds a hole.
  void* const mapped = pmem_map_file(path.c_str(), layout.file_bytes, PMEM_FILE_CREATE, 0600,
                                     &mapped_bytes, &is_pmem);
  if (mapped == nullptr) {
    const int error = errno;
    if (error == ENOSPC) {
      return ResourceExhausted("{} ({}) is full, expected {} bytes for the tier's size",
                               options.path, filesystem, layout.file_bytes);
    }
    return Annotate(ErrnoStatus(error, "pmem_map_file"), path);
  }
  base = static_cast<std::byte*>(mapped);
  dax = is_pmem != 0;
  if (mapped_bytes != layout.file_bytes ||
      reinterpret_cast<uintptr_t>(base) % Tier::kHugePageBytes != 0) {
    return Internal("{}: mapped {} bytes at {}, expected {} at a multiple of 2 MiB", path,
                    mapped_bytes, fmt::ptr(mapped), layout.file_bytes);
  }
  madvise(base, layout.file_bytes, MADV_HUGEPAGE);
  madvise(base, layout.file_bytes, MADV_DONTFORK);
  madvise(base, layout.file_bytes, MADV_DONTDUMP);
  return absl::OkStatus();
}

bool PersistentTier::File::IsTierFile() const {
  Superblock found{};
  std::memcpy(&found, base, sizeof(found));
  return found.magic == kMagic && found.version == PersistentTier::kFormatVersion &&
         found.page_bytes == Tier::kHugePageBytes && found.file_bytes == layout.file_bytes &&
         found.pages == layout.pages && found.crc == CrcOf(found);
}

// The superblock is written last: if the process dies before, the file is initialised again.
absl::Status PersistentTier::File::Initialise(Persistence& persistence) {
  std::memset(base, 0, kSuperblockBytes);
  persistence.Flush(base, kSuperblockBytes);
  TS_RETURN_IF_ERROR(persistence.Fence());
  for (const int slot : {0, 1}) {
    std::memset(Header(slot), 0, kSlotHeaderBytes);
    std::memset(Words(slot), 0, layout.pages * sizeof(uint32_t));
    persistence.Flush(base + layout.SlotOffset(slot), kSlotHeaderBytes);
    persistence.Flush(reinterpret_cast<const std::byte*>(Words(slot)),
                      layout.pages * sizeof(uint32_t));
  }
  TS_RETURN_IF_ERROR(persistence.Fence());
  Superblock block{kMagic,
                   PersistentTier::kFormatVersion,
                   Tier::kHugePageBytes,
                   layout.file_bytes,
                   layout.pages,
                   0,
                   0};
  block.crc = CrcOf(block);
  std::memcpy(base, &block, sizeof(block));
  persistence.Flush(base, sizeof(block));
  return persistence.Fence();
}

PersistentTier::PersistentTier(const TierOptions& options, std::unique_ptr<File> file,
                               std::unique_ptr<Persistence> persistence)
    : ArenaTier(options, std::make_unique<MappedFileArena>(file->path, file->filesystem, file->dax,
                                                           file->base + file->layout.data_offset,
                                                           file->layout.pages)),
      persistence_(std::move(persistence)),
      words_(file->layout.pages),
      file_(std::move(file)) {
  commit_stats_.msync = !file_->dax;
  keep_freed_ = options.read_by_another;
}

// The file is unmapped with this class's members, before the base class would end its thread.
PersistentTier::~PersistentTier() { StopTouching(); }

absl::StatusOr<std::unique_ptr<PersistentTier>> PersistentTier::Open(
    const TierOptions& options, std::unique_ptr<Persistence> persistence) {
  TierOptions opened = options;
  if (opened.capacity_bytes != SIZE_MAX)
    opened.capacity_bytes -= opened.capacity_bytes % Tier::kHugePageBytes;
  const std::string place = fmt::format("tier {}", options.name);
  absl::StatusOr<std::unique_ptr<File>> file = File::Open(opened);
  if (!file.ok()) return Annotate(file.status(), place);
  if (persistence == nullptr) {
    if ((*file)->dax) {
      persistence = std::make_unique<CacheLinePersistence>();
    } else {
      persistence = std::make_unique<MsyncPersistence>();
    }
  }
  opened.capacity_bytes = (*file)->layout.pages * Tier::kHugePageBytes;
  persistence->OnMapped({(*file)->base, (*file)->layout.file_bytes});
  std::unique_ptr<PersistentTier> tier(
      new PersistentTier(opened, *std::move(file), std::move(persistence)));
  if (const absl::Status loaded = tier->Load(); !loaded.ok()) return Annotate(loaded, place);
  tier->Start();
  return tier;
}

absl::Status PersistentTier::Load() {
  if (file_->fresh) {
    TS_RETURN_IF_ERROR(file_->Initialise(*persistence_));
  } else {
    const int newest = file_->Header(1)->sequence > file_->Header(0)->sequence ? 1 : 0;
    if (!LoadSlot(newest)) {
      if (keep_freed_) return DataLoss("{}: its last commit is not whole", file_->path);
      TS_RETURN_IF_ERROR(LoadOlder(1 - newest));
    }
  }
  FindStalePages();
  allocator_.NoteChanges(true);
  return absl::OkStatus();
}

void PersistentTier::FindStalePages() {
  for (const int slot : {0, 1}) {
    stale_pages_[slot].clear();
    for (size_t page = 0; page < words_.size(); ++page) {
      if (file_->Words(slot)[page] != words_[page]) {
        stale_pages_[slot].push_back(static_cast<uint32_t>(page));
      }
    }
  }
}

// Loads the commit before the newest one, which is not complete, or nothing if there is none.
absl::Status PersistentTier::LoadOlder(int number) {
  if (file_->Header(0)->sequence == 0 && file_->Header(1)->sequence == 0) {
    return file_->Initialise(*persistence_);  // There was no commit yet.
  }
  if (LoadSlot(number)) {
    LogWarn("persistent tier: its last commit is not whole, the one before it is used path={}",
            file_->path);
    return absl::OkStatus();
  }
  LogError("persistent tier made anew: no commit is whole path={}", file_->path);
  return file_->Initialise(*persistence_);
}

// Loads a slot's commit if it is complete.
bool PersistentTier::LoadSlot(int number) {
  SlotHeader header{};
  std::memcpy(&header, file_->Header(number), sizeof(header));
  if (header.sequence == 0 || header.sequence % 2 != static_cast<uint64_t>(number) ||
      header.crc != CrcOf(header) || header.root_bytes > kRootBytesMax) {
    return false;
  }
  const std::span<const std::byte> root(file_->Root(number), header.root_bytes);
  if (Crc32c(root) != header.root_crc) return false;
  uint64_t sum = 0;
  const uint32_t* const words = file_->Words(number);
  for (size_t page = 0; page < words_.size(); ++page) sum += PageSum(page, words[page]);
  if (sum != header.words_sum) return false;
  size_t used = 0;
  for (size_t page = 0; page < words_.size(); ++page) {
    if (!allocator_.Restore(page, words[page])) {
      // The other slot's pages, or none, are restored next.
      for (size_t restored = 0; restored < page; ++restored) allocator_.Release(restored);
      return false;
    }
    used += allocator_.UsedBytes(page);
  }
  std::copy_n(words, words_.size(), words_.begin());
  words_sum_ = sum;
  sequence_ = header.sequence;
  root_.assign(root.begin(), root.end());
  used_bytes_ = high_water_bytes_ = used;
  return true;
}

absl::Status PersistentTier::Forget() {
  // The touching thread holds a page that is reserved and not in any commit, and returns it later.
  // It must not find that the page was released here, nor that it was granted since.
  StopTouching();
  const absl::Status forgotten = [this]() -> absl::Status {
    {
      const std::lock_guard lock(mutex_);
      if (keep_freed_) return FailedPrecondition("{}: another process reads it", file_->path);
      for (size_t page = 0; page < words_.size(); ++page) allocator_.Release(page);
      used_bytes_ = high_water_bytes_ = 0;
      freed_.clear();
    }
    return Commit({});
  }();
  StartTouching();
  return forgotten;
}

void PersistentTier::Flush(const std::byte* memory, size_t bytes) {
  if (bytes == 0) return;
  persistence_->Flush(memory, bytes);
  flushed_bytes_ += bytes;
}

absl::StatusOr<std::byte*> PersistentTier::Find(uint64_t offset, size_t bytes) const {
  const size_t end = words_.size() * Tier::kHugePageBytes, rounded = RoundedBytes(bytes);
  bool taken = bytes > 0 && rounded >= bytes && offset < end && rounded <= end - offset;
  for (size_t at = 0; taken && at < rounded; at += Tier::kHugePageBytes) {
    const size_t page = (offset + at) / Tier::kHugePageBytes;
    taken = PageAllocator::WordHolds(words_[page], offset % Tier::kHugePageBytes, rounded);
  }
  if (!taken) {
    return DataLoss("{}: {} bytes at offset {} are not an allocation", file_->path, bytes, offset);
  }
  return arena_->At(offset);
}

std::string PersistentTier::PlaceOf(const std::byte* memory, size_t bytes) const {
  return fmt::format("{}: {} bytes at byte {}", file_->path, bytes, memory - file_->base);
}

absl::StatusOr<std::byte*> PersistentTier::Allocate(size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (!broken_.ok()) {
      ++refused_;
      return FullError(bytes, Message(broken_));
    }
  }
  return ArenaTier::Allocate(bytes);
}

std::byte* PersistentTier::TryAllocate(size_t bytes) { return Allocate(bytes).value_or(nullptr); }

void PersistentTier::Free(std::byte* memory, size_t bytes) {
  const std::lock_guard lock(mutex_);
  freed_.push_back({arena_->OffsetOf(memory), RoundedBytes(bytes)});
}

PersistentTierStats PersistentTier::CommitStats() const {
  const std::lock_guard lock(mutex_);
  return commit_stats_;
}

void PersistentTier::TakeChanges() {
  for (const uint32_t page : allocator_.changed_pages()) {
    const uint32_t word = allocator_.Word(page);
    if (word == words_[page]) continue;
    words_sum_ += PageSum(page, word) - PageSum(page, words_[page]);
    words_[page] = word;
    for (std::vector<uint32_t>& stale : stale_pages_) stale.push_back(page);
  }
  allocator_.changed_pages().clear();
}

absl::Status PersistentTier::WriteSlot(std::span<const std::byte> root) {
  const int slot = static_cast<int>((sequence_ + 1) % 2);
  std::copy(root.begin(), root.end(), file_->Root(slot));
  persistence_->Flush(file_->Root(slot), root.size());
  uint32_t* const words = file_->Words(slot);
  for (const uint32_t page : stale_pages_[slot]) {
    if (words[page] == words_[page]) continue;
    words[page] = words_[page];
    persistence_->Flush(reinterpret_cast<const std::byte*>(words + page), sizeof(uint32_t));
  }
  stale_pages_[slot].clear();
  TS_RETURN_IF_ERROR(persistence_->Fence());
  SlotHeader header{};
  header.sequence = sequence_ + 1;
  header.words_sum = words_sum_;
  header.root_bytes = static_cast<uint32_t>(root.size());
  header.root_crc = Crc32c(root);
  header.crc = CrcOf(header);
  std::memcpy(file_->Header(slot), &header, sizeof(header));
  persistence_->Flush(reinterpret_cast<const std::byte*>(file_->Header(slot)), sizeof(header));
  return persistence_->Fence();
}

absl::Status PersistentTier::Commit(std::span<const std::byte> root) {
  if (root.size() > kRootBytesMax) {
    return ResourceExhausted("tier {}: a root of {} bytes, expected {} at most", options_.name,
                             root.size(), kRootBytesMax);
  }
  const int64_t begin_ns = MonotonicNs();
  const std::lock_guard lock(mutex_);
  TS_RETURN_IF_ERROR(broken_);
  // Under the lock, these pages cannot be granted before the commit without them is durable.
  if (!keep_freed_) {
    for (const Freed& freed : freed_) FreePages(freed.offset, freed.rounded);
    freed_.clear();
  }
  TakeChanges();
  if (const absl::Status written = WriteSlot(root); !written.ok()) {
    broken_ = Annotate(written, file_->path);
    return broken_;
  }
  ++sequence_;
  root_.assign(root.begin(), root.end());
  const int64_t took_ns = MonotonicNs() - begin_ns;
  commit_stats_.flushed_bytes = flushed_bytes_;
  ++commit_stats_.commits;
  commit_stats_.commit_ns += took_ns;
  commit_stats_.commit_ns_max = std::max(commit_stats_.commit_ns_max, took_ns);
  return absl::OkStatus();
}

// ---- taking the place of another process

void PersistentTier::Release() {
  StopTouching();
  {
    const std::lock_guard lock(mutex_);
    broken_ = FailedPrecondition("{}: given to another process", file_->path);
  }
  // A stray store would damage what the other process commits; a fault names its place.
  if (mprotect(file_->base, file_->layout.file_bytes, PROT_READ) != 0) {
    LogWarn("given tier stays writable here path={} errno={}", file_->path, errno);
  }
  file_->locked.Unlock();
}

// The other process put its commits into the slots in turn. This one's next commit follows them.
absl::Status PersistentTier::Reclaim(std::chrono::nanoseconds at_most) {
  TS_RETURN_IF_ERROR(file_->locked.LockWithin(at_most));
  if (mprotect(file_->base, file_->layout.file_bytes, PROT_READ | PROT_WRITE) != 0) {
    return Annotate(ErrnoStatus(errno, "mprotect"), file_->path);
  }
  for (const int slot : {0, 1}) {
    SlotHeader header{};
    std::memcpy(&header, file_->Header(slot), sizeof(header));
    if (header.crc == CrcOf(header)) sequence_ = std::max(sequence_, header.sequence);
  }
  FindStalePages();
  {
    const std::lock_guard lock(mutex_);
    broken_ = absl::OkStatus();
  }
  StartTouching();
  return absl::OkStatus();
}

void PersistentTier::ReuseFreed() {
  const std::lock_guard lock(mutex_);
  keep_freed_ = false;
}

}  // namespace tickstack::mem
