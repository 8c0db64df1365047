#pragma once

// The index that kdb+ keeps behind the rows of a parted (`p#`) enumerated column, 64-bit form; the
// layout is in docs/formats.md.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/byte_buffer.h"

namespace tickstack {

// The bytes that follow the elements of a column of `rows` rows. `keys`: the distinct positions in
// the order of their rows; `starts`: the first row of each. Both have the same size. Cost: some 50
// bytes and a few cache misses a key.
ByteBuffer PartedIndexBytes(std::span<const int64_t> keys, std::span<const int64_t> starts,
                            int64_t rows);

// The hash table in it: where each key is found. Open addressing over `slots` slots, a power of two
// and at least twice the keys; a slot has the number of its key, or -1.
std::vector<int64_t> PartedHashTable(std::span<const int64_t> keys, size_t slots);

}  // namespace tickstack
