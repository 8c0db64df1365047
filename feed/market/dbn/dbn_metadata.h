#pragma once

// The header of a DBN file. Numbers are little-endian.
//
//   `DBN` | version u8 | length u32 | dataset 16 | schema u16 | start u64 | end u64 | limit u64 |
//   records u64 (version 1) | symbol types in u8, out u8 | send times u8 |
//   bytes of a symbol u16 (from version 2; 22 in version 1) | reserved 47 or 53 |
//   definition: length u32, bytes | symbols | partly found | not found | mappings | padding
//
// A list is a count u32 and its symbols. A mapping is a symbol, and a list of intervals: first day
// and day after the last, as a number 20240131, and a symbol. One of the two is the number of an
// instrument.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "feed/market/byte_stream.h"
#include "feed/market/dbn/dbn_symbols.h"

namespace tickstack::feed::market {

struct DbnMetadata {
  static constexpr uint8_t kVersionMax = 3;
  // Bounds what a header can make the reader remember: five million symbols of version 2.
  static constexpr uint32_t kLengthMax = uint32_t{512} << 20;

  uint8_t version = 0;
  std::string dataset;  // Such as `GLBX.MDP3`.
  DbnSymbols symbols;
};

// Reads the header, and consumes it. kDataLoss, with file and byte: another format (DBZ and
// fragments without a header by name), another version, a header that is cut off or does not fit.
absl::StatusOr<DbnMetadata> ReadDbnMetadata(ByteStream& bytes);

}  // namespace tickstack::feed::market
