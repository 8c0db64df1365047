#include "feed/market/packet_decoder.h"

#include <fmt/format.h>

namespace tickstack::feed::market {

void PacketDecoder::Restart() {
  arbiter_ = std::make_unique<Arbiter>(settings_);
  counts_ = {};
}

void PacketDecoder::EndCall() {
  counts_.repeated = arbiter_->repeated();
  counts_.gaps = arbiter_->gaps();
  sink_ = nullptr;
}

void PacketDecoder::FlushHeld(EventSink& sink) {
  sink_ = &sink;
  arbiter_->Flush(*this);
  EndCall();
}

void PacketDecoder::OnTime(int64_t now_ns, EventSink& sink) {
  sink_ = &sink;
  arbiter_->OnTime(now_ns, *this);
  EndCall();
}

void PacketDecoder::SetDrops(bool drops, int64_t now_ns, EventSink& sink) {
  drops_ = drops;
  if (!drops) dropped_.Close(now_ns, sink);
}

PacketDecoder::Why PacketDecoder::TakeDatagram(const Datagram& datagram, size_t line,
                                               int64_t recv_ns, EventSink& sink) {
  ++counts_.packets;
  LinePacket packet;
  Why why = Frame(datagram.payload, datagram, packet);
  if (why == kOtherProtocol) {
    ++counts_.other_packets;
    return why;
  }
  if (!datagram.is_whole) why = "the capture has a part of it only";
  if (why.empty()) {
    packet.line = line;
    packet.recv_ns = recv_ns;
    sink_ = &sink;
    why = arbiter_->OnPacket(packet, *this);
    EndCall();
  }
  if (why.empty()) {
    if (packet.messages.empty()) ++counts_.heartbeats;
    return why;
  }
  ++counts_.bad_packets;
  counts_.AddProblem(fmt::format("{}: {} bytes to {}: {}", Place(), datagram.payload.size(),
                                 DestinationText(datagram), why));
  return why;
}

void PacketDecoder::OnMessage(const MergedMessage& message) {
  EventHead head;
  if (message.seq != 0) head.seq = static_cast<int64_t>(message.seq);
  head.recv_ns = message.recv_ns;
  head.channel = message.channel;
  if (drops_) {
    ++counts_.dropped;
    dropped_.Add(message, *sink_);
  }
  const Why why = DecodeMessage(message, head, drops_ ? no_events_ : *sink_, counts_);
  if (why.empty()) return;
  counts_.AddProblem(
      fmt::format("{} or before: channel {} session {} message {} of type {} and {} bytes: {}",
                  Place(), message.channel, message.session, message.seq, TypeText(message.bytes),
                  message.bytes.size(), why));
}

void PacketDecoder::OnGap(const Gap& gap) {
  if (drops_) {
    dropped_.Add(gap, *sink_);
  } else {
    sink_->On(gap);
  }
}

}  // namespace tickstack::feed::market
