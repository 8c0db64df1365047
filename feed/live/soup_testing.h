#pragma once

// For tests: packets of a SoupBinTCP server.

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "feed/live/soup_packets.h"

namespace tickstack::feed::live {

inline std::string SoupPacketBytes(char type, std::string_view payload = {}) {
  std::string bytes;
  AppendSoupPacket(type, payload, bytes);
  return bytes;
}

inline std::string SoupAccepted(std::string_view session, uint64_t seq) {
  return SoupPacketBytes(
      'A', fmt::format("{:>{}}{:>{}}", session, kSoupSessionBytes, seq, kSoupNumberBytes));
}

}  // namespace tickstack::feed::live
