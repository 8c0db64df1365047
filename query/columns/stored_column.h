#pragma once

// A column of a stored table over the parts that a query reads. Each part is a chunk. Its elements
// are in a mapped file, or are computed block by block:
//
//   symbols            the file has positions in a domain of the database, 8 bytes per row; each
//                      read converts them to numbers in the symbol table that all domains share
//   partition column   the same value for every row of a part
//   missing column     a null for every row of a part that does not have the column

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "disk/parted_index.h"
#include "disk/pinned_bytes.h"
#include "query/columns/budget.h"
#include "query/columns/rows.h"
#include "query/columns/stored_table.h"
#include "table/symbols.h"

namespace tickstack::query {

// Immutable; any thread. The elements have the C++ types of AnyColumn::Chunk: SymbolId for symbols.
class StoredColumn {
 public:
  // Opens the column in every part, several parts at a time. Compressed files are decompressed, and
  // the result is held as long as this object exists. Cost: some system calls per part. Errors:
  // those of the first file that is damaged or has another type; `limit` if the process has no
  // mappings left, or no memory for decompressed files.
  static absl::StatusOr<std::shared_ptr<const StoredColumn>> Open(
      std::shared_ptr<const StoredParts> parts, size_t column, const Budget& budget);

  const StoredParts& parts() const { return *parts_; }
  size_t index() const { return index_; }
  Type type() const { return parts_->table().schema().columns[index_].type; }
  size_t rows() const { return parts_->rows(); }
  ChunkLayout layout() const { return parts_->layout(); }
  const SymbolTable& symbols() const { return parts_->table().symbols(); }

  // True if the elements of every part are in memory.
  bool direct() const { return direct_; }
  // The elements of a part of a direct column. They may be unverified: the reader calls Verify for
  // the rows that it reads.
  std::span<const std::byte> Elements(size_t part) const { return columns_[part].elements; }
  // Compares the elements of rows [row, end_row) of a direct column with the checksums of their
  // files, unless that was done before or a file has no checksums. (Read, ReadAt and At verify what
  // they read.) Errors: kDataLoss names file, block and rows. Cost: see disk::VerifiedBlocks.
  absl::Status Verify(size_t row, size_t end_row) const {
    return has_checksums_ ? VerifyRange(row, end_row) : absl::OkStatus();
  }
  // Says that Verify will be called for these rows, in this order: archived columns are then
  // fetched ahead. Cost: none if no part is archived.
  void WillRead(size_t row, size_t end_row) const {
    if (has_archived_) WillReadRange(row, end_row);
  }
  // Like Verify, for row numbers that ascend. Cost: examines a few rows of each block.
  absl::Status VerifyAscending(std::span<const uint32_t> rows) const {
    return has_checksums_ ? VerifyAscendingRows(rows) : absl::OkStatus();
  }
  // Like Verify, for row numbers in any order, of which some may be kNoItem. Cost: examines each.
  absl::Status VerifyAt(std::span<const uint32_t> rows) const {
    return has_checksums_ ? VerifyRows(rows) : absl::OkStatus();
  }

  // Writes the elements of rows [row, row + n) to `out`. The column has symbols or a fixed width.
  // Errors: kDataLoss for damage, such as a symbol's position that its domain lacks.
  absl::Status Read(size_t row, size_t n, void* out) const;
  // Like Read, for row numbers in any order.
  absl::Status ReadAt(std::span<const uint32_t> rows, void* out) const;
  absl::StatusOr<Value> At(size_t row) const;

  // True if the column has the attribute `p` (parted), with its index, in all parts. The rows of a
  // symbol are then at most one range per part.
  bool indexed() const { return indexed_; }
  // Appends the ascending ranges of the symbol's rows to `ranges`. Only for an indexed column.
  // Errors: kDataLoss if an index does not match its rows, or if the rows of the symbol may be
  // among damaged ones: the part's domain lacks the symbol, and the part has rows whose positions
  // the domain lacks.
  absl::Status RangesOf(SymbolId id, std::vector<disk::RowRange>& ranges) const;
  // The index of a part of an indexed column. It counts rows from the part's first row.
  const disk::PartedIndex& IndexOf(size_t part) const { return *columns_[part].index; }
  // The ranges of a part's elements that are known to ascend, for a direct column.
  disk::AscendingRanges& AscendingIn(size_t part) const {
    return columns_[part].opened.file->ascending();
  }
  // Checks that the symbols of all rows of an indexed column are known: kDataLoss if rows have
  // positions that their domain lacks.
  absl::Status CheckNames() const;
  // Calls f for each symbol of each part with the range of its rows. Skips ranges whose position
  // the domain lacks. Errors: kDataLoss if a skipped range has one of `rows`, or if an index does
  // not match its rows.
  absl::Status ForEachRange(const RowSet& rows,
                            absl::FunctionRef<void(SymbolId, disk::RowRange)> f) const;

 private:
  struct PartColumn {
    StoredColumnPart opened;
    std::vector<disk::PinnedBytes> held;       // Keeps the file's bytes in memory.
    std::span<const std::byte> elements;       // Empty for symbols, and if there is no file.
    const disk::PartedIndex* index = nullptr;  // nullptr if there is none.
    std::vector<std::byte> constant;           // The element of every row if there is no file.
  };

  StoredColumn(std::shared_ptr<const StoredParts> parts, size_t index)
      : parts_(std::move(parts)), index_(index), columns_(parts_->parts().size()) {}
  absl::Status OpenIn(size_t part);
  absl::Status CheckNamesIn(size_t part) const;
  absl::Status VerifyRange(size_t row, size_t end_row) const;
  void WillReadRange(size_t row, size_t end_row) const;
  absl::Status VerifyAscendingRows(std::span<const uint32_t> rows) const;
  absl::Status VerifyRows(std::span<const uint32_t> rows) const;
  absl::StatusOr<disk::RowRange> VerifyRowsAround(size_t row) const;

  const std::shared_ptr<const StoredParts> parts_;
  const size_t index_;
  size_t width_ = 0;  // Bytes of an element; 0 for lists.
  bool direct_ = true;
  bool indexed_ = true;
  bool has_checksums_ = false;       // True if the file of at least one part has checksums.
  bool has_archived_ = false;        // True if that of at least one part is in an object store.
  std::vector<PartColumn> columns_;  // By part.
};

}  // namespace tickstack::query
