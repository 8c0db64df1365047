#pragma once

// One column of a stored table, written by kdb+ or by us, read in place, in every known form of
// column file (docs/formats.md):
//
//   fixed    elements of a fixed width, back to back
//   enum     positions in a domain of symbols, 4 or 8 bytes each; may have the index of `parted`
//   symbols  names without a domain
//   items    strings and other nested values

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "disk/ascending_ranges.h"
#include "disk/column_layout.h"
#include "disk/nested_items.h"
#include "disk/parted_index.h"
#include "disk/stored_file.h"
#include "disk/symbol_file.h"
#include "table/value.h"

namespace tickstack::disk {

enum class ColumnKind : uint8_t { kFixed, kEnum, kSymbols, kItems };

// Immutable. Threads: any, concurrently. Spans are valid as long as the ColumnFile. Errors name the
// path. Numbers in the file are checked before they are used, when the file is opened or when the
// row is read; exceptions are noted below.
class ColumnFile {
 public:
  // Maps the file and, for a nested column, its companions `path#` and `path##` beside it.
  // `domains` are those of its enums; without them, an enum's rows have positions and no names.
  // `checksums` are those of its directory, or nullptr: then nothing is verified.
  // Cost: some system calls and one page; one pass if the rows of the file must be counted
  // (symbols, and general lists of the old form).
  static absl::StatusOr<std::shared_ptr<const ColumnFile>> Open(
      const std::string& path, std::shared_ptr<const SymbolDomains> domains = nullptr,
      const ChecksumFile* checksums = nullptr);

  const std::string& path() const { return file_->path(); }
  ColumnKind kind() const { return kind_; }
  // Returns the type of an element: kSymbol for enums and symbols, kList for items.
  Type type() const { return type_; }
  // The attribute that the file claims. It is trusted, as in kdb+; `tickstack hdb check` verifies
  // it.
  Attribute attribute() const { return layout_.attribute; }
  uint64_t rows() const { return rows_; }
  const ColumnLayout& layout() const { return layout_; }
  const StoredFile& file() const { return *file_; }

  // Returns the elements of kFixed, or the positions of kEnum: rows() times element_bytes(),
  // aligned to the element's width (8 for a guid). kInvalidArgument for the other kinds.
  // Cost: that of StoredFile::All: none after the first call, if the file is plain.
  absl::StatusOr<PinnedBytes> Elements() const;
  // The same, but a plain file's elements are unverified: the caller calls VerifyRows for the rows
  // that it reads. Cost: none for a plain file.
  absl::StatusOr<PinnedBytes> ElementsInPlace() const;
  // Copies the elements of a range of rows to `out`, which has rows.rows() times element_bytes()
  // bytes. Verifies them; see StoredFile::Read. kInvalidArgument for columns without elements of
  // one width, and for rows beyond rows().
  absl::Status ReadElements(RowRange rows, std::span<std::byte> out) const;
  // Compares the blocks of a range of rows with their checksums, for columns that have
  // ElementsInPlace(). kDataLoss as for StoredFile::Verify. Cost: see VerifiedBlocks.
  absl::Status VerifyRows(RowRange rows) const {
    return file_->Verify(layout_.data_offset + rows.begin_row * layout_.width,
                         layout_.data_offset + rows.end_row * layout_.width);
  }
  // Says that VerifyRows will be called for these rows: see StoredFile::WillRead.
  void WillRead(RowRange rows) const {
    file_->WillRead(layout_.data_offset + rows.begin_row * layout_.width,
                    layout_.data_offset + rows.end_row * layout_.width);
  }
  // Verifies the block that holds `row`, and returns the rows around it that need no call any more:
  // those of its block, or all if all blocks are verified. For readers of single rows.
  absl::StatusOr<RowRange> VerifyRowsAround(uint64_t row) const;
  bool has_checksums() const { return file_->has_checksums(); }
  bool is_archived() const { return file_->is_archived(); }
  // Returns the bytes that rows are read from, unverified. While they are held, nothing is
  // decompressed twice, which helps callers that read many rows. Cost: as ElementsInPlace, for each
  // of the column's files.
  absl::StatusOr<std::vector<PinnedBytes>> Pin() const;
  size_t element_bytes() const { return element_bytes_; }  // 0 for kSymbols and kItems.

  // For kEnum 8 or 4, otherwise 0.
  size_t enum_width() const { return kind_ == ColumnKind::kEnum ? layout_.width : 0; }
  // For kEnum the domain's name, otherwise empty.
  const std::string& domain_name() const { return layout_.domain; }
  // For kEnum; nullptr if the domains of Open have none with that name.
  const SymbolDomain* domain() const { return domain_; }
  // Reads the symbols of a range of rows of kEnum; out.size() == rows.rows(). kInvalidArgument for
  // the other kinds; kNotFound without a domain; kDataLoss, with the row, if a position is outside
  // of it: then `out` is partly filled. Cost: one pass.
  absl::Status ReadSymbols(RowRange rows, std::span<SymbolId> out) const;

  // Returns the error of a row of kEnum whose position is outside of its domain: kDataLoss.
  absl::Status OutsideOfDomain(uint64_t row, int64_t position) const;

  // Returns the index of the attribute `p` (parted); nullptr if there is none or it contradicts
  // itself. It is not compared with the rows. Cost: PartedIndex::Parse once, then none.
  absl::StatusOr<const PartedIndex*> Parted() const;
  // Returns the rows of `position` by the index; nullopt if it has none. kFailedPrecondition if
  // Parted() is nullptr. kDataLoss if the first or the last of the rows has another position: so an
  // index that does not belong to these rows is detected, unless it is wrong only in the middle of
  // a group. The rows of each position are compared once.
  // Cost: a binary search; the first time, also two elements.
  absl::StatusOr<std::optional<RowRange>> RowsOf(int64_t position) const;

  // For kFixed: what readers have found out about its order, and can add to.
  AscendingRanges& ascending() const { return ascending_; }

  // Returns row `row`, below rows(): an atom of kFixed, a symbol of kEnum and kSymbols (kNotFound
  // if the enum has no domain), any value of kItems. kDataLoss if what the row refers to is
  // damaged. Cost: the value's bytes.
  absl::StatusOr<Value> ItemAt(uint64_t row) const;
  // Returns all rows as one vector or list. For flat files and small columns, since it takes the
  // memory of a copy, and some 60 bytes per item of kItems. kResourceExhausted if its elements have
  // no fixed width and take more than kStoredValueBytesMax.
  absl::StatusOr<Value> AllRows() const;

 private:
  ColumnFile() = default;
  absl::Status Read(const std::string& path, const ChecksumFile* checksums);
  absl::Status ReadSerialised();
  absl::Status ReadNames(std::span<const std::byte> bytes);
  absl::StatusOr<Value> SymbolAt(uint64_t row) const;
  absl::Status CompareWithIndex(int64_t position, RowRange rows) const;

  std::unique_ptr<const StoredFile> file_;
  std::shared_ptr<const SymbolDomains> domains_;
  const SymbolDomain* domain_ = nullptr;
  ColumnLayout layout_;
  ColumnKind kind_ = ColumnKind::kFixed;
  Type type_ = Type::kList;
  uint64_t rows_ = 0;
  size_t element_bytes_ = 0;
  std::vector<uint64_t> name_starts_;         // For kSymbols: ids, or offsets in the file.
  std::unique_ptr<const NestedItems> items_;  // For kItems; nullptr if there are none.
  // Written once, under parted_mutex_, before knows_parted_ is set with release.
  mutable std::optional<PartedIndex> parted_;
  // A bit for each key of the index, set when the key's first and last row were compared with it.
  // Relaxed, as in VerifiedBlocks: no thread writes what a bit stands for.
  mutable std::vector<std::atomic<uint64_t>> compared_;  // Made with parted_.
  mutable std::mutex parted_mutex_;
  mutable std::atomic<bool> knows_parted_{false};
  mutable AscendingRanges ascending_;
};

}  // namespace tickstack::disk
