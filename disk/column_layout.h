#pragma once

// What a column file's first bytes say, checked against how long the file is.
//
// The count rule of kdb+: without an index behind the elements (attributes none and sorted) the
// file's length is the count, since an append adds bytes and leaves the header alone, and since
// 2021 headers say 0. With one, the header's count is exact.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "table/types.h"

namespace tickstack {

enum class ColumnForm : uint8_t {
  kVector,      // fe 20 and ff 20: elements of a fixed width.
  kEnum,        // fd 20 and fe+name: positions in a domain, 8 or 4 bytes each.
  kOldNested,   // fe 20 of type 77+t: the ends of the rows' vectors, whose elements are in `col#`.
  kAnymap,      // fd 20 of type 77: references into `col#`.
  kSerialised,  // ff 01: a symbol vector, a general list, or any other value.
};

struct ColumnLayout {
  ColumnForm form = ColumnForm::kSerialised;
  // Type of an element: kSymbol for an enum, the type of the rows' elements for an old nested
  // column, kList for an anymap and, because the value is not read, for ff 01.
  Type type = Type::kList;
  Attribute attribute = Attribute::kNone;
  size_t width = 0;  // Bytes a row takes; 0 for ff 01.
  uint64_t data_offset = 0;
  uint64_t rows = 0;        // 0 for ff 01.
  int64_t header_rows = 0;  // As the header says, which may be less than rows, or 0.
  uint64_t header_rows_offset = 0;
  std::string domain;  // Domain of an enum.

  uint64_t data_bytes() const { return rows * width; }  // At most the file's length.
};

// `head` is the first kPageBytes of the (uncompressed) file, or all of a shorter one, which has
// `file_bytes` bytes. kDataLoss, with the byte, if they are no column of kdb+'s or the file is
// shorter than its rows; kUnimplemented for what nobody has described. The caller adds the path.
absl::StatusOr<ColumnLayout> ParseColumnLayout(std::span<const std::byte> head,
                                               uint64_t file_bytes);

}  // namespace tickstack
