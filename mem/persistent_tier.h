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
// A header has checksums of itself, of the root and of the page words. So a header that was torn,
// or reached the medium too early, is not taken for a commit, and the other slot, unchanged since
// the previous commit, is the newest. Whenever the power fails, opening the file finds either the
// last commit or the one in progress, complete. Freed memory is allocated again only after the
// commit that no longer needs it.
//
// If the mapping is the memory (DAX), flushing is a cache-line write-back, and a fence takes some
// 100 ns. Otherwise a fence is an msync of the flushed pages: free on tmpfs, which keeps its
// content until the machine is switched off; at least 0.1 ms per range on a disk. A killed process
// loses nothing in either case, because its stores are already in the file's pages.
//
// The tier does not know what its owner's data means and has no checksums of it. The owner keeps
// them in its root; table/durable_tables.h does.
//
// Threads: Flush, Commit, Find and OffsetOf belong to one thread, the owner of the data; Allocate,
// Free and the rest as Tier.

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
  static constexpr uint32_t kFormatVersion = 2;  // The file's; its owner's data has its own.

  // Opens or creates options.path/options.file. A file of another size or version, or without a
  // complete commit, is replaced, with a warning.
  // Errors: as OpenTier; kUnavailable if another process has the file open.
  static absl::StatusOr<std::unique_ptr<PersistentTier>> Open(
      const TierOptions& options, std::unique_ptr<Persistence> persistence = nullptr);

  ~PersistentTier() override;

  PersistentTier* persistent() override { return this; }

  // The root of the last commit, valid until the next one; empty if there is none.
  std::span<const std::byte> root() const { return root_; }
  // Durably discards the content, for an owner that cannot read the root. No allocation may be
  // live.
  absl::Status Forget();

  void Flush(const std::byte* memory, size_t bytes);
  // Makes the root and all flushed memory durable. kResourceExhausted if the root is larger than
  // kRootBytesMax. kInternal if the device failed; the tier then refuses allocations and commits,
  // and the file stays as it is.
  absl::Status Commit(std::span<const std::byte> root);

  // Start of the memory that offsets count from. Its address differs between processes.
  std::byte* base() const { return arena_->regions()[0].base; }
  uint64_t OffsetOf(const std::byte* memory) const { return arena_->OffsetOf(memory); }
  // Returns memory that Allocate(bytes) returned before the last commit, in this process or an
  // earlier one. kDataLoss, with offset and size, if there is no such allocation.
  absl::StatusOr<std::byte*> Find(uint64_t offset, size_t bytes) const;
  // Describes memory of the tier for an error message: "PATH: N bytes at byte OFFSET", where the
  // offset counts from the start of the file. Any thread.
  std::string PlaceOf(const std::byte* memory, size_t bytes) const;

  absl::StatusOr<std::byte*> Allocate(size_t bytes) override;
  void Free(std::byte* memory, size_t bytes) override;
  PersistentTierStats CommitStats() const;

  // ---- For a process that takes the place of another one while that still reads.

  // Gives the file to another process: releases the lock, and refuses allocations and commits from
  // here on. What was committed stays readable here until this is destroyed, if the other process
  // opens the file as read_by_another: it then adds data, and overwrites nothing of it. The mapping
  // becomes read-only.
  void Release();
  // Takes a released file back. The other process may have committed: the owner must restore the
  // state of its own last commit where it is in the tier, and commit it before it changes anything.
  // Until then a restart finds the other's last commit. kUnavailable if another process has the
  // lock for longer than `at_most`.
  absl::Status Reclaim(std::chrono::nanoseconds at_most);
  // The other process has ended: freed memory may be used again after the next commit.
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
  std::vector<uint32_t> words_;           // As of the last commit, with the changes since.
  uint64_t words_sum_ = 0;                // Checksum of words_; see PageSum.
  std::vector<uint32_t> stale_pages_[2];  // By slot: pages whose words in it are outdated.
  uint64_t flushed_bytes_ = 0;
  uint64_t sequence_ = 0;  // Number of the last commit; its slot is sequence_ % 2.
  struct Freed {
    size_t offset;
    size_t rounded;
  };
  std::vector<Freed> freed_;          // Since the last commit. Guarded by mutex_.
  bool keep_freed_ = false;           // Another process reads it. Guarded by mutex_.
  absl::Status broken_;               // Guarded by mutex_.
  PersistentTierStats commit_stats_;  // Guarded by mutex_.
  std::unique_ptr<File> file_;
};

}  // namespace tickstack::mem
