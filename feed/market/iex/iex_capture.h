#pragma once

// A capture of IEX's feeds: IEX-TP packets over UDP, with TOPS, DEEP or DEEP+ messages.
//
//   0 version 1 | 1 reserved | 2 protocol u16 | 4 channel u32 | 8 session u32
//   12 payload length u16 | 14 messages u16 | 16 stream offset i64
//   24 first sequence number i64 | 32 send time i64
//   40 length u16 | message | length u16 | message ...
//
// Little-endian. A packet without messages is a heartbeat; its number is that of the next message.

#include <string>

#include "feed/market/packet_reader.h"

namespace tickstack::feed::market {

class IexCapture final : public PacketReader {
 public:
  static absl::StatusOr<std::unique_ptr<IexCapture>> Open(const std::string& path,
                                                          ArbiterSettings settings = {});
  // Returns a decoder of packets that are received live.
  static std::unique_ptr<PacketReader> Live(ArbiterSettings settings);

 private:
  using PacketReader::PacketReader;
  Why Frame(std::span<const std::byte> payload, const Datagram& datagram,
            LinePacket& packet) override;
  Why DecodeMessage(const MergedMessage& message, const EventHead& head, EventSink& sink,
                    MessageCounts& counts) override;
  void Reset() override {}

  std::string channel_, session_;  // The last packet's.
};

}  // namespace tickstack::feed::market
