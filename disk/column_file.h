#pragma once

// One column of a stored table, as kdb+ wrote it or we did: every form of column file that is known
// (docs/formats.md), read where it lies.
//
//   fixed    elements of a fixed width, back to back
//   enum     positions in a domain of symbols, 4 or 8 bytes each; may have the index of `parted`
//   symbols  names without a domain
//   items    strings and other nested values

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

namespace tickstack {

enum class ColumnKind : uint8_t { kFixed, kEnum, kSymbols, kItems };

// Immutable. Threads: any, at the same time. Spans live as long as the ColumnFile. Errors name the
// path. Numbers in the file are checked before they are used, when the file is opened or when the
// row is read; what is not checked is said below.
class ColumnFile {
 public:
  // Maps the file, and of a nested column its companions `path#` and `path##`, which lie beside it.
  // `domains` are what enums are looked up in; without them an enum's rows have positions and no
  // names. Cost: some system calls and one page; one pass if the file has to be walked to be
  // counted (symbols, and general lists of the old form).
  static absl::StatusOr<std::shared_ptr<const ColumnFile>> Open(
      const std::string& path, std::shared_ptr<const SymbolDomains> domains = nullptr);

  const std::string& path() const { return file_->path(); }
  ColumnKind kind() const { return kind_; }
  // Type of an element: kSymbol for enums and symbols, kList for items.
  Type type() const { return type_; }
  // The attribute that the file claims. It is trusted, as in kdb+; `tickstack hdb check` verifies
  // it.
  Attribute attribute() const { return layout_.attribute; }
  uint64_t rows() const { return rows_; }
  const ColumnLayout& layout() const { return layout_; }
  const StoredFile& file() const { return *file_; }

  // The elements of kFixed, or the positions of kEnum: rows() times element_bytes(), aligned to the
  // element's width, to 8 for a guid. kInvalidArgument of the other kinds.
  // Cost: none, or that of StoredFile::All for a compressed file.
  absl::StatusOr<HeldBytes> Elements() const;
  // Returns the bytes that rows are read from. While they are held, nothing is decompressed twice,
  // which helps callers that read many rows. Cost: as Elements, for each of the column's files.
  absl::StatusOr<std::vector<HeldBytes>> Hold() const;
  size_t element_bytes() const { return element_bytes_; }  // 0 for kSymbols and kItems.

  // Of kEnum: 8 or 4; otherwise 0.
  size_t enum_width() const { return kind_ == ColumnKind::kEnum ? layout_.width : 0; }
  // Of kEnum: the domain's name; otherwise empty.
  const std::string& domain_name() const { return layout_.domain; }
  // Of kEnum: nullptr if the domains of Open have none of that name.
  const SymbolDomain* domain() const { return domain_; }
  // The symbols of a range of rows of kEnum; out.size() == rows.rows(). kInvalidArgument of the
  // other kinds; kNotFound without a domain; kDataLoss, with the row, if a position is outside of
  // it: then `out` is partly filled. Cost: one pass.
  absl::Status ReadSymbols(RowRange rows, std::span<SymbolId> out) const;

  // What is wrong with a row of kEnum whose position its domain does not have: kDataLoss.
  absl::Status OutsideOfDomain(uint64_t row, int64_t position) const;

  // The index of attribute parted; nullptr if there is none or it contradicts itself. Whether the
  // rows agree is not looked at. Cost: PartedIndex::Parse once, then none.
  absl::StatusOr<const PartedIndex*> Parted() const;
  // The rows of `position` by the index; nullopt if it has none. kFailedPrecondition if Parted() is
  // nullptr. kDataLoss if the first or the last of the rows has another position: an index that
  // was not written for these rows does not get through here unless it is wrong in a group's
  // middle only. Cost: a binary search and two elements.
  absl::StatusOr<std::optional<RowRange>> RowsOf(int64_t position) const;

  // Of kFixed: what readers found out about its order. They add to it.
  AscendingRanges& ascending() const { return ascending_; }

  // Row `row`, below rows(): an atom of kFixed, a symbol of kEnum and kSymbols (kNotFound if the
  // enum has no domain), any value of kItems. kDataLoss if what the row refers to is damaged.
  // Cost: what the value has of bytes.
  absl::StatusOr<Value> ItemAt(uint64_t row) const;
  // All rows as one vector or list: for flat files and small columns, since it takes the memory of
  // a copy, and of some 60 bytes an item of kItems. kResourceExhausted if it has no elements of one
  // width and is of more than kStoredValueBytesMax.
  absl::StatusOr<Value> AllRows() const;

 private:
  ColumnFile() = default;
  absl::Status Read(const std::string& path);
  absl::Status ReadSerialised();
  absl::Status ReadNames(std::span<const std::byte> bytes);
  absl::StatusOr<Value> SymbolAt(uint64_t row) const;

  std::unique_ptr<const StoredFile> file_;
  std::shared_ptr<const SymbolDomains> domains_;
  const SymbolDomain* domain_ = nullptr;
  ColumnLayout layout_;
  ColumnKind kind_ = ColumnKind::kFixed;
  Type type_ = Type::kList;
  uint64_t rows_ = 0;
  size_t element_bytes_ = 0;
  std::vector<uint64_t> name_starts_;         // Of kSymbols: where each name begins in the file.
  std::unique_ptr<const NestedItems> items_;  // Of kItems; nullptr if there are none.
  mutable std::once_flag parted_once_;        // Guards the first write of the next two.
  mutable std::optional<PartedIndex> parted_;
  mutable absl::Status parted_status_;
  mutable AscendingRanges ascending_;
};

}  // namespace tickstack
