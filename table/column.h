#pragma once

// One column of a table: rows in chunks that a tier hands out, sized as ChunkLayout says.
//
//   chunks    | 0 .. n | n .. 2n | ...        directory: a StableArray, readers take no lock
//   element   fixed width: the kdb+ element; symbol: SymbolId; list: ItemRef into an arena
//
// A list column's values keep the bytes that the wire carried, back to back in arena blocks, and
// each row says where its own are. An item never crosses a block.
//
// In a persistent tier a column keeps the offsets of its chunks and blocks there too, and finds
// them again from a record of 40 bytes and its table's row count; see durable_tables.h.
//
// Threads: one writer. Readers see rows below the row count that their table published.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "mem/tier.h"
#include "table/batch.h"
#include "table/chunk_layout.h"
#include "table/durable_list.h"
#include "table/record.h"
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
  size_t width() const { return width_; }  // Bytes of an element as it is stored here.
  // What reading the column is charged to; nullptr: nothing is. The column charges its writes.
  mem::Medium* medium() const { return tier_->medium(); }

  // Makes room for every byte of `view` from row `begin_row` on. kInvalidArgument if its bytes are
  // not what its type and rows say, kResourceExhausted if the tier is full. What was reserved
  // before an error stays for the next batch.
  absl::Status Reserve(const ColumnView& view, size_t begin_row);
  // Writes the rows of a view that Reserve accepted. A symbol column takes WriteSymbols, which may
  // still fail (kInvalidArgument: not that many names); all others take Write.
  absl::Status WriteSymbols(const ColumnView& view, size_t begin_row, SymbolTable& symbols);
  // With `may_stream` a tier that streams gets large parts past the caches; then this returns true,
  // and the caller calls mem::DrainStreaming before it publishes the rows.
  bool Write(const ColumnView& view, size_t begin_row, bool may_stream);

  // The elements [0, rows) of a chunk that exists.
  std::span<const std::byte> Elements(size_t chunk, size_t rows) const {
    return {chunks_[chunk], rows * width_};
  }
  // The element of a row that was written.
  const std::byte* Element(size_t row) const { return Place(row); }
  std::span<const std::byte> Item(size_t row) const;

  // Taken from the tier, rounded as tiers do. Any thread: a count that says nothing of what else
  // was written, so relaxed is enough.
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  // ---- In a persistent tier. Writer only.

  // Flushes rows [begin_row, end_row); they are durable with the tier's next commit.
  void Flush(size_t begin_row, size_t end_row);
  // Appends the state to a root, for Load.
  void Save(ByteBuffer& record) const;
  // Restores the first `rows` rows of the saved column into a column without rows. kDataLoss if the
  // tier does not have them.
  absl::Status Load(RecordReader& record, size_t rows);

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

  // Where the chunks and blocks are, for the next process.
  struct Durable {
    explicit Durable(mem::PersistentTier* of) : tier(of), chunks(of), blocks(of) {}
    mem::PersistentTier* const tier;
    DurableList chunks;  // Offsets.
    DurableList blocks;  // See BlockWord.
  };

  ItemRef RefOf(size_t row) const;
  absl::Status AddBlock(size_t bytes);
  absl::Status LoadBlocks(size_t rows);
  void FlushItems(size_t begin_row, size_t end_row);
  std::byte* Place(size_t row) const {
    const size_t chunk = layout_.NumberOf(row);
    return chunks_[chunk] + (row - layout_.BeginRow(chunk)) * width_;
  }
  absl::Status ReserveChunks(size_t rows);
  absl::Status ReserveItems(const ColumnView& view);
  // Memory whose place is noted in `list` if the column is durable.
  absl::StatusOr<std::byte*> Take(size_t bytes, DurableList Durable::* list);
  template <typename WritePart>
  void WriteParts(size_t begin_row, size_t rows, WritePart write_part);
  void WriteItems(const ColumnView& view, size_t begin_row);

  const Type type_;
  const size_t width_;
  const ChunkLayout layout_;
  mem::Tier* const tier_;
  std::atomic<size_t> bytes_ = 0;  // Only the writer stores.

  std::unique_ptr<Durable> durable_;  // nullptr: the tier does not outlive the process.

  StableArray<std::byte*> chunks_;
  size_t chunk_count_ = 0;

  // List columns. Items go to block `block_`, from `block_used_` on; blocks behind it are reserved.
  StableArray<ArenaBlock> blocks_;
  size_t block_count_ = 0;
  size_t block_ = 0;
  size_t block_used_ = 0;
};

}  // namespace tickstack
