#pragma once

// Writes the index that kdb+ keeps after the rows of a parted (`p#`) enumerated column, in the
// 64-bit form; docs/formats.md has the layout.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/byte_buffer.h"

namespace tickstack::disk {

// Returns the bytes that follow the elements of a column of `rows` rows. `keys` has the distinct
// positions in the order of their rows, and `starts` has the first row of each. Cost: some 50 bytes
// and a few cache misses per key.
ByteBuffer PartedIndexBytes(std::span<const int64_t> keys, std::span<const int64_t> starts,
                            int64_t rows);

// Returns the index's hash table, which has the place of each key. It uses open addressing over
// `slots` slots, a power of two of at least twice the keys; a slot has the number of its key, or
// -1.
std::vector<int64_t> PartedHashTable(std::span<const int64_t> keys, size_t slots);

}  // namespace tickstack::disk
