#include "feed/market/iex/iex_capture.h"

#include "base/byte_buffer.h"
#include "base/status.h"
#include "base/time.h"
#include "feed/market/iex/iex_decoder.h"

namespace tickstack::feed::market {
namespace {

constexpr size_t kIexHeadBytes = 40;
constexpr std::byte kIexVersion{1};

// The name of a protocol in the column channel; empty for others.
std::string_view IexProtocol(uint16_t number) {
  switch (number) {
    case 0x8002:
    case 0x8003:
      return "TOPS";
    case 0x8004:
      return "DEEP";
    case 0x8005:
      return "DEEP+";
    default:
      return {};
  }
}

uint16_t IexLength(const std::byte* at) { return LoadLittle<uint16_t>(at); }

}  // namespace

absl::StatusOr<std::unique_ptr<IexCapture>> IexCapture::Open(const std::string& path,
                                                             ArbiterSettings settings) {
  std::unique_ptr<IexCapture> capture(new IexCapture(path, settings));
  TS_RETURN_IF_ERROR(capture->Rewind());
  return capture;
}

std::unique_ptr<PacketReader> IexCapture::Live(ArbiterSettings settings) {
  settings.closes_on_time_only = true;
  return std::unique_ptr<PacketReader>(new IexCapture("live", settings));
}

PacketReader::Why IexCapture::Frame(std::span<const std::byte> payload, const Datagram&,
                                    LinePacket& packet) {
  if (payload.size() < kIexHeadBytes || payload[0] != kIexVersion) return kOtherProtocol;
  const std::byte* const at = payload.data();
  const std::string_view protocol = IexProtocol(LoadLittle<uint16_t>(at + 2));
  if (protocol.empty()) return kOtherProtocol;
  const size_t length = LoadLittle<uint16_t>(at + 12);
  if (payload.size() - kIexHeadBytes < length) return "it is shorter than its payload length";
  const size_t count = LoadLittle<uint16_t>(at + 14);
  const Why why = SplitMessages<IexLength>(payload.subspan(kIexHeadBytes, length), count);
  if (!why.empty()) return why;
  channel_ = fmt::format("{} {}", protocol, LoadLittle<uint32_t>(at + 4));
  session_ = fmt::format("{}", LoadLittle<uint32_t>(at + 8));
  packet.channel = channel_;
  packet.session = session_;
  packet.first_seq = LoadLittle<uint64_t>(at + 24);
  packet.messages = messages_;
  packet.sent_ns = LoadLittle<int64_t>(at + 32);
  return {};
}

PacketReader::Why IexCapture::DecodeMessage(const MergedMessage& message, const EventHead& head,
                                            EventSink& sink, MessageCounts& counts) {
  return DecodeIex(message.bytes, head, sink, counts);
}

}  // namespace tickstack::feed::market
