#pragma once

// A capture of multicast PITCH: UDP packets, each with a sequenced unit header.
//
//   0 length u16, of the whole packet | 2 messages u8 | 3 unit u8 | 4 first sequence number u32
//   8 length u8 | type ... | length u8 | type ...
//
// Little-endian. A packet without messages is a heartbeat; its number is that of the next message.
// Messages of packets with the number 0 have none. A unit is a channel: its lines are told by their
// destinations, and have the same numbers. So a capture must be of one market.

#include <string>

#include "feed/market/packet_reader.h"
#include "feed/market/pitch/pitch_decoder.h"

namespace tickstack::feed::market {

class PitchCapture final : public PacketReader {
 public:
  // `midnight_ns` and `market`: as for PitchDecoder. Errors of PacketFile::Open.
  static absl::StatusOr<std::unique_ptr<PitchCapture>> Open(const std::string& path,
                                                            int64_t midnight_ns, PitchMarket market,
                                                            ArbiterSettings settings = {});
  std::string TypeName(uint8_t type) const override { return fmt::format("0x{:02x}", type); }

 private:
  PitchCapture(std::string path, int64_t midnight_ns, PitchMarket market, ArbiterSettings settings)
      : PacketReader(std::move(path), settings), decoder_(midnight_ns, market) {}
  Why Frame(std::span<const std::byte> payload, const Datagram& datagram,
            LinePacket& packet) override;
  Why SplitPacket(std::span<const std::byte> payload);
  Why DecodeMessage(const MergedMessage& message, const EventHead& head, EventSink& sink,
                    MessageCounts& counts) override;
  std::string TypeText(std::span<const std::byte> message) const override;
  void Reset() override { decoder_.Reset(); }

  PitchDecoder decoder_;
  std::string channel_;  // The last packet's.
};

}  // namespace tickstack::feed::market
