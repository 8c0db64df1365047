#pragma once

// One column of a table. Its rows are in chunks of a tier's memory; ChunkLayout defines their
// sizes.
//
//   chunks    | 0 .. n | n .. 2n | ...        directory: a StableArray, readers take no lock
//   element   fixed width: the kdb+ element; symbol: SymbolId; list: ItemRef into an arena
//
// The values of a list column keep their encoding from the wire. They are back to back in arena
// blocks, and each row has the place of its value. A value never crosses a block.
//
// In a persistent tier, a column also stores the offsets of its chunks and blocks and the checksum
// of each chunk. It is restored from a record of about 100 bytes and its table's row count; see
// durable_tables.h.
//
// In an aged tier (mem/aged_tier.h), full chunks move to the older tier: a copy takes the place of
// the chunk, at another address. The values of a list column stay where they were written; only
// their places move.
//
// Threads: one writer, and one thread that moves chunks. Readers see rows below the row count that
// their table published. A reader may see a chunk before or after its move, which have the same
// bytes.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "mem/aged_tier.h"
#include "mem/tier.h"
#include "table/batch.h"
#include "table/chunk_layout.h"
#include "table/durable_list.h"
#include "table/record.h"
#include "table/replaced_memory.h"
#include "table/schema.h"
#include "table/stable_array.h"
#include "table/symbols.h"

namespace tickstack {

class Column {
 public:
  Column(Type type, const ChunkLayout& layout, mem::Tier* tier);
  ~Column();
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;

  Type type() const { return type_; }
  size_t width() const { return width_; }  // Bytes of an element in this column.
  // Returns the medium that readers charge; nullptr for real memory. The column itself charges its
  // writes.
  mem::Medium* medium() const { return tier_->medium(); }

  // Makes room for the bytes of `view` from row `begin_row` on. kInvalidArgument if the bytes do
  // not match the view's type and rows, kResourceExhausted if the tier is full. After an error,
  // room that was already made is kept for the next batch.
  absl::Status Reserve(const ColumnView& view, size_t begin_row);
  // Writes the rows of a view that Reserve accepted into a symbol column. kInvalidArgument if it
  // does not have as many names as rows.
  absl::Status WriteSymbols(const ColumnView& view, size_t begin_row, SymbolTable& symbols);
  // Writes such rows into a column of any other type. With `may_stream`, large parts are written
  // past the caches if the tier streams. If any were, this returns true, and the caller must call
  // mem::DrainStreaming before it publishes the rows.
  bool Write(const ColumnView& view, size_t begin_row, bool may_stream);

  // Returns the first `rows` elements of an existing chunk.
  std::span<const std::byte> Elements(size_t chunk, size_t rows) const {
    return {Chunk(chunk), rows * width_};
  }
  // Returns the element of a written row.
  const std::byte* Element(size_t row) const { return Place(row); }
  std::span<const std::byte> Item(size_t row) const;

  // Returns the bytes allocated from the tier, as rounded by the tier. Any thread may call it.
  // Readers infer nothing else from the count, so relaxed order is enough.
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  // ---- In an aged tier. For one thread at a time, which may be another one than the writer. The
  // rows of the chunk must all be published.

  // Returns the bytes of a chunk that is in the recent tier, as allocated; 0 if it has moved, was
  // allocated in the older tier, or if the column's tier is not aged. `recent`: counts only if that
  // is the recent tier; nullptr: any.
  size_t RecentBytes(size_t chunk, const mem::Tier* recent = nullptr) const;
  // Copies such a chunk into the older tier. kResourceExhausted if that has no room for it, or less
  // than 1/32 of its capacity would be left for new rows. Cost: reads and
  // writes the chunk once; waits for the older tier's file if that is on a disk.
  absl::StatusOr<std::byte*> CopyToOlder(size_t chunk) const;
  // Puts the copy into the chunk's place, and returns the replaced memory. Readers may still use
  // it: the caller frees it later.
  ReplacedMemory::Piece Replace(size_t chunk, std::byte* copy);
  // Frees a copy that does not take its chunk's place.
  void DropCopy(size_t chunk, std::byte* copy) const;
  // Returns the bytes in the older tier, as rounded by that. Any thread.
  // Load it before bytes(), which is not smaller then: the acquire pairs with a release in Take,
  // after bytes_ has grown.
  size_t older_bytes() const { return older_bytes_.load(std::memory_order_acquire); }

  // ---- In a persistent tier. For the writer only.

  // Adds written rows [begin_row, end_row) to the checksums. Each call begins where the last one
  // ended. Cost: reads the rows once.
  void Sum(size_t begin_row, size_t end_row);
  // Flushes rows [begin_row, end_row), which Sum must have covered. They become durable with the
  // tier's next commit.
  void Flush(size_t begin_row, size_t end_row);
  // Appends the column's state to a root, from which Load restores it.
  void Save(ByteBuffer& record) const;
  // Restores the first `rows` rows of the saved column into a column without rows. kDataLoss if the
  // tier does not have them. The values must not be used before Verify has returned OK for each of
  // the layout's chunks of `rows` rows.
  absl::Status Load(RecordReader& record, size_t rows);
  // Compares a chunk that Load restored with its checksum. `rows` is the argument of Load.
  // kDataLoss, with file, offset and rows, if they disagree, or if a value's place is outside of
  // the column's blocks. Cost: reads the chunk once. Threads: any, also several at once.
  absl::Status Verify(size_t chunk, size_t rows) const;

 private:
  struct ItemRef {
    uint32_t block;
    uint32_t offset;
    uint32_t size;
    uint32_t reserved;
  };
  struct ArenaBlock {
    std::byte* memory;
    size_t bytes;
  };

  // CRC32Cs of consecutive rows.
  struct Sums {
    uint32_t elements = 0;
    uint32_t items = 0;  // Covers the values of a list column, in the order of their rows.
  };
  // The places of chunks and blocks, and their checksums, from which the next process restores the
  // column.
  struct Durable {
    explicit Durable(mem::PersistentTier* of) : tier(of), chunks(of), blocks(of), sums(of) {}
    mem::PersistentTier* const tier;
    DurableList chunks;  // Offsets.
    DurableList blocks;  // See BlockWord.
    DurableList sums;    // One word per chunk whose rows were all written; see SumsWord.
    Sums last;           // Checksums of the written rows of the next chunk.
  };

  // The acquire load pairs with the release store of Replace: who sees the copy's address sees its
  // bytes. The address that the writer stores is published with the table's row count.
  std::byte* Chunk(size_t chunk) const { return chunks_[chunk].load(std::memory_order_acquire); }
  size_t ChunkBytes(size_t chunk) const { return layout_.Rows(chunk) * width_; }
  ItemRef RefOf(size_t row) const;
  absl::Status AddBlock(size_t bytes);
  absl::Status LoadBlocks(size_t rows);
  void FlushItems(size_t begin_row, size_t end_row);
  absl::Status CheckRefs(size_t begin_row, size_t end_row) const;
  template <typename Visit>
  void EachItemRun(size_t begin_row, size_t end_row, Visit visit) const;
  std::byte* Place(size_t row) const {
    const size_t chunk = layout_.NumberOf(row);
    return Chunk(chunk) + (row - layout_.BeginRow(chunk)) * width_;
  }
  absl::Status ReserveChunks(size_t rows);
  absl::Status ReserveItems(const ColumnView& view);
  // Allocates memory. If the column is durable, adds the memory's place to `list`.
  absl::StatusOr<std::byte*> Take(size_t bytes, DurableList Durable::* list);
  template <typename WritePart>
  void WriteParts(size_t begin_row, size_t rows, WritePart write_part);
  void WriteItems(const ColumnView& view, size_t begin_row);

  const Type type_;
  const size_t width_;
  const ChunkLayout layout_;
  mem::Tier* const tier_;
  mem::AgedTier* const aged_;            // `tier_` if its old rows move; else nullptr.
  std::atomic<size_t> bytes_ = 0;        // Only the writer stores.
  std::atomic<size_t> older_bytes_ = 0;  // Of `bytes_`, those in the older tier.

  std::unique_ptr<Durable> durable_;  // nullptr: the tier does not outlive the process.

  StableArray<std::atomic<std::byte*>> chunks_;
  size_t chunk_count_ = 0;

  // For list columns. Values are written to block `block_` from `block_used_` on; later blocks are
  // reserved.
  StableArray<ArenaBlock> blocks_;
  size_t block_count_ = 0;
  size_t block_ = 0;
  size_t block_used_ = 0;
};

}  // namespace tickstack
