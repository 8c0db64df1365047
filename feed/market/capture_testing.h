#pragma once

// For tests: the bytes of captures.

#include <cstdint>
#include <string>

#include "feed/market/event_testing.h"

namespace tickstack::feed::market {

// A capture in pcap format with times in ns.
class CaptureBytes {
 public:
  CaptureBytes() {
    bytes_ = MessageBytes()
                 .Little(0xa1b23c4d, 4)
                 .Little(2, 2)
                 .Little(4, 2)
                 .Little(0, 8)
                 .Little(65'535, 4)
                 .Little(1, 4)
                 .bytes();
  }

  // Adds a UDP datagram to 239.0.0.`group`, port 1000, in an Ethernet frame with a VLAN tag and
  // padding. Of its frame, `cut` bytes are not captured.
  CaptureBytes& Udp(const std::string& payload, int64_t unix_ns, uint8_t group = 1,
                    size_t cut = 0) {
    const size_t udp_bytes = payload.size() + 8;
    const std::string frame = MessageBytes()
                                  .Big(0, 12)
                                  .Big(0x8100, 2)
                                  .Big(141, 2)
                                  .Big(0x0800, 2)
                                  .Big(0x45, 1)
                                  .Big(0, 1)
                                  .Big(udp_bytes + 20, 2)
                                  .Big(0, 5)
                                  .Big(17, 1)
                                  .Big(0, 2)
                                  .Big(0x0a000001, 4)
                                  .Big(0xef000000u + group, 4)
                                  .Big(2'000, 2)
                                  .Big(1'000, 2)
                                  .Big(udp_bytes, 2)
                                  .Big(0, 2)
                                  .bytes() +
                              payload + "padding";
    const size_t captured = frame.size() - (cut == 0 ? 0 : cut + 7);
    bytes_ += MessageBytes()
                  .Little(static_cast<uint64_t>(unix_ns / 1'000'000'000), 4)
                  .Little(static_cast<uint64_t>(unix_ns % 1'000'000'000), 4)
                  .Little(captured, 4)
                  .Little(frame.size(), 4)
                  .bytes() +
              frame.substr(0, captured);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace tickstack::feed::market
