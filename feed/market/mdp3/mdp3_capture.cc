#include "feed/market/mdp3/mdp3_capture.h"

#include <algorithm>

#include "base/byte_buffer.h"
#include "base/status.h"
#include "base/time.h"
#include "feed/market/exchange_day.h"

namespace tickstack::feed::market {

absl::StatusOr<std::unique_ptr<Mdp3Capture>> Mdp3Capture::Open(const std::string& path,
                                                               ChannelLines lines,
                                                               ArbiterSettings settings) {
  std::unique_ptr<Mdp3Capture> capture(new Mdp3Capture(path, std::move(lines), settings));
  TS_RETURN_IF_ERROR(capture->Rewind());
  return capture;
}

void Mdp3Capture::Reset() {
  only_channel_.clear();
  channels_.clear();
  decoder_.Reset();
}

std::string Mdp3Capture::TypeName(uint8_t type) const {
  return type == UINT8_MAX ? "255_or_more" : fmt::format("{}", type);
}

// nullptr if packets to the destination are not read. Without lines, a packet that is none of the
// protocol is other traffic.
const std::string* Mdp3Capture::ChannelOf(const std::string& destination, bool fits) {
  if (!lines_.empty()) return lines_.Find(destination);
  if (only_channel_.empty() && fits) only_channel_ = destination;
  if (only_channel_ == destination) return &only_channel_;
  if (fits) {
    failure_ = InvalidArgument(
        "found packets to {0} and {1}: expected `channels` to name the channel of each, such as "
        "\"310={0}+{1}\" if they are lines of channel 310",
        only_channel_, destination);
  }
  return nullptr;
}

PacketReader::Why Mdp3Capture::Frame(std::span<const std::byte> payload, const Datagram& datagram,
                                     LinePacket& packet) {
  const Why why = Mdp3Decoder::CheckSizes(payload);
  const std::string* const channel = ChannelOf(DestinationText(datagram), why.empty());
  if (channel == nullptr) return kOtherProtocol;
  if (!why.empty()) return why;
  const auto sent_ns = UnixTimeNs(LoadLittle<int64_t>(payload.data() + sizeof(uint32_t)));
  if (!sent_ns) return "its sending time is not in 1970 to 2200";
  packet.channel = *channel;
  packet.first_seq = LoadLittle<uint32_t>(payload.data());
  packet.sent_ns = *sent_ns;
  messages_.assign(1, payload);
  packet.messages = messages_;
  return SetSession(channels_[*channel], packet);
}

PacketReader::Why Mdp3Capture::SetSession(Channel& channel, LinePacket& packet) {
  const auto seq = static_cast<uint32_t>(packet.first_seq);
  if (channel.sessions.empty() ||
      (seq <= channel.seq && packet.sent_ns > channel.sent_ns + kNsPerSecond)) {
    if (channel.sessions.size() >= Arbiter::kStreamsMax) return "there are too many sessions";
    channel.sessions.push_back(packet.sent_ns);
    channel.seq = seq;
    channel.sent_ns = packet.sent_ns;
  }
  if (seq > channel.seq && packet.sent_ns >= channel.sessions.back()) {
    channel.seq = seq;
    channel.sent_ns = packet.sent_ns;
  }
  // The packet's session is the last one that had begun when it was sent.
  const auto after = std::ranges::upper_bound(channel.sessions, packet.sent_ns);
  channel.session = fmt::format("{}", std::max<ptrdiff_t>(after - channel.sessions.begin(), 1));
  packet.session = channel.session;
  return {};
}

PacketReader::Why Mdp3Capture::DecodeMessage(const MergedMessage& message, const EventHead& head,
                                             EventSink& sink, MessageCounts& counts) {
  return decoder_.DecodePacket(message.bytes, head, sink, counts);
}

std::string Mdp3Capture::TypeText(std::span<const std::byte>) const {
  return fmt::format("{}", decoder_.bad_template());
}

}  // namespace tickstack::feed::market
