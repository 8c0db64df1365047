#pragma once

// CRC32C (Castagnoli, polynomial 0x1edc6f41, reflected, as in iSCSI and ext4): the checksum of
// everything that tickstack writes. Crc32c("123456789") == 0xe3069283.

#include <cstddef>
#include <cstdint>
#include <span>

namespace tickstack {

// Continues a checksum with more bytes: ExtendCrc32c(Crc32c(a), b) == Crc32c(a followed by b).
//
// Cost: ISA-L computes it, with the fastest version for the machine. On an AMD EPYC with AVX-512, 5
// to 30 ns for up to 100 bytes, and 15 to 35 GB/s from 1 KiB on. Threads: reentrant.
uint32_t ExtendCrc32c(uint32_t crc, std::span<const std::byte> bytes);

inline uint32_t Crc32c(std::span<const std::byte> bytes) { return ExtendCrc32c(0, bytes); }

}  // namespace tickstack
