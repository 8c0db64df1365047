#pragma once

// Records of Databento's DBN, versions 1 to 3: one record in, its events out. Numbers are
// little-endian. Layouts differ by the version of the file only in definitions, statistics, and
// records of live data.
//
//   0 length u8, in words of 4 bytes | 1 type u8 | 2 publisher u16 | 4 instrument u32 |
//   8 time u64, ns since 1970 | 16 ...

#include <cstdint>
#include <span>
#include <string_view>

#include "feed/market/dbn/dbn_record.h"

namespace tickstack::feed::market {

// Threads: one owner. Memory: that of DbnSymbols and DbnBooks.
class DbnDecoder {
 public:
  static constexpr size_t kHeadBytes = 16;

  explicit DbnDecoder(DbnMetadata metadata) : state_(std::move(metadata)) {}

  // Decodes a record, which is the `number`th of the file. Counts it, and returns why it does not
  // fit, or an empty text. A record may be longer than its type. Cost: 10 to 20 ns for an order.
  std::string_view Decode(std::span<const std::byte> record, int64_t number, EventSink& sink,
                          MessageCounts& counts);

  // Returns the time by which a record is paced, in ns since 2000: when it was received, or else
  // when it happened. Null for a record that does not fit.
  static int64_t TimeNs(std::span<const std::byte> record);

  // Returns the name of a type, such as `mbo`; empty: it is not known.
  static std::string_view TypeName(uint8_t type);

 private:
  DbnState state_;
};

}  // namespace tickstack::feed::market
