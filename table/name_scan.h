#pragma once

// Finds the end of a run of NUL-terminated names. Names are the only part of a batch of which every
// byte must be read to find its end, since a symbol vector declares the number of its names, not of
// their bytes.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tickstack {

inline constexpr size_t kTooFewNames = SIZE_MAX;

// Returns the bytes of the first `names` names, including their NULs, or kTooFewNames if the bytes
// end earlier. Reads nothing outside `bytes`.
//
// Cost: 64 bytes per step (compare with zero, count the bits), a few cycles each: bound by memory
// bandwidth if the bytes are not in cache. Uses the machine's best vectors (base/vector_targets.h).
size_t BytesOfNames(std::span<const std::byte> bytes, size_t names);

namespace internal {
// Computes the same as BytesOfNames, byte by byte. For the test that compares the two.
size_t BytesOfNamesByDefinition(std::span<const std::byte> bytes, size_t names);
// Returns each version of BytesOfNames that this machine supports. For that test, too.
using NameScan = size_t (*)(std::span<const std::byte>, size_t);
std::vector<NameScan> NameScans();
}  // namespace internal

}  // namespace tickstack
