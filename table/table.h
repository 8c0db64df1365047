#pragma once

// A table of today: append-only columns in chunks, a per-symbol index, one writer, and any number
// of readers without a lock between them. A keyed table applies its batches as upserts, and
// replaces blocks of rows (keyed_table.h). The following applies to tables without a key.
//
// All columns of a table have the same ChunkLayout, so a row has the same place in all of them. A
// column that grows never moves or copies itself. The writer fills bytes beyond the published row
// count, then publishes the new count with one release-store. A reader loads the count once
// (acquire) and sees exactly the rows below it. Only old chunks move, if the placement says so, to
// another tier: MoveToOlder.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "base/worker_pool.h"
#include "mem/persistent_tier.h"
#include "mem/tier.h"
#include "table/batch.h"
#include "table/chunk_layout.h"
#include "table/chunk_times.h"
#include "table/record.h"
#include "table/schema.h"
#include "table/symbol_index.h"
#include "table/symbols.h"
#include "table/versioned_blocks.h"

namespace tickstack {

class JoinedSnapshots;
class Table;

// The rows of a table that a query reads: its first `rows()` rows or, for a keyed table, all rows
// after some batch. Cheap to copy; any thread. A snapshot of a keyed table keeps the blocks that
// were replaced since it was taken.
//
// A snapshot may also join several tables in succession as if they were one: until an ended day is
// handed over, an rdb shows its rows followed by those of the next day:
//
//   Snapshot::Join({frozen->TakeSnapshot(), table->TakeSnapshot()})
class Snapshot {
 public:
  // `lease` keeps memory that the rows may be read from.
  Snapshot(std::shared_ptr<const Table> table, size_t rows,
           std::shared_ptr<const void> lease = nullptr)
      : table_(std::move(table)), rows_(rows), lease_(std::move(lease)) {}
  // A snapshot of a keyed table.
  Snapshot(std::shared_ptr<const Table> table, std::shared_ptr<const BlockView> view)
      : table_(std::move(table)), rows_(view->rows()), view_(std::move(view)) {}
  // Returns the rows of `parts` in order. There must be at least one; all have the same columns and
  // key, the same names (Table::symbols), and either all or none have an index. Row numbers run
  // through all parts. No key may be in two parts; that is not checked. Cost: some ns per chunk;
  // nothing if only one part has rows. RowsOf copies a symbol's row numbers for all parts but the
  // first, and does not know whether its times ascend. Therefore use it for the minutes of a
  // hand-over only.
  static Snapshot Join(std::vector<Snapshot> parts);
  // Returns the table. For joined tables, returns the first one that has rows, which has the
  // properties that all share.
  const Table& table() const { return *table_; }
  const Schema& schema() const;
  size_t rows() const { return rows_; }
  const ChunkLayout& layout() const;  // The same for every column.

  // Returns the elements of a fixed-width or symbol column in one chunk, up to rows(). A symbol
  // column has SymbolId (int32), everything else its kdb+ width.
  std::span<const std::byte> ChunkBytes(size_t column, size_t chunk) const;
  template <typename T>
  std::span<const T> Chunk(size_t column, size_t chunk) const {
    const std::span<const std::byte> raw = ChunkBytes(column, chunk);
    return {reinterpret_cast<const T*>(raw.data()), raw.size() / sizeof(T)};
  }
  size_t chunks() const { return layout().Chunks(rows_); }
  // Returns the bounds of the times in a chunk, if `column` is the column `time` and has timestamps
  // or timespans; otherwise nullopt.
  std::optional<TimeBounds> TimesOf(size_t column, size_t chunk) const;
  // Returns the medium that readers charge for a column's chunks (mem/medium.h); nullptr for real
  // memory. For joined tables, whose columns are in the same tiers, returns the medium of the first
  // one.
  mem::Medium* MediumOf(size_t column) const;
  // Returns one encoded value (type byte first) of a kList column.
  std::span<const std::byte> Item(size_t column, size_t row) const;

  // Returns the rows below rows() with `symbol` in the indexed column, with their times if the
  // table has a column `time` of timestamps or timespans. nullopt if the table has no index.
  std::optional<Postings> RowsOf(SymbolId symbol) const;
  // Returns the first and the last of the rows that RowsOf returns. Cost: one cache line, while
  // RowsOf reads one for each block.
  std::optional<PostingEnds> EndsOf(SymbolId symbol) const;

 private:
  const SymbolIndex* Index() const;  // nullptr if there is none.

  std::shared_ptr<const Table> table_;
  size_t rows_;
  std::shared_ptr<const BlockView> view_;          // nullptr if the table has no key.
  std::shared_ptr<const JoinedSnapshots> joined_;  // nullptr if it is one table.
  // Keeps chunks whose copies took their place since the snapshot was taken (replaced_memory.h);
  // nullptr if the table's rows do not move.
  std::shared_ptr<const void> lease_;
};

// The tiers of a table's parts. Each tier must outlive the table.
struct TablePlacement {
  mem::Tier* columns = nullptr;    // Tier of the columns without an entry in `column`.
  std::vector<mem::Tier*> column;  // One per column, or nullptr; may be empty.
  mem::Tier* index = nullptr;      // nullptr: the index is in `columns`.

  mem::Tier* OfColumn(size_t i) const {
    return i < column.size() && column[i] != nullptr ? column[i] : columns;
  }
  mem::Tier* OfIndex() const { return index == nullptr ? columns : index; }
};

// Returns the column by which a table of this schema is indexed if TableOptions::index is set, or
// -1. It is the symbol column `sym`. In a keyed table, it must be one of several key columns:
// values of other columns change, and with a single key column each symbol has only one row.
int IndexedColumn(const Schema& schema);
// True if a table of this schema has an index: by that column, or of its keys.
bool HasIndex(const Schema& schema);

struct TableOptions {
  // Rows of a full chunk (ChunkLayout), a power of two. The default is 2 MiB for 8-byte columns;
  // small tiers have fewer (FittingRowsPerChunk).
  size_t rows_per_chunk = size_t{1} << 18;
  bool index = true;  // Index on IndexedColumn().
  // Rows of a block of a keyed table, a power of two from 64 to 1,024. Larger blocks are faster to
  // scan; in smaller ones, upserting a single row costs less.
  size_t rows_per_block = 512;
  // Maximum number of rows: row numbers have 32 bits.
  size_t rows_max = size_t{UINT32_MAX} - 1;
};

// The tier of a column, and its capacity.
struct ColumnTier {
  const void* tier;
  size_t capacity_bytes;
};

// Returns the rows of a full chunk of a table whose columns are in these tiers. It is a power of
// two and at least 1,024. Unless it is 1,024, one full chunk for each column of a tier takes at
// most 1/32 of the tier's capacity together. So in a small tier, little is wasted by partly empty
// chunks, and little is left when no further chunks fit. Tiers of at least 32 full chunks (400 MB
// for the default quotes) have chunks of `rows_per_chunk`.
size_t FittingRowsPerChunk(const Schema& schema, std::span<const ColumnTier> tiers,
                           size_t rows_per_chunk = TableOptions().rows_per_chunk);

class Table : public std::enable_shared_from_this<Table> {
 public:
  // kInvalidArgument: there are no columns; rows_per_chunk or rows_per_block is not a power of two
  // in its range; a part of the table is in a persistent tier and another is not; any part of a
  // keyed table is in one; or CheckKeyedSchema refuses the schema.
  static absl::StatusOr<std::shared_ptr<Table>> Create(Schema schema, SymbolTable* symbols,
                                                       const TablePlacement& placement,
                                                       const TableOptions& options = {});
  ~Table();

  // Appends a batch that CheckBatch accepts, or upserts it into a keyed table, and publishes it:
  // all of its rows become visible at once. kInvalidArgument as in CheckBatch, or if a column's
  // bytes do not match its type and rows; kResourceExhausted if a tier or the table is full. After
  // an error, no row of the batch becomes visible, and the table remains usable, but new names may
  // have been interned. Writer thread only. Cost: one pass over each column's bytes; an intern per
  // symbol; two accesses to a symbol's index header per row.
  absl::Status Append(const BatchView& batch);

  Snapshot TakeSnapshot() const;  // Any thread.
  size_t rows() const;            // Published rows. Any thread.
  const Schema& schema() const;
  const SymbolTable& symbols() const;
  int indexed_column() const;  // -1 if there is none.
  bool has_index() const;      // True if the table has an index: by a column, or of its keys.
  // Each returns bytes allocated from tiers, as these round them. Any thread.
  size_t bytes() const;  // Sum for all columns and the index.
  size_t column_bytes(size_t column) const;
  size_t index_bytes() const;  // 0 without an index.
  // Returns those of a column's bytes that are in the older tier of its aged tier.
  size_t older_bytes(size_t column) const;

  // ---- In an aged tier (mem/aged_tier.h): full chunks move to the older tier, while others append
  // and read. The rows, their order and their numbers stay the same. Any thread, one at a time.

  struct AgedChunk {
    size_t chunk;
    size_t rows;
    size_t recent_bytes;               // What a move frees in recent tiers.
    std::optional<int64_t> newest_ns;  // Newest `time` in it, if that is a timestamp.
  };
  // Returns the oldest full chunk that has bytes in `recent`, or in any recent tier if that is
  // nullptr, from chunk `begin` on; nullopt if there is none. Cost: one look per chunk and column.
  std::optional<AgedChunk> FindRecent(size_t begin, const mem::Tier* recent = nullptr) const;
  // Returns the number of full chunks.
  size_t full_chunks() const;
  // Moves a chunk that FindRecent returned, in all columns. Returns the bytes that become free in
  // recent tiers, once no snapshot is held that was taken before. kResourceExhausted if the older
  // tier has no room (Column::CopyToOlder); nothing has changed then. Cost: copies the chunk.
  absl::StatusOr<size_t> MoveToOlder(size_t chunk) const;
  // Returns the bytes of a recent tier that moved and wait for snapshots that were taken before.
  // Any thread.
  size_t WaitingBytes(const mem::Tier* recent) const;

  // ---- In a persistent tier; durable_tables.h has the overview. Writer thread only.

  // True if the whole table is in one persistent tier.
  bool durable() const;
  // Flushes the rows since the last Save, and appends the table's state to a root, from which Load
  // restores it. Also makes a checkpoint of the index if one is due or `whole_index` is set.
  void Save(ByteBuffer& root, bool whole_index);
  // Drops the rows that another process added after the last Save (PersistentTier::Reclaim).
  void DropAdditions();
  // Restores the table that Save recorded, and compares all of it with its checksums. kDataLoss,
  // with file, offset, column and rows, if the tier lacks a part or a part is damaged. The workers
  // help to compare the checksums.
  static absl::StatusOr<std::shared_ptr<Table>> Load(RecordReader& root, SymbolTable* symbols,
                                                     mem::PersistentTier* tier,
                                                     const TableOptions& options,
                                                     WorkerPool& workers);

 private:
  friend class Snapshot;
  struct Impl;
  explicit Table(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tickstack
