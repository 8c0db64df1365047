#pragma once

// A tier whose memory is a file that outlives the process: after the file is opened again,
// committed data is there, at the same offsets.
//
//   file  | superblock | slot 0 | slot 1 | to 2 MiB | page 0 | page 1 | ...
//   slot  | header 64 B: sequence, checksums | root, 256 KiB at most | a word per page |
//
// The owner writes its data into allocated memory, calls Flush for all of it, then Commit with a
// root: bytes from which it finds its data again. A commit goes to the slot that does not have the
// newest commit:
//
//   1  root and the changed page words are written and flushed
//   2  fence: they, and all that the owner flushed before, are durable
//   3  the header is written and flushed                        <- the commit happens here
//   4  fence: the caller may rely on it
//
// A header has checksums of itself, of the root and of the page words. If a header was torn, or
// reached the medium before the data that it covers, a checksum disagrees. The other slot,
// unchanged since the previous commit, is then the newest. So whenever the power fails, opening the
// file finds a complete commit: the last one or the one in progress. Freed memory is allocated
// again only after a commit that does not refer to it.
//
// If the mapping is the memory (DAX), flushing is a cache-line write-back, and a fence takes some
// 100 ns. Otherwise a fence is an msync of the flushed pages: free on tmpfs, whose content lasts
// until the machine is switched off; at least 0.1 ms per range on a disk. A killed process loses
// nothing in either case, because its stores are already in the file's pages.
//
// The tier has no checksums of its owner's data. An owner that wants them keeps them in its root,
// as table/durable_tables.h does.
//
// Threads: one thread owns the data. Any thread may call the functions of Tier, PlaceOf and
// CommitStats; only the owner calls the others.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "mem/arena_tier.h"

namespace tickstack::mem {

// How stores into a mapping become durable. Tests replace it to simulate power cuts.
class Persistence {
 public:
  virtual ~Persistence() = default;
  virtual void OnMapped(std::span<std::byte> /*file*/) {}
  // The bytes are durable after the next Fence.
  virtual void Flush(const std::byte* memory, size_t bytes) = 0;
  // kInternal if the device fails.
  virtual absl::Status Fence() = 0;
};

struct PersistentTierStats {
  uint64_t commits = 0;
  uint64_t flushed_bytes = 0;
  int64_t commit_ns = 0;  // Sum over the commits.
  int64_t commit_ns_max = 0;
  bool msync = false;  // True if the mapping is not DAX and fences are msync calls.
};

class PersistentTier final : public ArenaTier {
 public:
  // Version of the file's format, without the owner's data.
  static constexpr uint32_t kFormatVersion = 2;

  // Opens or creates options.path/options.file. A file of another size or version, or without a
  // complete commit, is replaced, with a warning.
  // Errors: as OpenTier; kUnavailable if another process has the file open.
  static absl::StatusOr<std::unique_ptr<PersistentTier>> Open(
      const TierOptions& options, std::unique_ptr<Persistence> persistence = nullptr);

  ~PersistentTier() override;

  PersistentTier* persistent() override { return this; }

  // Returns the root of the last commit, which is valid until the next one; empty if there is none.
  std::span<const std::byte> root() const { return root_; }
  // Durably discards the content, for an owner that cannot read the root. No allocation may be
  // live.
  absl::Status Forget();

  void Flush(const std::byte* memory, size_t bytes);
  // Makes the root and all flushed memory durable. kResourceExhausted if the root is larger than
  // kRootBytesMax. kInternal if the device failed; the tier then refuses allocations and commits,
  // and the file stays as it is.
  absl::Status Commit(std::span<const std::byte> root);

  // Returns the address from which offsets count. It differs between processes.
  std::byte* base() const { return arena_->regions()[0].base; }
  uint64_t OffsetOf(const std::byte* memory) const { return arena_->OffsetOf(memory); }
  // Returns memory that Allocate(bytes) returned before the last commit, in this process or an
  // earlier one. kDataLoss, with offset and size, if there is no such allocation.
  absl::StatusOr<std::byte*> Find(uint64_t offset, size_t bytes) const;
  // Describes memory of the tier for an error message: "PATH: N bytes at byte OFFSET", where the
  // offset counts from the start of the file. Any thread.
  std::string PlaceOf(const std::byte* memory, size_t bytes) const;

  absl::StatusOr<std::byte*> Allocate(size_t bytes) override;
  std::byte* TryAllocate(size_t bytes) override;
  void Free(std::byte* memory, size_t bytes) override;
  PersistentTierStats CommitStats() const;

  // ---- Used when another process takes over the file while this one still reads it.

  // Gives the file to another process: releases the lock, makes the mapping read-only, and refuses
  // allocations and commits from then on. This process can read its committed data until this
  // object is destroyed, provided that the other process opens the file with read_by_another. That
  // process then adds data, but does not overwrite what was committed.
  void Release();
  // Takes a released file back after the other process has ended. If that process committed, the
  // owner must restore its data in the tier to the state of the last commit before Release, and
  // commit that state before it changes anything. Until then, a restart finds the other process's
  // last commit. kUnavailable if another process has the lock for longer than `at_most`.
  absl::Status Reclaim(std::chrono::nanoseconds at_most);
  // Called when the other process has ended: memory that was freed may be used again after the next
  // commit.
  void ReuseFreed();

  static constexpr size_t kRootBytesMax = size_t{256} << 10;

 private:
  struct File;
  struct Slot;
  PersistentTier(const TierOptions& options, std::unique_ptr<File> file,
                 std::unique_ptr<Persistence> persistence);
  absl::Status Load();
  void FindStalePages();
  bool LoadSlot(int number);
  absl::Status LoadOlder(int number);
  void TakeChanges();
  absl::Status WriteSlot(std::span<const std::byte> root);

  std::unique_ptr<Persistence> persistence_;
  std::vector<std::byte> root_;
  // By page: its word (PageAllocator::Word) in the last commit, with later changes applied.
  std::vector<uint32_t> words_;
  uint64_t words_sum_ = 0;                // Checksum of words_; see PageSum.
  std::vector<uint32_t> stale_pages_[2];  // By slot: pages whose words in that slot are outdated.
  uint64_t flushed_bytes_ = 0;
  uint64_t sequence_ = 0;  // Number of the last commit; its slot is sequence_ % 2.
  struct Freed {
    size_t offset;
    size_t rounded;
  };
  std::vector<Freed> freed_;          // Freed since the last commit. Guarded by mutex_.
  bool keep_freed_ = false;           // Another process still reads the file. Guarded by mutex_.
  absl::Status broken_;               // Guarded by mutex_.
  PersistentTierStats commit_stats_;  // Guarded by mutex_.
  std::unique_ptr<File> file_;
};

}  // namespace tickstack::mem
