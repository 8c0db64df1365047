#pragma once

// The rows of a nested column: strings, lists, dictionaries.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "disk/column_layout.h"
#include "disk/pinned_bytes.h"
#include "disk/stored_file.h"
#include "disk/symbol_file.h"
#include "table/value.h"

namespace tickstack::disk {

// Immutable. Threads: any.
class NestedItems {
 public:
  virtual ~NestedItems() = default;
  // Returns the value of a row, which must be below the column's row count. kDataLoss, with file
  // and byte, if the row's bytes are invalid.
  virtual absl::StatusOr<Value> At(uint64_t row) const = 0;
  // Adds to `held` all bytes from which rows are read, except those of the column's own file; see
  // ColumnFile::Pin.
  virtual absl::Status Pin(std::vector<PinnedBytes>& held) const = 0;
};

// Opens a column in the form before kdb+ 3.6: the column's file has the end of each row, as a
// number of elements, and `column#` has the elements. `checksums` is as for ColumnFile. The column
// must outlive the items.
absl::StatusOr<std::unique_ptr<const NestedItems>> OpenOldNested(const StoredFile& column,
                                                                 const ColumnLayout& layout,
                                                                 const ChecksumFile* checksums);

// Opens a column in the form since kdb+ 3.6, an anymap (anymap.cc), with its files `column#` and,
// if it exists, `column##`. Its At() returns kResourceExhausted for a row of more than
// kStoredValueBytesMax.
absl::StatusOr<std::unique_ptr<const NestedItems>> OpenAnymap(
    const StoredFile& column, const ColumnLayout& layout,
    std::shared_ptr<const SymbolDomains> domains, const ChecksumFile* checksums);

// Opens a column in the form of small lists, and of all lists before 3.6: ff 01 and the encoded
// items. Sets `rows` to the row count, for which it reads the file once.
absl::StatusOr<std::unique_ptr<const NestedItems>> OpenSerialisedList(
    const StoredFile& column, std::shared_ptr<const SymbolDomains> domains, uint64_t* rows);

}  // namespace tickstack::disk
