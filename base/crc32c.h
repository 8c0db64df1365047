#pragma once

// CRC32C (Castagnoli, polynomial 0x1edc6f41, reflected, as in iSCSI and ext4): the checksum of
// everything that tickstack writes. Crc32c("123456789") == 0xe3069283.

#include <cstddef>
#include <cstdint>
#include <span>

namespace tickstack {

// Returns the checksum of a||b from that of a: ExtendCrc32c(Crc32c(a), b) == Crc32c(a||b).
//
// Cost: about 8 bytes per cycle with the processor's CRC instruction (x86-64-v2 has it; aarch64 is
// checked once), otherwise one byte in some 5 cycles. Threads: reentrant.
uint32_t ExtendCrc32c(uint32_t crc, std::span<const std::byte> bytes);

inline uint32_t Crc32c(std::span<const std::byte> bytes) { return ExtendCrc32c(0, bytes); }

namespace internal {
// The definition, bit by bit, and the fallback, byte by byte; for the property test.
uint32_t ExtendCrc32cByBits(uint32_t crc, std::span<const std::byte> bytes);
uint32_t ExtendCrc32cByBytes(uint32_t crc, std::span<const std::byte> bytes);
}  // namespace internal

}  // namespace tickstack
