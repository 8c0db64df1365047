#include "base/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace tickstack {

uint32_t ExtendCrc32c(uint32_t crc, std::span<const std::byte> bytes) {
  // ISA-L takes lengths as ints and does not complement the checksum itself.
  constexpr size_t kPartBytes = size_t{1} << 30;
  crc = ~crc;
  while (!bytes.empty()) {
    const std::span<const std::byte> part = bytes.first(std::min(bytes.size(), kPartBytes));
    // It only reads; its signature has no const.
    auto* const data = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(part.data()));
    crc = crc32_iscsi(data, static_cast<int>(part.size()), crc);
    bytes = bytes.subspan(part.size());
  }
  return ~crc;
}

}  // namespace tickstack
