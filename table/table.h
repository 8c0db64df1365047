#pragma once

// A table of today: append-only columns in chunks, a per-symbol index, one writer and any number of
// readers without a lock between them. A table with a key takes its batches as upserts, and its
// rows are in blocks that are replaced: keyed_table.h. What follows is about tables without.
//
// Every column of a table has the same ChunkLayout, so a row is in the same place of the same chunk
// in all of them. A column never moves, doubles or copies itself.
// The writer fills bytes past the published row count, then publishes the new count with one
// release-store; a reader loads the count once (acquire) and sees exactly the rows below it.

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

// What a query sees of a table: its first `rows()` rows, of a keyed table as one batch left them.
// Cheap to copy; any thread. As long as one of a keyed table lives, so do the blocks that were
// replaced since.
//
// A snapshot may also be several tables', one behind the other as if they were one: an rdb shows a
// day that has ended and is not handed over yet, and behind it the rows of the next:
//
//   Snapshot::Join({frozen->TakeSnapshot(), table->TakeSnapshot()})
class Snapshot {
 public:
  Snapshot(std::shared_ptr<const Table> table, size_t rows)
      : table_(std::move(table)), rows_(rows) {}
  // A snapshot of a keyed table.
  Snapshot(std::shared_ptr<const Table> table, std::shared_ptr<const BlockView> view)
      : table_(std::move(table)), rows_(view->rows()), view_(std::move(view)) {}
  // The rows of each of `parts` in order, of which there is one at least; all have the same columns
  // and key, the same names (Table::symbols) and the same index or none. Row numbers run through
  // all of them. No key may be in two parts: nothing looks for it. Cost: some ns a chunk; nothing
  // where only one part has rows. A symbol's rows in all parts but the first are copied when they
  // are asked for, and its times are known in no order: for the minutes of a hand-over, not for
  // good.
  static Snapshot Join(std::vector<Snapshot> parts);
  // Of several tables: the first one's with rows, for what they have in common.
  const Table& table() const { return *table_; }
  const Schema& schema() const;
  size_t rows() const { return rows_; }
  const ChunkLayout& layout() const;  // The same for every column.

  // The elements of a fixed-width or symbol column in one chunk, cut at rows(). A symbol column
  // holds SymbolId (int32), everything else its kdb+ width.
  std::span<const std::byte> ChunkBytes(size_t column, size_t chunk) const;
  template <typename T>
  std::span<const T> Chunk(size_t column, size_t chunk) const {
    const std::span<const std::byte> raw = ChunkBytes(column, chunk);
    return {reinterpret_cast<const T*>(raw.data()), raw.size() / sizeof(T)};
  }
  size_t chunks() const { return layout().Chunks(rows_); }
  // Returns the bounds of the times in a chunk of the column `time`, if that has timestamps or
  // timespans; nullopt for other columns.
  std::optional<TimeBounds> TimesOf(size_t column, size_t chunk) const;
  // Returns the medium that readers charge for a column's chunks (mem/medium.h); nullptr for real
  // memory. For several joined tables, which are placed alike, that of the first one.
  mem::Medium* MediumOf(size_t column) const;
  // One encoded value (type byte first) of a kList column.
  std::span<const std::byte> Item(size_t column, size_t row) const;

  // The rows below rows() that hold `symbol` in the indexed column; with their times if the table
  // has a column `time` of timestamps or timespans. nullopt: the table has no index.
  std::optional<Postings> RowsOf(SymbolId symbol) const;
  // The first and the last of them. Cost: a cache line, against one for each block of RowsOf.
  std::optional<PostingEnds> EndsOf(SymbolId symbol) const;

 private:
  const SymbolIndex* Index() const;  // nullptr: there is none.

  std::shared_ptr<const Table> table_;
  size_t rows_;
  std::shared_ptr<const BlockView> view_;          // nullptr: the table has no key.
  std::shared_ptr<const JoinedSnapshots> joined_;  // nullptr: of one table.
};

// Where the parts of a table live. Each pointer outlives the table.
struct TablePlacement {
  mem::Tier* columns = nullptr;    // For every column that `column` does not name.
  std::vector<mem::Tier*> column;  // One per column, or nullptr; may be empty.
  mem::Tier* index = nullptr;      // nullptr: as `columns`.

  mem::Tier* OfColumn(size_t i) const {
    return i < column.size() && column[i] != nullptr ? column[i] : columns;
  }
  mem::Tier* OfIndex() const { return index == nullptr ? columns : index; }
};

// The column that a table of this schema is indexed by, unless its options say otherwise: symbol
// column `sym`; in a keyed table one of several columns of the key, for others change and a single
// one has a row a symbol. -1: it has none.
int IndexedColumn(const Schema& schema);
// Whether it has an index at all: by that column, or of its keys.
bool HasIndex(const Schema& schema);

struct TableOptions {
  // Rows of a full chunk (ChunkLayout), a power of two. The default is 2 MiB for 8-byte columns;
  // small tiers have fewer (FittingRowsPerChunk).
  size_t rows_per_chunk = size_t{1} << 18;
  bool index = true;  // Index on IndexedColumn().
  // Rows of a block of a keyed table, a power of two from 64 to 1,024. Larger blocks are faster to
  // scan; in smaller ones, upserting a single row costs less.
  size_t rows_per_block = 512;
  // A table takes this many rows and no more: row numbers are 32 bits.
  size_t rows_max = size_t{UINT32_MAX} - 1;
};

// Which tier a column is in, and how large that is.
struct ColumnTier {
  const void* tier;
  size_t capacity_bytes;
};

// Rows of a full chunk of a table whose columns are in these tiers. Chunks of a small tier are
// small, so that the last ones, which are partly empty, and one that is refused are a small part of
// it: a full chunk of all columns that are in a tier is at most 1/32 of its capacity. Tiers from 32
// full chunks on (400 MB for the default quotes) have chunks of `rows_per_chunk`.
size_t FittingRowsPerChunk(const Schema& schema, std::span<const ColumnTier> tiers,
                           size_t rows_per_chunk = TableOptions().rows_per_chunk);

class Table : public std::enable_shared_from_this<Table> {
 public:
  // kInvalidArgument: no columns, rows_per_chunk or rows_per_block is not a power of two in its
  // range, a part of the table, but not all of it, is in a persistent tier, or any part of one with
  // a key is; CheckKeyedSchema.
  static absl::StatusOr<std::shared_ptr<Table>> Create(Schema schema, SymbolTable* symbols,
                                                       const TablePlacement& placement,
                                                       const TableOptions& options = {});
  ~Table();

  // Appends a batch that CheckBatch accepts, or upserts it into a keyed table, and publishes it:
  // all of its rows become visible at once. kInvalidArgument as CheckBatch, or if a column's bytes
  // are not what its type and rows say; kResourceExhausted if a tier or the table is full. After an
  // error no row of the batch is ever visible and the table goes on; names that were new may have
  // got their numbers. Writer thread only. Cost: one pass over each column's bytes; an intern per
  // symbol; two visits of a symbol's index header per row.
  absl::Status Append(const BatchView& batch);

  Snapshot TakeSnapshot() const;  // Any thread.
  size_t rows() const;            // Published rows. Any thread.
  const Schema& schema() const;
  const SymbolTable& symbols() const;
  int indexed_column() const;  // -1: none.
  bool has_index() const;      // By a column, or of keys.
  // Taken from tiers, rounded as tiers do. Any thread.
  size_t bytes() const;  // The sum of those below.
  size_t column_bytes(size_t column) const;
  size_t index_bytes() const;  // 0 without an index.

  // ---- In a persistent tier: durable_tables.h says how this goes together. Writer thread only.

  // All of it is in one persistent tier.
  bool durable() const;
  // Flushes the rows that came since the last Save, and what their index needs if that is due or
  // `whole_index`; appends to a root what Load wants.
  void Save(ByteBuffer& root, bool whole_index);
  // The table of a record, as it was saved. kDataLoss if the tier does not hold it.
  static absl::StatusOr<std::shared_ptr<Table>> Load(RecordReader& root, SymbolTable* symbols,
                                                     mem::PersistentTier* tier,
                                                     const TableOptions& options);

 private:
  friend class Snapshot;
  struct Impl;
  explicit Table(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tickstack
