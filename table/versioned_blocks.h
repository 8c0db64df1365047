#pragma once

// The columns of a keyed table, whose rows change while other threads read them. They are divided
// into blocks, and a reader keeps the versions of the blocks that it saw.
//
//   view    rows | root: a pointer per leaf     one per published batch, while it is held
//   leaf    a piece per column of 32 blocks     in ordinary memory
//   piece   the elements of one column in one block: usually 512 rows, from the column's tier; a
//           power of two of bytes, so nothing is lost to rounding
//
// A batch that changes rows writes them into copies of their blocks, one copy per block and batch,
// and then publishes a view with these copies. Readers keep the old blocks, and see all of a batch
// or nothing. New rows, and columns that never change (the key's), need no copy: they are written
// beyond the row count of every view, as in a plain table.
//
// Reclamation: versions are numbered by batch. A block that version m created and version r
// replaced is only in the views m to r - 1, so it can be freed when none of these is held. Readers
// therefore write one counter per view, and blocks have no counters:
//   word     | number of the current view: 16 bits | readers who took it: 48 bits |
//
//   reader   old = word.fetch_add(1, acquire)       (1)   takes the current view and is counted in
//            ... reads view old >> 48 ...                 one step: it cannot be replaced between
//            view.returned.fetch_add(1, release)    (2)   the two
//   writer   fills pieces, leaves, root and view
//            old = word.exchange(new view, release) (3)   whoever took the old view is in old's
//            the old view's taken = old & 48 bits         low bits; nobody takes it from here on
//            later: returned.load(acquire) == taken (4)   all of them are done: it is not held
//
// (3) before (1): the acquire load of (1) reads a value that (3), or a fetch_add after it, stored;
// both belong to the release sequence headed by (3), so a reader sees everything written before its
// view was published. (2) before (4): the counter changes only by read-modify-writes, so the load
// that finds it equal to `taken` follows all of their releases; what the writer then frees or
// refills has no readers. A reader does two atomic additions and never waits, whatever the writer
// does. The writer never waits for readers: held blocks stay on a list that it checks with each
// batch. Only the writer allocates and frees, so no reader ever takes a tier's lock.
//
// Memory: the rows once and, for each held view, the pieces that were replaced since it was
// published. Pieces that only a finished query held are freed with the next batch. Roots and leaves
// (8 bytes per piece) are in ordinary memory and do not count in bytes().
//
// Threads: one writer. Any thread may call Pin and bytes, and use and drop what Pin returns.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "mem/tier.h"
#include "table/chunk_layout.h"
#include "table/stable_array.h"

namespace tickstack {

class VersionedBlocks;

// The rows after one batch. Immutable, any thread.
class BlockView {
 public:
  size_t rows() const { return rows_; }
  // Returns the elements of one column in one block, up to rows().
  std::span<const std::byte> Elements(size_t column, size_t block) const;

 private:
  friend class VersionedBlocks;

  const VersionedBlocks* blocks_ = nullptr;
  size_t rows_ = 0;
  uint64_t version_ = 0;
  std::unique_ptr<std::byte**[]> root_;
  uint64_t taken_ = 0;  // Used by the writer: number of pins when the view was replaced.
  mutable std::atomic<uint64_t> returned_ = 0;
};

class VersionedBlocks {
 public:
  struct ColumnPlace {
    size_t width;  // Bytes of an element.
    mem::Tier* tier;
    bool changes;  // False: published elements never change.
  };
  // Maximum number of views: the current one, and those that readers hold. The writer checks each
  // of them with each batch. At most 2^16.
  static constexpr size_t kViewsMax = size_t{1} << 13;

  // Every chunk of `layout` is a block. The tiers must outlive this object.
  VersionedBlocks(const ChunkLayout& layout, std::span<const ColumnPlace> columns);
  // No view may be held.
  ~VersionedBlocks();
  VersionedBlocks(const VersionedBlocks&) = delete;
  VersionedBlocks& operator=(const VersionedBlocks&) = delete;

  // ---- Any thread.

  // Returns the newest view, which also keeps `owner` alive. Cost: one atomic addition, and one
  // allocation for the pointer.
  std::shared_ptr<const BlockView> Pin(std::shared_ptr<const void> owner) const;
  const ChunkLayout& layout() const { return layout_; }
  // Returns the bytes allocated from the tier for one column, as rounded by the tier, including
  // copies and the pieces that views hold.
  size_t bytes(size_t column) const {
    return columns_[column].bytes.load(std::memory_order_relaxed);
  }
  // Returns the medium that readers charge for a column's pieces; nullptr for real memory.
  // VersionedBlocks itself charges its copies.
  mem::Medium* medium(size_t column) const { return columns_[column].place.tier->medium(); }

  // ---- For the writer. A batch is Reserve, Install, writes through Piece, Publish.

  // Makes room for rows below `end_row`, and for copies of `changed_blocks`: the blocks whose
  // published rows will change, each of them once. kResourceExhausted if a tier is full, or if
  // kViewsMax views are held; then there is no room for copies, and room for rows is kept.
  absl::Status Reserve(std::span<const uint32_t> changed_blocks, size_t end_row);
  // Frees the room for copies that Reserve made.
  void Cancel();
  // Copies the blocks for which Reserve made room. From then on, Piece returns the copies.
  void Install();
  // Returns the elements of a column in a block, for writing. Rows that are published may be
  // written only in the copies that Install installed, and only in columns that change; other rows
  // may be written in any block.
  std::byte* Piece(size_t column, size_t block) const {
    return draft_[block / kLeafBlocks][SlotOf(column, block)];
  }
  // Publishes a view with all writes and with the rows below `rows`.
  void Publish(size_t rows);
  // Frees the pieces that no view needs any more. Reserve and Publish also do that.
  void Reclaim();

 private:
  friend class BlockView;
  using Leaf = std::byte**;  // A piece per block and column.
  static constexpr size_t kLeafBlocks = 32;
  static constexpr int kTakenBits = 48;
  static constexpr uint64_t kTakenMask = (uint64_t{1} << kTakenBits) - 1;
  static constexpr size_t kLeafOfNoColumn = SIZE_MAX;

  struct ColumnState {
    ColumnPlace place;
    size_t piece_bytes;
    std::atomic<size_t> bytes = 0;  // Only the writer stores.
  };
  // A piece (or, with kLeafOfNoColumn, a leaf) that version `made` created and `replaced` replaced.
  struct Garbage {
    uint64_t made;
    uint64_t replaced;
    size_t column;
    void* memory;
  };

  size_t SlotOf(size_t column, size_t block) const {
    return block % kLeafBlocks * columns_.size() + column;
  }
  absl::Status AddBlocks(size_t end_row);
  absl::StatusOr<std::byte*> TakePiece(size_t column);
  void ReleasePiece(size_t column, std::byte* piece);
  void Free(const Garbage& garbage);
  bool IsHeld(const Garbage& garbage) const;
  // True if a view is available for the next batch.
  bool HasFreeView() const { return !free_views_.empty() || view_count_ < kViewsMax; }
  uint32_t MakeView(size_t rows);

  const ChunkLayout layout_;
  std::deque<ColumnState> columns_;
  mutable std::atomic<uint64_t> word_ = 0;
  StableArray<BlockView> views_;  // By number.

  // Used by the writer only.
  uint64_t version_ = 0;  // Version of the current view.
  size_t rows_ = 0;       // Published rows.
  size_t block_count_ = 0;
  std::vector<Leaf> draft_;  // Leaves of the next view.
  std::vector<uint64_t> leaf_made_;
  std::vector<uint64_t> block_made_;
  std::vector<uint32_t> copied_blocks_;  // Reserved, not yet installed.
  std::vector<std::byte*> copies_;       // Pieces of copied_blocks_, for changing columns only.
  size_t view_count_ = 0;
  std::vector<uint32_t> free_views_;
  std::vector<uint32_t> held_views_;  // Replaced views that were held at the last check; ascending.
  std::vector<Garbage> garbage_;
  size_t garbage_held_ = 0;  // Number of leading entries that a view held at the last check.
};

}  // namespace tickstack
