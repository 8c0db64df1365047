#pragma once

// The rows of a keyed table. A batch is an upsert, as in kdb+: a row with an existing key replaces
// the values of the row with that key in place, and a row with a new key is appended. If two rows
// of a batch have the same key, the later one counts.
//
//   versioned_blocks.h   the columns, which readers see as one batch left them
//   key_index.h          the row of each key
//   keyed_batch.h        the batch in stored form, with its keys' hashes
//   symbol_index.h       the rows of each symbol, if `sym` is in the key. A key's symbol never
//                        changes, so it works as in a plain table, but without times, which may
//                        change
//
// Cost: some 50 to 100 ns per row in batches, plus, for each changed block, a copy of its columns.
// A single upserted row pays for a whole block (512 rows: 4 KiB per column of 8 bytes).
//
// Threads: one writer. The functions under "Any thread" may be called by any thread.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "mem/tier.h"
#include "table/batch.h"
#include "table/key_index.h"
#include "table/keyed_batch.h"
#include "table/schema.h"
#include "table/symbol_index.h"
#include "table/symbols.h"
#include "table/versioned_blocks.h"

namespace tickstack {

// Returns kInvalidArgument, with table and column, for a keyed table with a column of strings or
// other nested values. It cannot be captured, because the bytes of replaced values could not be
// freed.
absl::Status CheckKeyedSchema(const Schema& schema);

class KeyedTable {
 public:
  // CheckKeyedSchema must accept `schema`. `tiers` has one tier for each column. Schema, symbols
  // and tiers must outlive this object. `rows_per_block` is a power of two from 64 to 1,024.
  KeyedTable(const Schema& schema, SymbolTable* symbols, std::span<mem::Tier* const> tiers,
             mem::Tier* index_tier, int indexed_column, size_t rows_per_block, size_t rows_max);

  // Upserts a batch that CheckBatch accepts, and publishes it atomically. Errors as in
  // Table::Append; after one, the rows are unchanged.
  absl::Status Upsert(const BatchView& batch);
  size_t rows() const { return rows_; }

  // ---- Any thread.

  std::shared_ptr<const BlockView> Pin(std::shared_ptr<const void> owner) const {
    return blocks_.Pin(std::move(owner));
  }
  const ChunkLayout& layout() const { return blocks_.layout(); }
  const SymbolIndex* symbol_index() const { return symbol_index_ ? &*symbol_index_ : nullptr; }
  size_t column_bytes(size_t column) const { return blocks_.bytes(column); }
  mem::Medium* medium(size_t column) const { return blocks_.medium(column); }
  size_t index_bytes() const {
    return keys_.bytes() + (symbol_index_ ? symbol_index_->bytes() : 0);
  }

 private:
  uint32_t NewRowOf(size_t row);
  bool HasKey(uint32_t row, size_t batch_row) const;
  void FindRows();
  absl::Status Reserve();
  void Write();
  template <typename T>
  void Replace(size_t column, std::span<const uint32_t> targets);
  void ReplaceColumn(size_t column);
  void AppendKeys(size_t column);

  const Schema& schema_;
  const int indexed_column_;
  const size_t rows_max_;
  VersionedBlocks blocks_;
  KeyIndex keys_;
  std::optional<SymbolIndex> symbol_index_;
  size_t rows_ = 0;  // Published rows.

  // The batch in progress.
  KeyedBatch batch_;
  std::vector<uint32_t> targets_;        // For each row of the batch: its row in the table.
  std::vector<uint32_t> fresh_;          // Rows of the batch that are the first with a new key.
  std::vector<uint64_t> fresh_hashes_;   // Hashes of fresh_.
  std::vector<SymbolId> fresh_symbols_;  // Symbols of fresh_ in the indexed column.
  // A hash table by key: an index into `fresh_` plus one, or 0 if empty.
  std::vector<uint32_t> fresh_slots_;
  std::vector<uint32_t> changed_blocks_;  // Blocks with published rows among `targets_`.
  std::vector<uint32_t> block_change_;    // For each block: the last batch that changed it.
  uint32_t batch_number_ = 0;
};

}  // namespace tickstack
