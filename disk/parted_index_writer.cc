#include "disk/parted_index_writer.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <vector>

#include "base/check.h"
#include "disk/kdb_format.h"
#include "table/types.h"

namespace tickstack::disk {
namespace {

// Appends the header of a vector as in kdb+'s memory. Its first byte is the object's size class:
// the smallest m for which 16 * 2^m bytes hold header and data.
void AppendVectorHeader(uint8_t type, Attribute attribute, size_t data_bytes, size_t count,
                        ByteBuffer& out) {
  const size_t bytes = kVectorHeaderBytes + data_bytes;
  out.AppendLittle(static_cast<uint8_t>(std::bit_width((bytes - 1) / 16)));
  out.AppendLittle(uint8_t{0});
  out.AppendLittle(type);
  out.AppendLittle(static_cast<uint8_t>(attribute));
  out.AppendLittle(uint32_t{0});
  out.AppendLittle(static_cast<int64_t>(count));
}

void AppendLongs(std::span<const int64_t> longs, ByteBuffer& out) {
  out.Append(std::as_bytes(longs));
}

}  // namespace

std::vector<int64_t> PartedHashTable(std::span<const int64_t> keys, size_t slots) {
  constexpr uint64_t kMultiplier = 2'654'435'761;
  std::vector<int64_t> table(slots, -1);
  for (size_t i = 0; i < keys.size(); ++i) {
    size_t slot = (static_cast<uint64_t>(keys[i]) * kMultiplier >> 11) & (slots - 1);
    while (table[slot] != -1) slot = (slot + 1) & (slots - 1);
    table[slot] = static_cast<int64_t>(i);
  }
  return table;
}

ByteBuffer PartedIndexBytes(std::span<const int64_t> keys, std::span<const int64_t> starts,
                            int64_t rows) {
  TS_CHECK(keys.size() == starts.size());
  const size_t capacity = std::bit_ceil(std::max<size_t>(keys.size(), 1));
  const size_t slots = 2 * capacity;
  ByteBuffer out;
  out.reserve(8 * (capacity + slots + keys.size()) + 64);
  out.AppendLittle(int64_t{0});
  AppendVectorHeader(kEnumTypeMin, Attribute::kUnique, 8 * (capacity + 1 + slots), keys.size(),
                     out);
  AppendLongs(keys, out);
  for (size_t i = keys.size(); i < capacity + 1; ++i) out.AppendLittle(int64_t{0});
  AppendLongs(PartedHashTable(keys, slots), out);
  AppendVectorHeader(static_cast<uint8_t>(Type::kLong), Attribute::kNone, 8 * (keys.size() + 1),
                     keys.size() + 1, out);
  AppendLongs(starts, out);
  out.AppendLittle(rows);
  return out;
}

}  // namespace tickstack::disk
