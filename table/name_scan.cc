#include "table/name_scan.h"

#include <bit>
#include <cstring>
#include <type_traits>

#include "base/vector_targets.h"

// Highway includes this file once per instruction set, each time with another HWY_NAMESPACE.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "table/name_scan.cc"
#include <hwy/foreach_target.h>  // Before highway.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tickstack::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kStepBytes = 64;

// Returns one bit per byte of a step, set where the byte is zero.
uint64_t ZeroBytes(const std::byte* at) {
  const hn::CappedTag<uint8_t, kStepBytes> d;
  constexpr size_t kVectorBytes = hn::MaxLanes(d);
  using Bits = std::conditional_t<kVectorBytes == 16, uint16_t,
                                  std::conditional_t<kVectorBytes == 32, uint32_t, uint64_t>>;
  uint64_t mask = 0;
  for (size_t i = 0; i < kStepBytes; i += kVectorBytes) {
    const auto block = hn::LoadU(d, reinterpret_cast<const uint8_t*>(at + i));
    uint8_t bytes[8];  // StoreMaskBits demands 8.
    hn::StoreMaskBits(d, hn::Eq(block, hn::Zero(d)), bytes);
    // Reads just what was written, so that the compiler can leave out the memory.
    Bits bits;
    std::memcpy(&bits, bytes, sizeof(bits));
    mask |= uint64_t{bits} << i;
  }
  return mask;
}

size_t BytesOfNamesByVectors(std::span<const std::byte> bytes, size_t names) {
  if (names == 0) return 0;
  const size_t whole = bytes.size() / kStepBytes * kStepBytes;
  size_t offset = 0;
  for (; offset < whole; offset += kStepBytes) {
    uint64_t mask = ZeroBytes(bytes.data() + offset);
    const auto found = static_cast<size_t>(std::popcount(mask));
    if (found >= names) {
      for (; names > 1; --names) mask &= mask - 1;
      return offset + static_cast<size_t>(std::countr_zero(mask)) + 1;
    }
    names -= found;
  }
  const size_t rest = internal::BytesOfNamesByDefinition(bytes.subspan(offset), names);
  return rest == kTooFewNames ? kTooFewNames : offset + rest;
}

}  // namespace
}  // namespace tickstack::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace tickstack {
namespace {

HWY_EXPORT(BytesOfNamesByVectors);

}  // namespace

namespace internal {

size_t BytesOfNamesByDefinition(std::span<const std::byte> bytes, size_t names) {
  if (names == 0) return 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == std::byte{0} && --names == 0) return i + 1;
  }
  return kTooFewNames;
}

std::vector<NameScan> NameScans() {
  std::vector<NameScan> scans;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::ChosenTarget chosen;
    chosen.Update(target);
    const auto& table = HWY_DISPATCH_TABLE(BytesOfNamesByVectors);
    scans.push_back(table[std::size(table) == 1 ? 0 : chosen.GetIndex()]);
  }
  return scans;
}

}  // namespace internal

size_t BytesOfNames(std::span<const std::byte> bytes, size_t names) {
  static const internal::NameScan best = internal::NameScans().front();
  return best(bytes, names);
}

}  // namespace tickstack

#endif  // HWY_ONCE
