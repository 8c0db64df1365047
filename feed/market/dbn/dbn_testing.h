#pragma once

// For tests: the bytes of DBN files.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "feed/market/event_testing.h"

namespace tickstack::feed::market {

// Converts a time in ns since 2000 to ns since 1970.
constexpr uint64_t DbnUnixNs(int64_t ns) { return static_cast<uint64_t>(ns + kUnixNsOfKdbEpoch); }

inline std::string DbnText(std::string_view text, size_t bytes) {
  std::string padded(text);
  padded.resize(bytes, '\0');
  return padded;
}

// Numbers of instruments mapped to symbols, or symbols to numbers.
struct DbnMappingBytes {
  std::string name;
  uint32_t begin = 20'000'101;
  uint32_t end = 20'000'103;
  std::string other;
};

// A header, which maps symbols to numbers, or from numbers if it is inverse.
inline std::string DbnHeader(uint8_t version, const std::vector<DbnMappingBytes>& mappings = {},
                             bool is_inverse = false) {
  const size_t symbol_bytes = version == 1 ? 22 : 71;
  std::string body = DbnText("GLBX.MDP3", 16) + MessageBytes().Little(0, 26).bytes();
  if (version == 1) body += MessageBytes().Little(0, 8).bytes();
  body += MessageBytes().Little(is_inverse ? 0 : 1, 1).Little(is_inverse ? 1 : 0, 1).bytes();
  body += '\0';
  body += version == 1 ? std::string(47, '\0')
                       : MessageBytes().Little(symbol_bytes, 2).Little(0, 53).bytes();
  body += std::string(4 * 4, '\0') + MessageBytes().Little(mappings.size(), 4).bytes();
  for (const DbnMappingBytes& mapping : mappings) {
    body += DbnText(mapping.name, symbol_bytes) +
            MessageBytes().Little(1, 4).Little(mapping.begin, 4).Little(mapping.end, 4).bytes() +
            DbnText(mapping.other, symbol_bytes);
  }
  return "DBN" + MessageBytes().Little(version, 1).Little(body.size(), 4).bytes() + body;
}

// A record of publisher 1 about instrument 7 at 1 ns.
inline std::string DbnRecordBytes(uint8_t type, std::string_view body,
                                  uint64_t time_ns = DbnUnixNs(1), uint32_t instrument = 7,
                                  uint16_t publisher = 1) {
  const size_t words = (16 + body.size()) / 4;
  return MessageBytes()
             .Little(words, 1)
             .Little(type, 1)
             .Little(publisher, 2)
             .Little(instrument, 4)
             .Little(time_ns, 8)
             .bytes() +
         std::string(body);
}

// An order of channel 3, with sequence number 9, received at 2 ns.
inline std::string DbnOrderBytes(char action, char side, int64_t price, uint32_t size,
                                 uint64_t order = 5, uint32_t instrument = 7) {
  return DbnRecordBytes(0xA0,
                        MessageBytes()
                            .Little(order, 8)
                            .Little(static_cast<uint64_t>(price), 8)
                            .Little(size, 4)
                            .Little(0x82, 1)
                            .Little(3, 1)
                            .Text({&action, 1}, 1)
                            .Text({&side, 1}, 1)
                            .Little(DbnUnixNs(2), 8)
                            .Little(0, 4)
                            .Little(9, 4)
                            .bytes(),
                        DbnUnixNs(1), instrument);
}

}  // namespace tickstack::feed::market
