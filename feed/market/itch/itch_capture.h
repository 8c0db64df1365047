#pragma once

// A capture of ITCH messages in MoldUDP64 packets (mold_packet.h). The session's name is the
// channel: the lines of a channel have the same one.

#include <memory>
#include <optional>
#include <string>

#include "feed/market/exchange_day.h"
#include "feed/market/itch/itch_decoder.h"
#include "feed/market/packet_reader.h"

namespace tickstack::feed::market {

class ItchCapture final : public PacketReader {
 public:
  // `midnight_ns`: as for ItchDecoder. Errors of PacketFile::Open.
  static absl::StatusOr<std::unique_ptr<ItchCapture>> Open(const std::string& path,
                                                           int64_t midnight_ns,
                                                           ArbiterSettings settings = {});

  // Returns a decoder of packets that are received live. Without `midnight_ns`, the day of a
  // message is that of its time of receipt in the exchange's time zone.
  static std::unique_ptr<PacketReader> Live(std::optional<int64_t> midnight_ns, ExchangeDays days,
                                            ArbiterSettings settings);

 private:
  ItchCapture(std::string path, int64_t midnight_ns, ArbiterSettings settings)
      : PacketReader(std::move(path), settings), decoder_(midnight_ns) {}
  // A request of MoldUDP64: session a10 | first sequence number u64 | messages u16.
  std::string RequestFor(const MissingRange& missing) const override;
  Why Frame(std::span<const std::byte> payload, const Datagram& datagram,
            LinePacket& packet) override;
  Why DecodeMessage(const MergedMessage& message, const EventHead& head, EventSink& sink,
                    MessageCounts& counts) override;
  void Reset() override { decoder_.Reset(); }

  ItchDecoder decoder_;
  std::optional<ExchangeDays> days_;  // Sets the decoder's day, if it is not given.
};

}  // namespace tickstack::feed::market
