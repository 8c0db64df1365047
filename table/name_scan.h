#pragma once

// How far a run of NUL-terminated names reaches: the one place in a batch where every byte must be
// looked at, since a symbol vector says how many names it has and not how many bytes.

#include <cstddef>
#include <cstdint>
#include <span>

namespace tickstack {

inline constexpr size_t kTooFewNames = SIZE_MAX;

// Bytes of the first `names` names of `bytes`, their NULs included, or kTooFewNames if the bytes
// end before. Reads nothing outside `bytes`.
//
// Cost: 64 bytes a step (compare with zero, count the bits), a few cycles each: bound by memory
// bandwidth as soon as the bytes are not in cache. AVX2 where the CPU has it, else SSE2, else
// bytes.
size_t BytesOfNames(std::span<const std::byte> bytes, size_t names);

namespace internal {
// The definition, and each way of computing it that this CPU has; for the test that compares them.
size_t BytesOfNamesByDefinition(std::span<const std::byte> bytes, size_t names);
using NameScan = size_t (*)(std::span<const std::byte>, size_t);
std::span<const NameScan> NameScans();
}  // namespace internal

}  // namespace tickstack
