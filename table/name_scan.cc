#include "table/name_scan.h"

#include <array>
#include <bit>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace tickstack {
namespace internal {

size_t BytesOfNamesByDefinition(std::span<const std::byte> bytes, size_t names) {
  if (names == 0) return 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == std::byte{0} && --names == 0) return i + 1;
  }
  return kTooFewNames;
}

}  // namespace internal

namespace {

using internal::BytesOfNamesByDefinition;
using internal::NameScan;

#ifdef __x86_64__

constexpr size_t kStepBytes = 64;

// Returns the index of the n-th set bit; n is from 1 to the number of set bits.
size_t IndexOfSetBit(uint64_t mask, size_t n) {
  for (; n > 1; --n) mask &= mask - 1;
  return static_cast<size_t>(std::countr_zero(mask));
}

// Scans the rest after whole steps; the first `offset` bytes hold all names but the last `names`.
size_t Finish(std::span<const std::byte> bytes, size_t offset, size_t names) {
  const size_t rest = BytesOfNamesByDefinition(bytes.subspan(offset), names);
  return rest == kTooFewNames ? kTooFewNames : offset + rest;
}

// Returns one bit per byte of a step, set where the byte is zero.
uint64_t ZeroBytesSse2(const std::byte* at) {
  const __m128i zero = _mm_setzero_si128();
  uint64_t mask = 0;
  for (int part = 0; part < 4; ++part) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 16 * part));
    const auto bits = static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(block, zero)));
    mask |= uint64_t{bits} << (16 * part);
  }
  return mask;
}

size_t BytesOfNamesSse2(std::span<const std::byte> bytes, size_t names) {
  if (names == 0) return 0;
  size_t offset = 0;
  for (; bytes.size() - offset >= kStepBytes; offset += kStepBytes) {
    const uint64_t mask = ZeroBytesSse2(bytes.data() + offset);
    const auto found = static_cast<size_t>(std::popcount(mask));
    if (found >= names) return offset + IndexOfSetBit(mask, names) + 1;
    names -= found;
  }
  return Finish(bytes, offset, names);
}

// Does the same with two wider compares. It is written out, because a function for AVX2 can inline
// only others for AVX2.
__attribute__((target("avx2,popcnt"))) size_t BytesOfNamesAvx2(std::span<const std::byte> bytes,
                                                               size_t names) {
  if (names == 0) return 0;
  const __m256i zero = _mm256_setzero_si256();
  const std::byte* data = bytes.data();
  size_t offset = 0;
  for (; bytes.size() - offset >= kStepBytes; offset += kStepBytes) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data + offset));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data + offset + 32));
    const auto low_bits = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, zero)));
    const auto high_bits =
        static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, zero)));
    const uint64_t mask = low_bits | (uint64_t{high_bits} << 32);
    const auto found = static_cast<size_t>(__builtin_popcountll(mask));
    if (found >= names) return offset + IndexOfSetBit(mask, names) + 1;
    names -= found;
  }
  return Finish(bytes, offset, names);
}

#endif  // __x86_64__

}  // namespace

namespace internal {

std::span<const NameScan> NameScans() {
#ifdef __x86_64__
  static constexpr std::array<NameScan, 3> kScans = {BytesOfNamesByDefinition, BytesOfNamesSse2,
                                                     BytesOfNamesAvx2};
  static const size_t scans = __builtin_cpu_supports("avx2") ? 3 : 2;
#else
  static constexpr std::array<NameScan, 1> kScans = {BytesOfNamesByDefinition};
  static constexpr size_t scans = 1;
#endif
  return std::span(kScans).first(scans);
}

}  // namespace internal

size_t BytesOfNames(std::span<const std::byte> bytes, size_t names) {
  static const NameScan best = internal::NameScans().back();
  return best(bytes, names);
}

}  // namespace tickstack
