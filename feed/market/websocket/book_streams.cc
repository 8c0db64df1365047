#include "feed/market/websocket/book_streams.h"

#include <algorithm>

namespace tickstack::feed::market {

using State = BookStream::State;

void BookStreams::Reset() {
  streams_.clear();
  connections_.clear();
  early_snapshots_.clear();
  held_levels_ = 0;
}

BookStream* BookStreams::Find(std::string_view session, std::string_view channel,
                              std::string_view sym) {
  Key key(session, channel, sym);
  const auto found = streams_.find(key);
  if (found != streams_.end()) return &found->second;
  if (streams_.size() == kStreamsMax) return nullptr;
  BookStream& stream = streams_[std::move(key)];
  stream.session = session;
  stream.channel = channel;
  stream.sym = sym;
  const auto early = early_snapshots_.find(sym);
  if (early != early_snapshots_.end()) {
    stream.state = State::kGiven;
    stream.snapshot_number = early->second.number;
    stream.last_recv_ns = early->second.recv_ns;
    early_snapshots_.erase(early);
  }
  return &stream;
}

std::optional<std::string_view> BookStreams::OnlySymbol() const {
  std::optional<std::string_view> only;
  for (const auto& [key, stream] : streams_) {
    if (only && *only != stream.sym) return std::nullopt;
    only = stream.sym;
  }
  return only;
}

void BookStreams::Send(const EventHead& head, std::span<const BookLevel> levels,
                       std::string_view cond, EventSink& sink) {
  Level event{head};
  if (cond == kSnapshotCond) {
    event.cond = kClearCond;
    event.complete = levels.empty();
    sink.On(event);
  }
  for (const BookLevel& level : levels) {
    event.time_ns = level.time_ns == kNullLong ? head.time_ns : level.time_ns;
    event.side = level.side;
    event.price = level.price;
    event.amount = level.amount;
    event.complete = &level == &levels.back();
    event.cond = level.cond.empty() ? cond : level.cond;
    sink.On(event);
  }
}

void BookStreams::Begin(BookStream& stream, const EventHead& head,
                        std::span<const BookLevel> levels, EventSink& sink) {
  CloseGap(stream, kSnapshotCond, head.recv_ns, sink);
  stream.state = State::kWhole;
  stream.last_recv_ns = head.recv_ns;
  Send(head, levels, kSnapshotCond, sink);
}

void BookStreams::Change(BookStream& stream, const EventHead& head,
                         std::span<const BookLevel> levels, EventSink& sink) {
  stream.last_recv_ns = head.recv_ns;
  Send(head, levels, stream.is_whole() ? std::string_view() : kUnsyncedCond, sink);
}

// Returns whether the update was received before.
bool BookStreams::SendRepeated(const BookStream& stream, const EventHead& head,
                               const BookUpdate& update, std::span<const BookLevel> levels,
                               EventSink& sink) {
  if (!update.previous || !stream.last || update.last > *stream.last) return false;
  ++counts_.repeated;
  Send(head, levels, kUnsyncedCond, sink);
  return true;
}

void BookStreams::Chain(BookStream& stream, const EventHead& head, const BookUpdate& update,
                        std::span<const BookLevel> levels, EventSink& sink) {
  if (SendRepeated(stream, head, update, levels, sink)) return;
  CheckChain(stream, update, head.recv_ns, sink);
  stream.last = update.last;
  Change(stream, head, levels, sink);
}

// Finds numbers that are missing between this update and the one before.
void BookStreams::CheckChain(BookStream& stream, const BookUpdate& update, int64_t recv_ns,
                             EventSink& sink) {
  if (!update.previous || !stream.last || *update.previous <= *stream.last) return;
  // A snapshot may have the missing updates.
  const bool is_given = stream.state == State::kGiven && stream.snapshot_number >= *update.previous;
  Break(stream, *stream.last + 1, *update.previous, recv_ns, sink);
  if (is_given) stream.state = State::kGiven;
}

// Joins the stream to its snapshot, if the update is the first one behind that.
void BookStreams::Join(BookStream& stream, const BookUpdate& update, int64_t recv_ns,
                       EventSink& sink) {
  if (stream.state != State::kGiven || update.last <= stream.snapshot_number) return;
  if (update.previous && *update.previous > stream.snapshot_number) {
    return Break(stream, stream.snapshot_number + 1, *update.previous, recv_ns, sink);
  }
  CloseGap(stream, kSnapshotCond, recv_ns, sink);
  stream.state = State::kWhole;
}

void BookStreams::Update(BookStream& stream, const EventHead& head, const BookUpdate& update,
                         std::span<const BookLevel> levels, EventSink& sink) {
  if (SendRepeated(stream, head, update, levels, sink)) return;
  CheckChain(stream, update, head.recv_ns, sink);
  Join(stream, update, head.recv_ns, sink);
  stream.last = update.last;
  stream.last_recv_ns = head.recv_ns;
  Send(head, levels, stream.is_whole() ? std::string_view() : kUnsyncedCond, sink);
  if (stream.state == State::kNone || stream.state == State::kBroken) {
    Hold(stream, head, update, levels);
  }
}

void BookStreams::Hold(BookStream& stream, const EventHead& head, const BookUpdate& update,
                       std::span<const BookLevel> levels) {
  if (held_levels_ + levels.size() > kHeldLevelsMax) ForgetHeld(stream);
  if (held_levels_ + levels.size() > kHeldLevelsMax) return;
  held_levels_ += levels.size();
  stream.held_.push_back(
      {update, head.time_ns, head.recv_ns, head.seq, {levels.begin(), levels.end()}});
}

void BookStreams::ForgetHeld(BookStream& stream) {
  for (const BookStream::Held& held : stream.held_) held_levels_ -= held.levels.size();
  stream.held_.clear();
}

// True unless the stream is ahead of the snapshot, and what lies between is not held.
bool BookStreams::CanTake(const BookStream& stream, int64_t number) {
  if (!stream.last || *stream.last <= number) return true;
  if (stream.is_whole()) return false;
  const auto newer = std::ranges::find_if(
      stream.held_, [&](const BookStream::Held& held) { return held.update.last > number; });
  if (newer == stream.held_.end()) return false;
  return !newer->update.previous || *newer->update.previous <= number;
}

void BookStreams::Take(BookStream& stream, int64_t number, int64_t recv_ns, EventSink& sink) {
  CloseGap(stream, kSnapshotCond, recv_ns, sink);
  stream.state = State::kGiven;
  stream.snapshot_number = number;
  stream.last_recv_ns = recv_ns;
  EventHead head;
  head.sym = stream.sym;
  head.channel = stream.channel;
  for (const BookStream::Held& held : stream.held_) {
    if (held.update.last <= number) continue;
    stream.state = State::kWhole;
    head.time_ns = held.time_ns;
    head.recv_ns = held.recv_ns;
    head.seq = held.seq;
    Send(head, held.levels, {}, sink);
  }
  ForgetHeld(stream);
}

void BookStreams::Snapshot(const EventHead& head, int64_t number, std::span<const BookLevel> levels,
                           EventSink& sink) {
  std::vector<BookStream*> takers;
  bool has_streams = false;
  for (auto& [key, stream] : streams_) {
    if (stream.sym != head.sym) continue;
    has_streams = true;
    if (CanTake(stream, number)) takers.push_back(&stream);
  }
  const bool is_used = !has_streams || !takers.empty();
  Send(head, levels, is_used ? kSnapshotCond : kUnsyncedCond, sink);
  if (!is_used) counts_.AddNamed("unused_snapshots");
  if (!has_streams && early_snapshots_.size() < kStreamsMax) {
    early_snapshots_[std::string(head.sym)] = {number, head.recv_ns};
  }
  for (BookStream* taker : takers) Take(*taker, number, head.recv_ns, sink);
}

void BookStreams::Break(BookStream& stream, int64_t first_seq, int64_t last_seq, int64_t recv_ns,
                        EventSink& sink) {
  CloseGap(stream, "gap", recv_ns, sink);
  ++counts_.gaps;
  ForgetHeld(stream);
  stream.gap_ = {first_seq, last_seq, stream.last_recv_ns, recv_ns};
  stream.state = State::kBroken;
}

void BookStreams::CloseGap(BookStream& stream, std::string_view why, int64_t recv_ns,
                           EventSink& sink) {
  if (!stream.gap_) return;
  const BookStream::OpenGap& open = *stream.gap_;
  Gap gap;
  gap.time_ns = gap.recv_ns = open.last_time_ns;
  gap.sym = stream.sym;
  gap.seq = open.first_seq;
  gap.channel = stream.channel;
  gap.session = stream.session;
  gap.first_seq = open.first_seq;
  gap.last_seq = open.last_seq;
  gap.first_time_ns = open.first_time_ns;
  gap.last_time_ns = open.last_time_ns;
  gap.closed = why;
  gap.closed_ns = recv_ns;
  sink.On(gap);
  stream.gap_.reset();
}

void BookStreams::BreakAll(std::string_view session, int64_t first_seq, int64_t last_seq,
                           int64_t since_ns, int64_t recv_ns, EventSink& sink) {
  for (auto& [key, stream] : streams_) {
    if (stream.session == session) stream.state = State::kBroken;
  }
  ++counts_.gaps;
  Gap gap;
  gap.time_ns = gap.recv_ns = gap.last_time_ns = gap.closed_ns = recv_ns;
  gap.seq = gap.first_seq = first_seq;
  gap.last_seq = last_seq;
  gap.first_time_ns = since_ns;
  gap.session = session;
  gap.closed = first_seq == kNullLong ? "connect" : "next";
  sink.On(gap);
}

bool BookStreams::HasRoomFor(std::string_view session) const {
  return connections_.size() < kConnectionsMax || connections_.contains(session);
}

void BookStreams::Touch(std::string_view session, int64_t recv_ns) {
  if (HasRoomFor(session)) connections_[session] = recv_ns;
}

void BookStreams::Connect(std::string_view session, int64_t recv_ns, EventSink& sink) {
  const auto found = connections_.find(session);
  if (found != connections_.end()) {
    const int64_t since_ns = found->second;
    for (auto at = streams_.begin(); at != streams_.end();) {
      if (at->second.session != session) {
        ++at;
        continue;
      }
      CloseGap(at->second, "connect", recv_ns, sink);
      ForgetHeld(at->second);
      at = streams_.erase(at);
    }
    BreakAll(session, kNullLong, kNullLong, since_ns, recv_ns, sink);
  }
  Touch(session, recv_ns);
}

int64_t BookStreams::CompleteNs(std::string_view session) const {
  const auto found = connections_.find(session);
  int64_t complete_ns = found == connections_.end() ? kNullLong : found->second;
  for (const auto& [key, stream] : streams_) {
    if (stream.session != session || !stream.gap_) continue;
    const BookStream::OpenGap& open = *stream.gap_;
    const bool had_message = open.first_time_ns != kNullLong;  // Before the gap.
    complete_ns = std::min(complete_ns, had_message ? open.first_time_ns : open.last_time_ns);
  }
  return complete_ns;
}

bool BookStreams::HasBroken() const {
  return std::ranges::any_of(streams_,
                             [](const auto& each) { return each.second.state == State::kBroken; });
}

std::vector<std::string_view> BookStreams::SymbolsWithoutSnapshot() const {
  std::vector<std::string_view> symbols;
  for (const auto& [key, stream] : streams_) {
    if (stream.state != State::kNone && stream.state != State::kBroken) continue;
    if (std::ranges::find(symbols, stream.sym) == symbols.end()) symbols.push_back(stream.sym);
  }
  return symbols;
}

void BookStreams::End(int64_t recv_ns, EventSink& sink) {
  for (auto& [key, stream] : streams_) CloseGap(stream, "end", recv_ns, sink);
}

}  // namespace tickstack::feed::market
