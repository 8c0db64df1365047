#pragma once

// The index that kdb+ keeps behind the rows of a parted (`p#`) enumerated column, 64-bit form; the
// layout is in docs/formats.md.

#include <cstdint>
#include <span>

#include "base/byte_buffer.h"

namespace tickstack {

// The bytes that follow the elements of a column of `rows` rows. `keys`: the distinct positions in
// the order of their rows; `starts`: the first row of each. Both have the same size. Cost: some 50
// bytes and a few cache misses a key.
ByteBuffer PartedIndexBytes(std::span<const int64_t> keys, std::span<const int64_t> starts,
                       int64_t rows);

}  // namespace tickstack
