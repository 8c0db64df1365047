#include "feed/market/dropped_messages.h"

#include <algorithm>

namespace tickstack::feed::market {

void DroppedMessages::Add(const MergedMessage& message, EventSink& sink) {
  if (message.seq == 0) return;  // It has no number.
  const auto seq = static_cast<int64_t>(message.seq);
  Add(message.channel, message.session, {seq, seq, message.recv_ns, message.recv_ns}, sink);
}

void DroppedMessages::Add(const Gap& gap, EventSink& sink) {
  Add(gap.channel, gap.session, {gap.first_seq, gap.last_seq, gap.recv_ns, gap.recv_ns}, sink);
}

void DroppedMessages::Add(std::string_view channel, std::string_view session, const Range& range,
                          EventSink& sink) {
  Key key{std::string(channel), std::string(session)};
  const auto [found, is_new] = ranges_.try_emplace(std::move(key), range);
  if (is_new) return;
  Range& known = found->second;
  if (range.first_seq != known.last_seq + 1) {
    Send(found->first, known, range.last_time_ns, sink);
    known = range;
    return;
  }
  known.last_seq = range.last_seq;
  known.last_time_ns = std::max(known.last_time_ns, range.last_time_ns);
}

void DroppedMessages::Close(int64_t now_ns, EventSink& sink) {
  for (const auto& [key, range] : ranges_) Send(key, range, now_ns, sink);
  ranges_.clear();
}

void DroppedMessages::Send(const Key& key, const Range& range, int64_t now_ns, EventSink& sink) {
  Gap gap;
  gap.channel = key.first;
  gap.session = key.second;
  gap.time_ns = gap.recv_ns = range.first_time_ns;
  gap.seq = gap.first_seq = range.first_seq;
  gap.last_seq = range.last_seq;
  gap.first_time_ns = range.first_time_ns;
  gap.last_time_ns = range.last_time_ns;
  gap.closed = "full";
  gap.closed_ns = now_ns;
  sink.On(gap);
}

}  // namespace tickstack::feed::market
