#pragma once

// Finds the end of a run of NUL-terminated names. It is the only part of a batch where every byte
// must be read, since a symbol vector declares the number of names, not of bytes.

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
// The definition, and each version that this machine supports; for the test that compares them.
size_t BytesOfNamesByDefinition(std::span<const std::byte> bytes, size_t names);
using NameScan = size_t (*)(std::span<const std::byte>, size_t);
std::vector<NameScan> NameScans();
}  // namespace internal

}  // namespace tickstack
