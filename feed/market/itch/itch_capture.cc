#include "feed/market/itch/itch_capture.h"

#include <algorithm>

#include "base/status.h"
#include "feed/market/big_endian.h"
#include "feed/market/itch/mold_packet.h"

namespace tickstack::feed::market {

absl::StatusOr<std::unique_ptr<ItchCapture>> ItchCapture::Open(const std::string& path,
                                                               int64_t midnight_ns,
                                                               ArbiterSettings settings) {
  std::unique_ptr<ItchCapture> capture(new ItchCapture(path, midnight_ns, settings));
  TS_RETURN_IF_ERROR(capture->Rewind());
  return capture;
}

std::unique_ptr<PacketReader> ItchCapture::Live(std::optional<int64_t> midnight_ns,
                                                ExchangeDays days, ArbiterSettings settings) {
  settings.closes_on_time_only = true;
  std::unique_ptr<ItchCapture> decoder(new ItchCapture("live", midnight_ns.value_or(0), settings));
  if (!midnight_ns) decoder->days_ = days;
  return decoder;
}

// MoldUDP64 has no mark of its own, so every datagram is taken for it.
PacketReader::Why ItchCapture::Frame(std::span<const std::byte> payload, const Datagram&,
                                     LinePacket& packet) {
  if (payload.size() < kMoldHeadBytes) return "it is shorter than the head of a packet";
  packet.session = PaddedText(payload.data(), kMoldSessionBytes);
  packet.channel = packet.session;
  packet.first_seq = BigU64(payload.data() + kMoldSessionBytes);
  const uint16_t count = BigU16(payload.data() + kMoldSessionBytes + sizeof(uint64_t));
  packet.ends_session = count == kMoldEndOfSession;
  // Numbers begin with 1.
  packet.is_sequenced = packet.first_seq != 0;
  const Why why =
      SplitMessages<BigU16>(payload.subspan(kMoldHeadBytes), packet.ends_session ? 0 : count);
  packet.messages = messages_;
  return why;
}

std::string ItchCapture::RequestFor(const MissingRange& missing) const {
  MoldPacket request;
  request.Begin(missing.session, missing.first_seq);
  request.SetCount(static_cast<uint16_t>(std::min<uint64_t>(missing.count, kMoldEndOfSession - 1)));
  const std::span<const std::byte> bytes = request.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

PacketReader::Why ItchCapture::DecodeMessage(const MergedMessage& message, const EventHead& head,
                                             EventSink& sink, MessageCounts& counts) {
  if (days_) decoder_.SetMidnight(days_->MidnightBefore(message.recv_ns));
  return decoder_.Decode(message.bytes, head, sink, counts);
}

}  // namespace tickstack::feed::market
