#pragma once

// Parses a column file's header and checks it against the file's length.
//
// The count rule of kdb+: without an index after the elements (attributes none and sorted), the
// file's length determines the count, because an append adds bytes without changing the header, and
// since 2021 headers have 0. With an index, the header's count is exact.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "table/types.h"

namespace tickstack::disk {

enum class ColumnForm : uint8_t {
  kVector,      // fe 20 and ff 20: elements of a fixed width.
  kEnum,        // fd 20 and fe+name: positions in a domain, 8 or 4 bytes each.
  kOldNested,   // fe 20 of type 77+t: the ends of the rows' vectors, whose elements are in `col#`.
  kAnymap,      // fd 20 of type 77: references into `col#`.
  kSerialised,  // ff 01: a symbol vector, a general list, or any other value.
};

struct ColumnLayout {
  ColumnForm form = ColumnForm::kSerialised;
  // Type of an element. For an enum: kSymbol. For an old nested column: the type of the elements in
  // each row. For an anymap, and for ff 01, whose value is not read: kList.
  Type type = Type::kList;
  Attribute attribute = Attribute::kNone;
  size_t width = 0;  // Bytes per row; 0 for ff 01.
  uint64_t data_offset = 0;
  uint64_t rows = 0;        // 0 for ff 01.
  int64_t header_rows = 0;  // The header's count, which may be less than `rows`, even 0.
  uint64_t header_rows_offset = 0;
  std::string domain;  // Domain of an enum.

  uint64_t data_bytes() const { return rows * width; }  // Not more than the file's length.
};

// Parses `head`, the first kPageBytes of the (uncompressed) file, or all of a shorter file.
// `file_bytes` is the file's size. kDataLoss, with the byte, if it is not a column of kdb+ or the
// file is too short for its rows; kUnimplemented for a form that no public description covers. The
// caller adds the path to errors.
absl::StatusOr<ColumnLayout> ParseColumnLayout(std::span<const std::byte> head,
                                               uint64_t file_bytes);

}  // namespace tickstack::disk
