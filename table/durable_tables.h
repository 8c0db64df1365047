#pragma once

// Keeps the tables of a process in one persistent tier. Commit makes new rows durable, and a later
// process restores the tables without replaying the log.
//
// A commit makes these parts durable together. Each row and name is written once:
//
//   names     names that were interned since the last commit (durable_symbols.h)
//   columns   bytes of the new rows, the locations of new chunks, and the checksums of chunks that
//             are full now (column.h, durable_list.h)
//   index     locations of new blocks. At a checkpoint also the postings since the last checkpoint
//             and each symbol's count (symbol_index_save.cc). Checkpoints are 131,072 rows apart,
//             or 1,048,576 if a flush is an msync
//   root      schema, row count, locations and checksums of each table; the caller's mark
//
// Only the root makes the other parts valid: data after the counts in the root was never committed,
// and is overwritten. So a commit writes the bytes of the new rows and takes about 20 flushes.
//
// Every committed byte is covered by a CRC32C, so that a bit that the medium changed is never part
// of an answer. Appending rows continues their chunk's checksum. The checksum in a root covers the
// committed rows only, because the power may fail when later rows have already reached the medium:
//
//   chunk     | committed rows                  | later rows ... |
//   checksum  |<- in the root until it is full->|
//
// Loading maps the rows, and reads all of them and the index once to compare the checksums, on
// several threads. If any checksum disagrees, no table is restored. Row numbers, names and places
// are checked as well, because they are used as addresses of memory. Rows since the last checkpoint
// are indexed again from their columns.
//
// The mark is the caller's position in the log after the committed rows. It is stored in the root
// together with the row counts, so the two always match.
//
// Threads: one owner, the thread that writes the tables.

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
  // Version of the root's format and of all that it refers to.
  static constexpr uint32_t kFormatVersion = 2;

  // The tier must outlive this object and every table.
  explicit DurableTables(mem::PersistentTier* tier);

  struct Found {
    std::vector<std::shared_ptr<Table>> tables;
    std::vector<std::byte> mark;
  };
  // Returns the tables and the mark of the last commit; both are empty if the tier is new.
  // `symbols` must not have names yet. kDataLoss, with file, offset, table, column and rows, if
  // the content is damaged; the tier is then emptied.
  // Cost: reads all rows and the index once.
  absl::StatusOr<Found> Load(SymbolTable& symbols, const TableOptions& options);

  enum class Index {
    kWhenDue,  // Makes a checkpoint if enough rows were added since the last one.
    kWhole,    // Makes a checkpoint, so that loading indexes no rows again; used at shutdown.
  };
  // Makes the current content of `tables` durable; they must have been created in the tier.
  // Discards previously committed tables that are not in `tables`. kResourceExhausted if the tier
  // is full: the last commit remains valid, and the next successful commit includes the new rows.
  // kInternal if the device failed: all further commits fail.
  absl::Status Commit(const SymbolTable& symbols, std::span<Table* const> tables,
                      std::span<const std::byte> mark, Index index = Index::kWhenDue);

  mem::PersistentTier& tier() const { return *tier_; }

 private:
  absl::StatusOr<Found> LoadRoot(SymbolTable& symbols, const TableOptions& options,
                                 WorkerPool& workers);

  mem::PersistentTier* const tier_;
  std::optional<DurableSymbols> symbols_;
  ByteBuffer root_;
};

}  // namespace tickstack
