#pragma once

// The tables of a process in one persistent tier: every batch is made durable, and the next process
// has them again without reading a log.
//
// A commit makes these durable together, each row and name written once:
//
//   names     those that came since the last commit, behind the others (durable_symbols.h)
//   columns   the bytes of the new rows; where new chunks are (column.h, durable_list.h)
//   index     where new blocks are; every 131,072 rows (1,048,576 where a flush is an msync) the
//             postings since, and each symbol's count (symbol_index_save.cc)
//   root      per table its schema, row count and where all of that is; the caller's mark
//
// The root is what counts: what lies behind the counts in it was never committed and is written
// over. So a commit's cost is the new rows' bytes and some 20 flushes. Loading maps the rows, reads
// the index and the symbol column once (12 bytes a row), since what they hold leads to memory, and
// puts the rows since the last checkpoint into the index again from their columns.
//
// The mark says which rows these are: the position in the log. It is in the root with the counts,
// so the two always belong together.
//
// Threads: one owner, the writer of the tables.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "mem/persistent_tier.h"
#include "table/durable_symbols.h"
#include "table/symbols.h"
#include "table/table.h"

namespace tickstack {

class DurableTables {
 public:
  // The tier outlives this and every table.
  explicit DurableTables(mem::PersistentTier* tier);

  struct Found {
    std::vector<std::shared_ptr<Table>> tables;
    std::vector<std::byte> mark;
  };
  // What the tier holds: nothing if it is new. `symbols` has no names yet. kDataLoss, saying what
  // is wrong, if it is not what was committed: then the tier was emptied.
  absl::StatusOr<Found> Load(SymbolTable& symbols, const TableOptions& options);

  enum class Index {
    kWhenDue,  // As above.
    kWhole,    // Nothing is left to put into the index again: before the process ends.
  };
  // Makes these tables, all created in the tier, durable as they are now. A table that was
  // committed before and is not among them is gone. kResourceExhausted: the tier is full, the last
  // commit stands, and what was appended since will be durable with the next one that succeeds.
  // kInternal: the device refused, and there will be no further commit.
  absl::Status Commit(const SymbolTable& symbols, std::span<Table* const> tables,
                      std::span<const std::byte> mark, Index index = Index::kWhenDue);

  mem::PersistentTier& tier() const { return *tier_; }

 private:
  absl::StatusOr<Found> LoadRoot(SymbolTable& symbols, const TableOptions& options);

  mem::PersistentTier* const tier_;
  std::optional<DurableSymbols> symbols_;
  ByteBuffer root_;
};

}  // namespace tickstack
