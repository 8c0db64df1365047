#pragma once

// A column of a stored table over the parts that a query reads. Each part is a chunk. Its elements
// are those of a mapped file, or are computed block by block:
//
//   names          positions in a domain of the database become numbers in its symbol table, which
//                  all domains share: 8 bytes a row are read, and nothing is kept
//   partition      the same value for every row of a part
//   nulls          of a column that a part does not have

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

// Immutable; any thread. Elements are those of AnyColumn::Chunk: SymbolId for names.
class StoredColumn {
 public:
  // Opens the column in every part, several at a time. Errors: those of the first file that is
  // damaged or of another type; `limit` if the process has no mappings left, or no memory to
  // decompress into. Cost: some system calls per part. Compressed files are decompressed, and the
  // result is held as long as this object exists.
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
  // The elements of a part; only for a direct column. They may be unverified: the reader calls
  // Verify for the rows that it reads.
  std::span<const std::byte> Elements(size_t part) const { return columns_[part].elements; }
  // Compares the elements of rows [row, end_row), of single rows that ascend, or of single rows in
  // any order (some may be kNoItem), with the checksums of their files, where these have any and
  // nobody did so before. Only for a direct column; Read, ReadAt and At verify what they read
  // themselves. kDataLoss names file, block and rows. Cost: see disk::VerifiedBlocks; ascending
  // rows are looked at a few times for each block, rows in any order each.
  absl::Status Verify(size_t row, size_t end_row) const {
    return has_checksums_ ? VerifyRange(row, end_row) : absl::OkStatus();
  }
  absl::Status VerifyAscending(std::span<const uint32_t> rows) const {
    return has_checksums_ ? VerifyAscendingRows(rows) : absl::OkStatus();
  }
  absl::Status VerifyAt(std::span<const uint32_t> rows) const {
    return has_checksums_ ? VerifyRows(rows) : absl::OkStatus();
  }

  // Elements of rows [row, row + n), and of rows that need not ascend; of names and fixed-width
  // columns. kDataLoss for a position outside of its domain.
  absl::Status Read(size_t row, size_t n, void* out) const;
  absl::Status ReadAt(std::span<const uint32_t> rows, void* out) const;
  absl::StatusOr<Value> At(size_t row) const;

  // True if all parts have the index of attribute parted: the rows of a name are then ranges, at
  // most one per part.
  bool indexed() const { return indexed_; }
  // Appends the ascending ranges of rows with a name to `ranges`, for an indexed column. kDataLoss
  // if an index does not match its rows; also if a part's domain lacks the name and some of its
  // rows have positions that the domain lacks, because these rows may have the name.
  absl::Status RangesOf(SymbolId id, std::vector<disk::RowRange>& ranges) const;
  // The index of a part of an indexed column, whose rows count from the part's first one.
  const disk::PartedIndex& IndexOf(size_t part) const { return *columns_[part].index; }
  // Returns the known ascending ranges of a part's elements, for a direct column.
  disk::AscendingRanges& AscendingIn(size_t part) const {
    return columns_[part].opened.file->ascending();
  }
  // kDataLoss if rows of an indexed column have positions that their domain lacks, so that their
  // names are unknown.
  absl::Status CheckNames() const;
  // Calls f for each name and range of it, part by part. kDataLoss as for RangesOf, and if one of
  // `rows` has a position that its domain lacks.
  absl::Status ForEachRange(const RowSet& rows,
                            absl::FunctionRef<void(SymbolId, disk::RowRange)> f) const;

 private:
  struct PartColumn {
    StoredColumnPart opened;
    std::vector<disk::PinnedBytes> held;       // The bytes that the files' rows are read from.
    std::span<const std::byte> elements;       // Empty for names, and where there is no file.
    const disk::PartedIndex* index = nullptr;  // nullptr if there is none.
    std::vector<std::byte> constant;           // The element of every row if there is no file.
  };

  StoredColumn(std::shared_ptr<const StoredParts> parts, size_t index)
      : parts_(std::move(parts)), index_(index), columns_(parts_->parts().size()) {}
  absl::Status OpenIn(size_t part);
  absl::Status CheckNamesIn(size_t part) const;
  absl::Status VerifyRange(size_t row, size_t end_row) const;
  absl::Status VerifyAscendingRows(std::span<const uint32_t> rows) const;
  absl::Status VerifyRows(std::span<const uint32_t> rows) const;
  absl::StatusOr<disk::RowRange> VerifyRowsAround(size_t row) const;

  const std::shared_ptr<const StoredParts> parts_;
  const size_t index_;
  size_t width_ = 0;  // Bytes of an element; 0 for lists.
  bool direct_ = true;
  bool indexed_ = true;
  bool has_checksums_ = false;       // True if the file of some part has.
  std::vector<PartColumn> columns_;  // By part.
};

}  // namespace tickstack::query
