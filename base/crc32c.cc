#include "base/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

// The processor's CRC instruction takes 8 bytes and has a latency of 3 cycles, but one can start
// every cycle: a single chain would leave two thirds of it idle. So a block is cut into three equal
// parts, whose checksums run side by side:
//
//   |---- a ----|---- b ----|---- c ----|       crc(abc) = shift(shift(crc(a)) ^ crc(b)) ^ crc(c)
//
// shift(x) is the register after as many zero bytes as a part is long. It is linear over GF(2), so
// it is the xor of four table look-ups, one for each byte of x; a table serves one part length.
// Bounds: 8 bytes a cycle from cache, and memory bandwidth beyond it.

namespace tickstack {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78u;  // 0x1edc6f41, bits reversed.

// A register as a polynomial: the top bit is x^0.
constexpr uint32_t Multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (int bit = 31; bit >= 0; --bit) {
    if ((a >> bit) & 1) product ^= b;
    b = (b & 1) ? (b >> 1) ^ kPolynomial : b >> 1;
  }
  return product;
}

// Returns x^(8 * bytes): the factor by which `bytes` zero bytes multiply the register.
constexpr uint32_t PowerOfZeros(size_t bytes) {
  uint32_t result = 0x80000000u;  // x^0.
  uint32_t square = 0x00800000u;  // x^8.
  for (; bytes != 0; bytes >>= 1) {
    if (bytes & 1) result = Multiply(result, square);
    square = Multiply(square, square);
  }
  return result;
}

using ByteTable = std::array<uint32_t, 256>;

constexpr ByteTable MakeByteTable() {
  ByteTable table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) ? (crc >> 1) ^ kPolynomial : crc >> 1;
    table[byte] = crc;
  }
  return table;
}
constexpr ByteTable kByteTable = MakeByteTable();

#if defined(__x86_64__) || defined(__aarch64__)

// Tables for shift(): [k][byte] is the shift of that byte at bits 8k.
class ZerosShift {
 public:
  explicit constexpr ZerosShift(size_t bytes) {
    const uint32_t power = PowerOfZeros(bytes);
    for (size_t k = 0; k < 4; ++k) {
      // Linear: a byte's entry is the xor of those of its bits.
      for (uint32_t bit = 0; bit < 8; ++bit) {
        tables_[k][1u << bit] = Multiply(power, 1u << (8 * k + bit));
      }
      for (uint32_t byte = 1; byte < 256; ++byte) {
        tables_[k][byte] = tables_[k][byte & (byte - 1)] ^ tables_[k][byte & (~byte + 1)];
      }
    }
  }
  uint32_t operator()(uint32_t crc) const {
    return tables_[0][crc & 0xff] ^ tables_[1][(crc >> 8) & 0xff] ^ tables_[2][(crc >> 16) & 0xff] ^
           tables_[3][crc >> 24];
  }

 private:
  std::array<ByteTable, 4> tables_{};
};

// Long parts amortise the shift's eight look-ups; short parts are for blocks of a few hundred
// bytes.
constexpr size_t kLongBytes = 4096;
constexpr size_t kShortBytes = 256;
constexpr ZerosShift kLongShift(kLongBytes);
constexpr ZerosShift kShortShift(kShortBytes);

#if defined(__x86_64__)
#define TS_CRC_TARGET __attribute__((target("sse4.2")))
TS_CRC_TARGET inline uint32_t Step8(uint32_t crc, uint64_t eight) {
  return static_cast<uint32_t>(_mm_crc32_u64(crc, eight));
}
TS_CRC_TARGET inline uint32_t Step1(uint32_t crc, uint8_t one) { return _mm_crc32_u8(crc, one); }
bool ProcessorHasCrc() { return true; }  // x86-64-v2, the baseline.
#else
#define TS_CRC_TARGET __attribute__((target("+crc")))
TS_CRC_TARGET inline uint32_t Step8(uint32_t crc, uint64_t eight) { return __crc32cd(crc, eight); }
TS_CRC_TARGET inline uint32_t Step1(uint32_t crc, uint8_t one) { return __crc32cb(crc, one); }
bool ProcessorHasCrc() { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }
#endif

inline uint64_t Load8(const std::byte* at) {
  uint64_t eight;
  std::memcpy(&eight, at, sizeof(eight));
  return eight;
}

// Processes as many blocks of three parts as there are, and advances `at`.
template <size_t kPartBytes>
TS_CRC_TARGET uint32_t ExtendByThree(uint32_t crc, const ZerosShift& shift, const std::byte*& at,
                                     const std::byte* end) {
  while (static_cast<size_t>(end - at) >= 3 * kPartBytes) {
    uint32_t b = 0;
    uint32_t c = 0;
    for (size_t i = 0; i < kPartBytes; i += 8) {
      crc = Step8(crc, Load8(at + i));
      b = Step8(b, Load8(at + i + kPartBytes));
      c = Step8(c, Load8(at + i + 2 * kPartBytes));
    }
    crc = shift(shift(crc) ^ b) ^ c;
    at += 3 * kPartBytes;
  }
  return crc;
}

TS_CRC_TARGET uint32_t ExtendByInstruction(uint32_t crc, std::span<const std::byte> bytes) {
  const std::byte* at = bytes.data();
  const std::byte* const end = at + bytes.size();
  crc = ~crc;
  crc = ExtendByThree<kLongBytes>(crc, kLongShift, at, end);
  crc = ExtendByThree<kShortBytes>(crc, kShortShift, at, end);
  for (; end - at >= 8; at += 8) crc = Step8(crc, Load8(at));
  for (; at != end; ++at) crc = Step1(crc, static_cast<uint8_t>(*at));
  return ~crc;
}

#endif

}  // namespace

uint32_t ExtendCrc32c(uint32_t crc, std::span<const std::byte> bytes) {
#if defined(__x86_64__) || defined(__aarch64__)
  static const bool has_instruction = ProcessorHasCrc();
  if (has_instruction) return ExtendByInstruction(crc, bytes);
#endif
  return internal::ExtendCrc32cByBytes(crc, bytes);
}

namespace internal {

uint32_t ExtendCrc32cByBits(uint32_t crc, std::span<const std::byte> bytes) {
  crc = ~crc;
  for (const std::byte byte : bytes) {
    crc ^= static_cast<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) ? (crc >> 1) ^ kPolynomial : crc >> 1;
  }
  return ~crc;
}

uint32_t ExtendCrc32cByBytes(uint32_t crc, std::span<const std::byte> bytes) {
  crc = ~crc;
  for (const std::byte byte : bytes) {
    crc = kByteTable[(crc ^ static_cast<uint32_t>(byte)) & 0xff] ^ (crc >> 8);
  }
  return ~crc;
}

}  // namespace internal
}  // namespace tickstack
