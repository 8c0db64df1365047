#pragma once

// Rows that change in place while others read them: the columns of a keyed table, in blocks of
// which a reader keeps the version that it saw.
//
//   view     rows | root: a pointer per leaf          one per published batch, as long as it is
//   read leaf          | a piece per column of 32 blocks piece         the elements of one column
//   in one block: 512 rows as a rule, from the column's
//                 tier; a power of two of bytes, so nothing is lost to rounding
//
// A batch that changes rows writes them into copies of their blocks, one copy per block and batch,
// and then publishes a view with these copies. Readers keep the old blocks, and see all of a batch
// or nothing. New rows, and columns that never change (the key's), need no copy: they are written
// beyond the row count of every view, as in a plain table.
//
// Reclamation: versions are numbers, and each batch makes the next one. A block that version m made
// and version r replaced is in the views m to r - 1 only, so it can be freed as soon as none of
// these is held. Readers therefore write one counter per view, and blocks have no counters:
//
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
// (3) before (1): the acquire load of (1) reads what (3), or a fetch_add after it, stored; both are
// of the release sequence that (3) heads, so a reader sees everything written before its view was
// published. (2) before (4): the counter goes up by read-modify-writes only, so the load that finds
// it equal to `taken` has all of their releases before it; what the writer then frees or fills anew
// is read by nobody. A reader does two atomic additions and never waits, whatever the writer does;
// the writer never waits for readers: what is held stays on a list that it looks at with the next
// batch. Only the writer allocates and frees, so no reader ever meets a tier's lock.
//
// Memory: the rows once, and for each view that is held the pieces that were replaced since. What a
// finished query held comes back with the next batch. Roots and leaves (8 bytes a piece) are
// ordinary memory and are not counted in bytes().
//
// Threads: one writer; Pin and bytes from any thread, and what Pin returns may be used and dropped
// on any.

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

// The rows as one batch left them. Immutable, any thread.
class BlockView {
 public:
  size_t rows() const { return rows_; }
  // The elements of one column in one block, cut at rows().
  std::span<const std::byte> Elements(size_t column, size_t block) const;

 private:
  friend class VersionedBlocks;

  const VersionedBlocks* blocks_ = nullptr;
  size_t rows_ = 0;
  uint64_t version_ = 0;
  std::unique_ptr<std::byte**[]> root_;
  uint64_t taken_ = 0;  // The writer's: number of pins when the view was replaced.
  mutable std::atomic<uint64_t> returned_ = 0;
};

class VersionedBlocks {
 public:
  struct ColumnPlace {
    size_t width;  // Bytes of an element.
    mem::Tier* tier;
    bool changes;  // False: an element that was published stays as it is.
  };
  // Views at a time: the current one, and those that readers hold. The writer looks at each of them
  // with each batch. At most 2^16.
  static constexpr size_t kViewsMax = size_t{1} << 13;

  // Every block has `layout`'s rows; tiers outlive this.
  VersionedBlocks(const ChunkLayout& layout, std::span<const ColumnPlace> columns);
  // No view is held.
  ~VersionedBlocks();
  VersionedBlocks(const VersionedBlocks&) = delete;
  VersionedBlocks& operator=(const VersionedBlocks&) = delete;

  // ---- Any thread.

  // The newest view; `owner` lives as long as it is held. Cost: one atomic addition, and one
  // allocation for the pointer.
  std::shared_ptr<const BlockView> Pin(std::shared_ptr<const void> owner) const;
  const ChunkLayout& layout() const { return layout_; }
  // Taken from the tier for one column, rounded as tiers do, copies and what views hold included.
  size_t bytes(size_t column) const {
    return columns_[column].bytes.load(std::memory_order_relaxed);
  }
  // What reading a column's pieces is charged to; nullptr: nothing is. Copies charge themselves.
  mem::Medium* medium(size_t column) const { return columns_[column].place.tier->medium(); }

  // ---- The writer. A batch is Reserve, Install, writes through Piece, Publish.

  // Room for rows below `end_row`, and copies of blocks that hold published rows which will change,
  // each named once. kResourceExhausted: a tier is full, or kViewsMax views are held;
  // there are no copies then, and room that was made stays.
  absl::Status Reserve(std::span<const uint32_t> changed_blocks, size_t end_row);
  // Gives back the copies that Reserve made.
  void Cancel();
  // Puts the copies in the place of their blocks, as far as the writer is concerned.
  void Install();
  // The elements of a column in a block as the writer has them. Published ones may be written in
  // changing columns of blocks that were installed, and unpublished ones anywhere.
  std::byte* Piece(size_t column, size_t block) const {
    return draft_[block / kLeafBlocks][SlotOf(column, block)];
  }
  // Makes what was written, and rows below `rows`, visible at once.
  void Publish(size_t rows);
  // Gives back what no view needs any more. Reserve and Publish do it as well.
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
  // A piece, or with kLeafOfNoColumn a leaf, that version `made` made and `replaced` replaced.
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
  void GivePiece(size_t column, std::byte* piece);
  void Free(const Garbage& garbage);
  bool IsHeld(const Garbage& garbage) const;
  // Whether a view can be made for the next batch.
  bool HasViewToGive() const { return !free_views_.empty() || view_count_ < kViewsMax; }
  uint32_t MakeView(size_t rows);

  const ChunkLayout layout_;
  std::deque<ColumnState> columns_;
  mutable std::atomic<uint64_t> word_ = 0;
  StableArray<BlockView> views_;  // By number.

  // The writer's own.
  uint64_t version_ = 0;  // Version of the current view.
  size_t rows_ = 0;       // Published.
  size_t block_count_ = 0;
  std::vector<Leaf> draft_;  // The next view's.
  std::vector<uint64_t> leaf_made_;
  std::vector<uint64_t> block_made_;
  std::vector<uint32_t> copied_blocks_;  // Reserved, not yet installed,
  std::vector<std::byte*> copies_;       // and their pieces, changing columns only.
  size_t view_count_ = 0;
  std::vector<uint32_t> free_views_;
  std::vector<uint32_t>
      held_views_;  // Replaced ones that were held when last looked at; ascending.
  std::vector<Garbage> garbage_;
  size_t garbage_held_ = 0;  // The first ones: a held view had each when last looked at.
};

}  // namespace tickstack
