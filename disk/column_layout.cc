#include "disk/column_layout.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/byte_buffer.h"
#include "base/status.h"
#include "disk/kdb_format.h"

namespace tickstack::disk {
namespace {

// The 16 bytes that describe a vector in all forms but the oldest: two bytes of the form, type,
// attribute, four zeros, count.
struct HeaderFields {
  uint8_t type = 0;
  uint8_t attribute = 0;
  uint32_t zeros = 0;
  int64_t rows = 0;
};

HeaderFields HeaderAt(std::span<const std::byte> head, size_t at) {
  HeaderFields header;
  header.type = LoadLittle<uint8_t>(head.data() + at + 2);
  header.attribute = LoadLittle<uint8_t>(head.data() + at + 3);
  header.zeros = LoadLittle<uint32_t>(head.data() + at + 4);
  header.rows = LoadLittle<int64_t>(head.data() + at + 8);
  return header;
}

// Computes the rest of the layout from the header, whose first byte is at `at`; width and data
// offset are already set.
absl::Status SetRows(const HeaderFields& header, size_t at, uint64_t file_bytes,
                     ColumnLayout& layout) {
  if (header.attribute > static_cast<uint8_t>(Attribute::kGrouped)) {
    return DataLoss("byte {}: attribute {}, expected 0 to 4", at + 3, header.attribute);
  }
  layout.attribute = static_cast<Attribute>(header.attribute);
  layout.header_rows = header.rows;
  layout.header_rows_offset = at + 8;
  const uint64_t rows_max = (file_bytes - layout.data_offset) / layout.width;
  if (header.rows < 0 || static_cast<uint64_t>(header.rows) > rows_max) {
    return DataLoss("byte {}: {} rows, but the file has room for {}", at + 8, header.rows,
                    rows_max);
  }
  const bool exact = layout.attribute > Attribute::kSorted;
  layout.rows = exact ? static_cast<uint64_t>(header.rows) : rows_max;
  return absl::OkStatus();
}

absl::Status TooShort(uint64_t file_bytes, size_t header_bytes) {
  return DataLoss("byte {}: the file ends here, in a header of {} bytes", file_bytes, header_bytes);
}

absl::StatusOr<ColumnLayout> Vector(std::span<const std::byte> head, uint64_t file_bytes) {
  if (head.size() < kVectorHeaderBytes) return TooShort(file_bytes, kVectorHeaderBytes);
  const HeaderFields header = HeaderAt(head, 0);
  ColumnLayout layout;
  layout.data_offset = kVectorHeaderBytes;
  if (header.type > kNestedTypeBase) {
    layout.form = ColumnForm::kOldNested;
    layout.type = static_cast<Type>(header.type - kNestedTypeBase);
    layout.width = sizeof(int64_t);
    if (layout.type == Type::kSymbol || header.type == kNestedTypeBase + kEnumTypeMin) {
      return Unimplemented(
          "byte 2: type {}, lists of symbols as before 3.6, of which no file is "
          "known",
          header.type);
    }
  } else {
    layout.form = ColumnForm::kVector;
    layout.type = static_cast<Type>(header.type);
    layout.width = WidthOf(layout.type);
  }
  if (!IsFixedWidth(layout.type)) {
    return DataLoss("byte 2: type {}, expected 1 to 19 or 78 to 96", header.type);
  }
  TS_RETURN_IF_ERROR(SetRows(header, 0, file_bytes, layout));
  return layout;
}

// ff 20 00 00 | u32, not known | u32 type | u32 count. No attribute was seen.
absl::StatusOr<ColumnLayout> OldVector(std::span<const std::byte> head, uint64_t file_bytes) {
  if (head.size() < kVectorHeaderBytes) return TooShort(file_bytes, kVectorHeaderBytes);
  const auto type = LoadLittle<uint32_t>(head.data() + 8);
  if (type > 19 || !IsFixedWidth(static_cast<Type>(type))) {
    return DataLoss("byte 8: type {}, expected 1 to 19", type);
  }
  ColumnLayout layout;
  layout.form = ColumnForm::kVector;
  layout.type = static_cast<Type>(type);
  layout.width = WidthOf(layout.type);
  layout.data_offset = kVectorHeaderBytes;
  layout.header_rows = LoadLittle<uint32_t>(head.data() + 12);
  layout.header_rows_offset = 12;
  layout.rows = (file_bytes - layout.data_offset) / layout.width;
  if (static_cast<uint64_t>(layout.header_rows) > layout.rows) {
    return DataLoss("byte 12: {} rows, but the file has room for {}", layout.header_rows,
                    layout.rows);
  }
  return layout;
}

// Returns the NUL-terminated text at `at`; nullopt if there is no NUL before `end`.
std::optional<std::string_view> TextAt(std::span<const std::byte> head, size_t at, size_t end) {
  const std::string_view text = AsText(head.subspan(at, std::min(end, head.size()) - at));
  const size_t nul = text.find('\0');
  if (nul == std::string_view::npos) return std::nullopt;
  return text.substr(0, nul);
}

absl::StatusOr<ColumnLayout> Page(std::span<const std::byte> head, uint64_t file_bytes) {
  if (head.size() < kPageBytes) return TooShort(file_bytes, kPageBytes);
  const HeaderFields header = HeaderAt(head, kPageVectorOffset);
  ColumnLayout layout;
  layout.width = sizeof(int64_t);
  layout.data_offset = kPageBytes;
  if (header.type == kEnumTypeMin) {
    const std::optional<std::string_view> name = TextAt(head, kPageNameOffset, kPageVectorOffset);
    if (!name || name->empty()) {
      return DataLoss("byte {}: expected the name of a domain, found none", kPageNameOffset);
    }
    layout.form = ColumnForm::kEnum;
    layout.type = Type::kSymbol;
    layout.domain = *name;
  } else if (header.type == kAnymapType) {
    layout.form = ColumnForm::kAnymap;
    layout.type = Type::kList;
  } else if (header.type == static_cast<uint8_t>(Type::kByte)) {
    return InvalidArgument("byte {}: the items of a nested column, which has their name without {}",
                           kPageVectorOffset + 2, kCompanionSuffix);
  } else {
    return DataLoss("byte {}: type {}, expected 20 or 77", kPageVectorOffset + 2, header.type);
  }
  TS_RETURN_IF_ERROR(SetRows(header, kPageVectorOffset, file_bytes, layout));
  return layout;
}

// fe | name NUL, zeros up to a multiple of 8 | two zeros, 0, attribute, four zeros, count. Known
// files have names of up to 6 letters, and their header is at byte 8. For a longer name its
// position follows only from the alignment, so every byte that should be zero must be.
absl::StatusOr<ColumnLayout> Enum32(std::span<const std::byte> head, uint64_t file_bytes) {
  const std::optional<std::string_view> name = TextAt(head, 1, kPageNameOffset + 1024);
  if (!name || name->empty()) return DataLoss("byte 1: expected the name of a domain, found none");
  const size_t at = (1 + name->size() + 1 + 7) / 8 * 8;
  ColumnLayout layout;
  layout.form = ColumnForm::kEnum;
  layout.type = Type::kSymbol;
  layout.domain = *name;
  layout.width = sizeof(int32_t);
  layout.data_offset = at + kVectorHeaderBytes;
  if (head.size() < layout.data_offset) return TooShort(file_bytes, layout.data_offset);
  for (size_t i = 2 + name->size(); i < at + 3; ++i) {
    if (head[i] != std::byte{0}) {
      return DataLoss("byte {}: {}, expected 0 between the name of a domain and its attribute", i,
                      std::to_integer<int>(head[i]));
    }
  }
  TS_RETURN_IF_ERROR(SetRows(HeaderAt(head, at), at, file_bytes, layout));
  return layout;
}

bool IsNameByte(std::byte byte) {
  const auto c = static_cast<char>(byte);
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.';
}

}  // namespace

absl::StatusOr<ColumnLayout> ParseColumnLayout(std::span<const std::byte> head,
                                               uint64_t file_bytes) {
  const std::string_view text = AsText(head);
  if (text.starts_with(kVectorTag)) return Vector(head, file_bytes);
  if (text.starts_with(kOldVectorTag)) return OldVector(head, file_bytes);
  if (text.starts_with(kPageTag)) return Page(head, file_bytes);
  if (text.starts_with(kSerialisedTag)) {
    ColumnLayout layout;
    layout.data_offset = kSerialisedTag.size();
    return layout;
  }
  if (text.size() >= 2 && text[0] == kEnum32Tag && IsNameByte(head[1])) {
    return Enum32(head, file_bytes);
  }
  if (text.starts_with(kEncryptedTag)) return Unimplemented("byte 0: an encrypted file");
  if (text.size() < 2) return TooShort(file_bytes, kVectorHeaderBytes);
  return DataLoss("byte 0: {:02x} {:02x}, expected the first bytes of a kdb+ file",
                  std::to_integer<int>(head[0]), std::to_integer<int>(head[1]));
}

}  // namespace tickstack::disk
