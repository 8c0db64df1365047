#include "feed/market/pitch/pitch_capture.h"

#include <charconv>

#include "base/byte_buffer.h"
#include "base/status.h"

namespace tickstack::feed::market {
namespace {

constexpr size_t kUnitHeadBytes = 8;
constexpr size_t kMessageBytesMin = 2;  // Length and type.

}  // namespace

absl::StatusOr<std::unique_ptr<PitchCapture>> PitchCapture::Open(const std::string& path,
                                                                 int64_t midnight_ns,
                                                                 PitchMarket market,
                                                                 ArbiterSettings settings) {
  std::unique_ptr<PitchCapture> capture(new PitchCapture(path, midnight_ns, market, settings));
  TS_RETURN_IF_ERROR(capture->Rewind());
  return capture;
}

// Packets have no mark of their own, so every datagram is taken for one.
PacketReader::Why PitchCapture::Frame(std::span<const std::byte> payload, const Datagram&,
                                      LinePacket& packet) {
  if (payload.size() < kUnitHeadBytes) return "it is shorter than the head of a packet";
  if (LoadLittle<uint16_t>(payload.data()) != payload.size()) {
    return "its length is not that of the packet";
  }
  if (const Why why = SplitPacket(payload); !why.empty()) return why;
  channel_ = fmt::format("{}", static_cast<unsigned>(payload[3]));
  packet.channel = channel_;
  packet.first_seq = LoadLittle<uint32_t>(payload.data() + 4);
  packet.is_sequenced = packet.first_seq != 0;
  packet.messages = messages_;
  if (packet.first_seq + messages_.size() > uint64_t{UINT32_MAX} + 1) {
    return "its sequence numbers exceed 4 bytes";
  }
  return {};
}

PacketReader::Why PitchCapture::SplitPacket(std::span<const std::byte> payload) {
  const auto count = static_cast<size_t>(payload[2]);
  std::span<const std::byte> rest = payload.subspan(kUnitHeadBytes);
  messages_.clear();
  for (size_t i = 0; i < count; ++i) {
    if (rest.empty()) return "it has fewer messages than it says";
    const auto length = static_cast<size_t>(rest[0]);
    if (length < kMessageBytesMin) return "a message is shorter than its head";
    if (length > rest.size()) return "it ends within a message";
    messages_.push_back(rest.first(length));
    rest = rest.subspan(length);
  }
  return rest.empty() ? "" : "it has more messages than it says";
}

PacketReader::Why PitchCapture::DecodeMessage(const MergedMessage& message, const EventHead& head,
                                              EventSink& sink, MessageCounts& counts) {
  uint8_t unit = 0;
  std::from_chars(message.channel.data(), message.channel.data() + message.channel.size(), unit);
  return decoder_.Decode(message.bytes, unit, head, sink, counts);
}

std::string PitchCapture::TypeText(std::span<const std::byte> message) const {
  return TypeName(static_cast<uint8_t>(message[1]));
}

}  // namespace tickstack::feed::market
