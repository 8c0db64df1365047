#pragma once

// Writes one column of a snapshot as kdb+ stores it in a partition (docs/formats.md):
//
//   type                    files            form
//   fixed width             col              fe 20, the true count
//   symbol                  col              fd 20: 64-bit positions in the domain `sym`
//   list (strings, any)     col, col#, col## anymap (anymap_writer.h)
//
// Column `sym` of a table that is in order of its symbols gets `p#` and its index; the time column
// of a table that is in order of time gets `s#`.
//
// Threads: reentrant; other columns may be written concurrently.

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

// Where a process's names are in the domain: positions[id + 1] for SymbolId id, and positions[0]
// for the null symbol.
class SymbolPositions {
 public:
  explicit SymbolPositions(size_t ids) : positions_(ids + 1, kNullLong) {}
  void Set(SymbolId id, int64_t position) { positions_[Slot(id)] = position; }
  int64_t Of(SymbolId id) const { return positions_[Slot(id)]; }

 private:
  static size_t Slot(SymbolId id) { return id == kNullSymbol ? 0 : static_cast<size_t>(id) + 1; }
  std::vector<int64_t> positions_;
};

struct ColumnWriterOptions {
  CompressionOptions compression;
  WorkerPool* workers = nullptr;     // Threads that help to compress; may be nullptr.
  const Storage* storage = nullptr;  // Must not be nullptr.
  // Memory in which a window of the column is put in order (row_gather.h), and its size: at least
  // 64 KiB. The tier must not be nullptr, and must have room for one window.
  mem::Tier* tier = nullptr;
  size_t window_bytes = size_t{64} << 10;
  ChecksumCollector* checksums = nullptr;  // Gets those of the files; may be nullptr.
};

// Writes and syncs the column's files `path`, `path#` ..; does not sync the directory. Every symbol
// of the column must have its position. Returns the bytes of the files. Memory: a window, and that
// of FileImage, twice for lists; the index of `sym` takes some 50 bytes per symbol. kUnimplemented,
// with the row, if a list column has a value that a file cannot hold.
absl::StatusOr<uint64_t> WriteColumn(const Snapshot& snapshot, size_t column, const RowOrder& order,
                                     const SymbolPositions& positions, const std::string& path,
                                     const ColumnWriterOptions& options);

}  // namespace tickstack::disk
