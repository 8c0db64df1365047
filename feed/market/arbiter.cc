#include "feed/market/arbiter.h"

#include <algorithm>

namespace tickstack::feed::market {
namespace {

constexpr size_t kHeldNodeBytes = 128;  // What a held message takes besides its bytes.

}  // namespace

int64_t Arbiter::repeated() const {
  int64_t sum = 0;
  for (const LineCounts& line : lines_) sum += line.repeated;
  return sum;
}

// nullptr if there are too many.
Arbiter::Stream* Arbiter::FindStream(const LinePacket& packet) {
  if (last_stream_ != nullptr && last_stream_->session == packet.session &&
      last_stream_->channel == packet.channel) {
    return last_stream_;
  }
  key_.assign(packet.channel);
  key_ += '\0';
  key_ += packet.session;
  auto found = streams_.find(key_);
  if (found == streams_.end()) {
    if (streams_.size() >= kStreamsMax) return nullptr;
    found = streams_.emplace(key_, std::make_unique<Stream>()).first;
    found->second->channel = packet.channel;
    found->second->session = packet.session;
  }
  return last_stream_ = found->second.get();
}

// A packet with number 1 of a session that is further on is a repetition, or the session starts
// over. Repetitions were sent before the latest packet; where that is not known, they arrive within
// the time of waiting.
bool Arbiter::StartsOver(const Stream& stream, const LinePacket& packet) const {
  if (packet.first_seq != 1 || !stream.in_order || stream.next_seq <= 1) return false;
  if (packet.sent_ns != kNullLong && stream.last_sent_ns != kNullLong) {
    return packet.sent_ns > stream.last_sent_ns;
  }
  if (packet.recv_ns == kNullLong || stream.first_recv_ns == kNullLong) return false;
  return packet.recv_ns - stream.first_recv_ns > settings_.wait_ns;
}

std::string_view Arbiter::OnPacket(const LinePacket& packet, ArbiterSink& sink) {
  if (packet.line >= kLinesMax) return "it is of too many lines";
  if (packet.first_seq > kSeqMax) return "its sequence number is too large";
  Stream* const found = FindStream(packet);
  if (found == nullptr) return "there are too many sessions";
  Stream& stream = *found;
  if (packet.line >= lines_.size()) lines_.resize(packet.line + 1);
  ++lines_[packet.line].packets;
  lines_[packet.line].messages += static_cast<int64_t>(packet.messages.size());
  if (packet.recv_ns != kNullLong) now_ns_ = std::max(now_ns_, packet.recv_ns);
  if (!packet.is_sequenced) {
    for (const std::span<const std::byte> bytes : packet.messages) {
      sink.OnMessage({packet.channel, packet.session, 0, packet.recv_ns, packet.line, bytes});
    }
    return {};
  }

  if (StartsOver(stream, packet)) {
    CloseAll(stream, "restart", sink);
    Stream again;
    again.channel = std::move(stream.channel);
    again.session = std::move(stream.session);
    stream = std::move(again);
  }
  // Heartbeats may precede number 1 for hours; then a repetition of it is not a session that starts
  // over.
  if (stream.first_recv_ns == kNullLong || stream.end_seq <= 1) stream.first_recv_ns = now_ns_;
  stream.last_sent_ns = std::max(stream.last_sent_ns, packet.sent_ns);
  // Nothing precedes number 1.
  if (!stream.in_order && packet.first_seq <= 1) BeginInOrder(stream, packet.first_seq);
  stream.first_seq = std::min(stream.first_seq, packet.first_seq);
  for (size_t i = 0; i < packet.messages.size(); ++i) TakeMessage(stream, packet, i, sink);
  if (const uint64_t end_seq = packet.first_seq + packet.messages.size();
      end_seq > stream.end_seq) {
    stream.end_seq = end_seq;
    stream.end_since_ns = now_ns_;
  }
  DeliverHeld(stream, sink);
  UpdateWait(stream);
  if (held_bytes_ > settings_.held_bytes_max) CheckBytes(sink);
  if (!settings_.closes_on_time_only && now_ns_ >= deadline_ns_) CheckWaits(now_ns_, sink);
  return {};
}

void Arbiter::TakeMessage(Stream& stream, const LinePacket& packet, size_t index,
                          ArbiterSink& sink) {
  const uint64_t seq = packet.first_seq + index;
  const std::span<const std::byte> bytes = packet.messages[index];
  if (stream.in_order && seq == stream.next_seq) {
    // It may be held already if a message before it was in this packet.
    if (const auto held = stream.held.find(seq); held == stream.held.end()) [[likely]] {
      return Deliver(
          stream, {stream.channel, stream.session, seq, packet.recv_ns, packet.line, bytes}, sink);
    }
    ++lines_[packet.line].repeated;
    return DeliverHeld(stream, sink);
  }
  if (stream.in_order && seq < stream.next_seq) {
    ++lines_[packet.line].repeated;
    return;
  }
  const auto [held, is_new] = stream.held.try_emplace(seq);
  if (!is_new) {
    ++lines_[packet.line].repeated;
    return;
  }
  held->second = {std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                  packet.recv_ns, now_ns_, packet.line};
  held_bytes_ += bytes.size() + kHeldNodeBytes;
}

void Arbiter::Deliver(Stream& stream, const MergedMessage& message, ArbiterSink& sink) {
  ++stream.next_seq;
  stream.delivered_ns = message.recv_ns;
  ++lines_[message.line].first;
  sink.OnMessage(message);
}

void Arbiter::DeliverHeld(Stream& stream, ArbiterSink& sink) {
  while (stream.in_order && !stream.held.empty() && stream.held.begin()->first == stream.next_seq) {
    const auto first = stream.held.begin();
    const Held& held = first->second;
    Deliver(stream,
            {stream.channel, stream.session, first->first, held.recv_ns, held.line,
             std::as_bytes(std::span(held.bytes))},
            sink);
    held_bytes_ -= held.bytes.size() + kHeldNodeBytes;
    stream.held.erase(first);
  }
}

void Arbiter::BeginInOrder(Stream& stream, uint64_t seq) {
  stream.in_order = true;
  stream.next_seq = seq;
}

// Notes since when the stream waits: since the message behind the missing ones arrived. So no
// message is held for longer than wait_ns, however many gaps are before it.
void Arbiter::UpdateWait(Stream& stream) {
  const bool waits = !stream.in_order || !stream.held.empty() || stream.end_seq > stream.next_seq;
  if (!waits) {
    stream.waits_since_ns = kNullLong;
    return;
  }
  if (stream.waits_since_ns == kNullLong || stream.waits_for_seq != stream.next_seq) {
    stream.waits_since_ns = !stream.in_order      ? stream.first_recv_ns
                            : stream.held.empty() ? stream.end_since_ns
                                                  : stream.held.begin()->second.arrived_ns;
    stream.waits_for_seq = stream.next_seq;
  }
  if (now_ns_ == kNullLong) return;
  deadline_ns_ = std::min(deadline_ns_, stream.waits_since_ns + settings_.wait_ns);
}

std::vector<StreamPosition> Arbiter::Positions() const {
  std::vector<StreamPosition> positions;
  for (const auto& [key, stream] : streams_) {
    if (!stream->in_order) continue;
    positions.push_back({stream->channel, stream->session, stream->next_seq, stream->first_recv_ns,
                         stream->last_sent_ns, stream->delivered_ns});
  }
  return positions;
}

void Arbiter::Continue(const StreamPosition& position) {
  LinePacket packet;
  packet.channel = position.channel;
  packet.session = position.session;
  Stream* const stream = FindStream(packet);
  if (stream == nullptr) return;
  BeginInOrder(*stream, position.next_seq);
  stream->first_seq = stream->end_seq = position.next_seq;
  stream->first_recv_ns = position.first_recv_ns;
  stream->last_sent_ns = position.last_sent_ns;
  stream->delivered_ns = position.delivered_ns;
}

std::vector<MissingRange> Arbiter::Missing() const {
  std::vector<MissingRange> missing;
  for (const auto& [key, stream] : streams_) {
    if (!stream->in_order || stream->waits_since_ns == kNullLong) continue;
    const uint64_t end_seq = stream->held.empty() ? stream->end_seq : stream->held.begin()->first;
    if (end_seq <= stream->next_seq) continue;
    missing.push_back(
        {stream->session, stream->next_seq, end_seq - stream->next_seq, stream->waits_since_ns});
  }
  return missing;
}

void Arbiter::MoveClock(int64_t ns) {
  const auto move = [ns](int64_t& time_ns) {
    if (time_ns != kNullLong && time_ns != kInfinityLong) time_ns += ns;
  };
  move(now_ns_);
  move(deadline_ns_);
  for (auto& [key, stream] : streams_) {
    move(stream->end_since_ns);
    move(stream->waits_since_ns);
    move(stream->first_recv_ns);
    for (auto& [seq, held] : stream->held) move(held.arrived_ns);
  }
}

void Arbiter::OnTime(int64_t now_ns, ArbiterSink& sink) {
  now_ns_ = std::max(now_ns_, now_ns);
  if (now_ns >= deadline_ns_) CheckWaits(now_ns, sink);
}

void Arbiter::CheckWaits(int64_t now_ns, ArbiterSink& sink) {
  deadline_ns_ = kInfinityLong;
  for (auto& [key, each] : streams_) {
    Stream& stream = *each;
    if (stream.waits_since_ns == kNullLong) continue;
    // The next gap may have waited as long.
    while (stream.waits_since_ns != kNullLong &&
           now_ns - stream.waits_since_ns >= settings_.wait_ns) {
      CloseGap(stream, "timeout", sink);
      UpdateWait(stream);
    }
    UpdateWait(stream);
  }
}

// Frees bytes of the streams that hold any.
void Arbiter::CheckBytes(ArbiterSink& sink) {
  for (auto& [key, stream] : streams_) {
    while (held_bytes_ > settings_.held_bytes_max && !stream->held.empty()) {
      CloseGap(*stream, "memory", sink);
    }
    UpdateWait(*stream);
  }
}

// Goes on behind the missing messages, or decides that none precede the first.
void Arbiter::CloseGap(Stream& stream, std::string_view why, ArbiterSink& sink) {
  const bool has_held = !stream.held.empty();
  const uint64_t end_seq = has_held ? stream.held.begin()->first : stream.end_seq;
  if (!stream.in_order) {
    BeginInOrder(stream, stream.first_seq);
  } else if (end_seq > stream.next_seq) {
    Gap gap;
    gap.channel = stream.channel;
    gap.session = stream.session;
    gap.time_ns = stream.waits_since_ns;
    gap.recv_ns = stream.waits_since_ns;
    gap.first_seq = static_cast<int64_t>(stream.next_seq);
    gap.last_seq = static_cast<int64_t>(end_seq - 1);
    gap.seq = gap.first_seq;
    gap.first_time_ns = stream.delivered_ns;
    if (has_held) gap.last_time_ns = stream.held.begin()->second.recv_ns;
    gap.tried = settings_.tried;
    gap.closed = why;
    gap.closed_ns = now_ns_;
    ++gaps_;
    missing_ += static_cast<int64_t>(end_seq - stream.next_seq);
    stream.next_seq = end_seq;
    sink.OnGap(gap);
  }
  stream.waits_since_ns = kNullLong;
  DeliverHeld(stream, sink);
}

void Arbiter::CloseAll(Stream& stream, std::string_view why, ArbiterSink& sink) {
  do {
    if (stream.waits_since_ns == kNullLong) stream.waits_since_ns = now_ns_;
    CloseGap(stream, why, sink);
  } while (!stream.held.empty() || stream.end_seq > stream.next_seq);
  stream.waits_since_ns = kNullLong;
}

void Arbiter::Flush(ArbiterSink& sink) {
  for (auto& [key, stream] : streams_) CloseAll(*stream, "end", sink);
}

}  // namespace tickstack::feed::market
