#pragma once

// The first bytes of a column file, as kdb+ 3.6 and later write them (docs/formats.md). The count
// in a header is the number of elements. Later versions of kdb+ write 0 there and use the file's
// length, but older ones need the count.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/byte_buffer.h"
#include "disk/kdb_format.h"
#include "table/types.h"

namespace tickstack::disk {

// Returns the header fe 20: a vector of a fixed-width type.
inline ByteBuffer VectorHeader(Type type, Attribute attribute, size_t rows) {
  ByteBuffer out;
  out.Append(kVectorTag);
  out.AppendLittle(static_cast<uint8_t>(type));
  out.AppendLittle(static_cast<uint8_t>(attribute));
  out.AppendLittle(uint32_t{0});
  out.AppendLittle(static_cast<int64_t>(rows));
  return out;
}

// Returns the header fd 20: a page whose last 16 bytes are the header of the elements that follow
// it.
inline ByteBuffer PageHeader(std::string_view domain, uint8_t second, uint8_t type,
                             Attribute attribute, size_t count) {
  ByteBuffer out;
  std::memset(out.Extend(kPageVectorOffset), 0, kPageVectorOffset);
  std::memcpy(out.data(), kPageTag.data(), kPageTag.size());
  if (!domain.empty()) std::memcpy(out.data() + kPageNameOffset, domain.data(), domain.size());
  out.Append(kPageTag.substr(0, 1));
  out.AppendLittle(second);
  out.AppendLittle(type);
  out.AppendLittle(static_cast<uint8_t>(attribute));
  out.AppendLittle(uint32_t{0});
  out.AppendLittle(static_cast<int64_t>(count));
  return out;
}

inline ByteBuffer EnumHeader(std::string_view domain, Attribute attribute, size_t rows) {
  return PageHeader(domain, 0, kEnumTypeMin, attribute, rows);
}
inline ByteBuffer AnymapHeader(size_t rows) {
  return PageHeader("", 1, kAnymapType, Attribute::kNone, rows);
}
inline ByteBuffer AnymapPayloadHeader() { return PageHeader("", 0, 4, Attribute::kNone, 0); }

}  // namespace tickstack::disk
