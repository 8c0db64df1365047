#pragma once

// Writes one column of a snapshot as kdb+ stores it in a partition (docs/formats.md):
//
//   type                    files            form
//   fixed width             col              fe 20, the true count
//   symbol                  col              fd 20: 64-bit positions in the domain `sym`
//   list (strings, any)     col, col#, col## anymap (anymap_writer.h)
//
// If a table is in order of its symbols, its column `sym` has the attribute `p#` and an index. If
// it is in order of time, its time column has the attribute `s#`.
//
// Threads: reentrant; other columns may be written concurrently.

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/worker_pool.h"
#include "disk/checksum_file.h"
#include "disk/compression.h"
#include "disk/row_order.h"
#include "disk/storage.h"
#include "mem/tier.h"
#include "table/table.h"

namespace tickstack::disk {

// Maps the symbols of a process to their positions in the domain.
class SymbolPositions {
 public:
  explicit SymbolPositions(size_t ids) : positions_(ids + 1, kNullLong) {}
  void Set(SymbolId id, int64_t position) { positions_[Slot(id)] = position; }
  int64_t Of(SymbolId id) const { return positions_[Slot(id)]; }

 private:
  static size_t Slot(SymbolId id) { return id == kNullSymbol ? 0 : static_cast<size_t>(id) + 1; }
  std::vector<int64_t> positions_;  // Index: SymbolId + 1; 0 for the null symbol.
};

struct ColumnWriterOptions {
  CompressionOptions compression;
  WorkerPool* workers = nullptr;     // Threads that help to compress; may be nullptr.
  const Storage* storage = nullptr;  // Must not be nullptr.
  // Memory for one window, in which a part of the column is put in order (row_gather.h). Must not
  // be nullptr.
  mem::Tier* tier = nullptr;
  size_t window_bytes = size_t{64} << 10;  // Size of a window; at least 64 KiB.
  // Receives the checksums of the files; may be nullptr.
  ChecksumCollector* checksums = nullptr;
  // Counts the stand-ins for values that have no form on the disk (anymap_writer.h); may be
  // nullptr.
  std::atomic<uint64_t>* stand_ins = nullptr;
};

// Writes and syncs the column's files: `path`, for lists also `path#` and `path##`. Does not sync
// the directory. Each symbol of the column must have a position. Returns the total size of the
// files. Errors: kDataLoss, with the row, if a list column has bytes that are no value.
//
// Memory: a window, a FileImage (two for lists), and some 50 bytes per symbol for the index.
absl::StatusOr<uint64_t> WriteColumn(const Snapshot& snapshot, size_t column, const RowOrder& order,
                                     const SymbolPositions& positions, const std::string& path,
                                     const ColumnWriterOptions& options);

}  // namespace tickstack::disk
