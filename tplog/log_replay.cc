#include "tplog/log_replay.h"

#include "base/status.h"
#include "base/time.h"
#include "wire/codec.h"

namespace tickstack::tplog {
namespace {

constexpr int kMessagesPerClock = 64;  // Messages between two readings of the clock.

}  // namespace

absl::StatusOr<std::unique_ptr<LogReplay>> LogReplay::Open(const std::string& path,
                                                           bool finds_odd) {
  TS_ASSIGN_OR_RETURN(std::unique_ptr<TplogReader> reader, TplogReader::Open(path));
  return std::unique_ptr<LogReplay>(new LogReplay(std::move(reader), finds_odd));
}

absl::StatusOr<LogReplay::Progress> LogReplay::Step(SubscribedState& state, uint64_t end_seq,
                                                    std::chrono::nanoseconds at_most) {
  const int64_t deadline_ns = MonotonicNs() + at_most.count();
  if (state.position().seq() >= end_seq) return Progress::kReached;
  if (reader_->next_seq() != state.position().seq()) {
    const absl::Status sought = reader_->Seek(state.position().seq());
    if (absl::IsNotFound(sought)) return Progress::kLogEnds;
    TS_RETURN_IF_ERROR(sought);
  }
  for (int i = 1; state.position().seq() < end_seq; ++i) {
    if (!state.HasRoom()) return Progress::kMore;
    TS_ASSIGN_OR_RETURN(const std::optional<TplogMessage> message, reader_->Next());
    if (!message) return Progress::kLogEnds;
    if (finds_odd_ && !reader_->is_proven()) {
      wire::UpdView upd;
      const bool is_upd = decoder_.Decode(message->body, &upd).ok();
      census_.Add(is_upd ? &upd : nullptr, message->body, {message->seq, message->offset});
    }
    state.OnLogged(message->body);
    if (i % kMessagesPerClock == 0 && MonotonicNs() >= deadline_ns) return Progress::kMore;
  }
  return Progress::kReached;
}

absl::StatusOr<ByteBuffer> LogReplay::ReadMessage(uint64_t seq) {
  absl::StatusOr<ByteBuffer> bytes = reader_->ReadRange(seq, seq + 1, 1);
  if (absl::IsNotFound(bytes.status())) return ByteBuffer();
  return bytes;
}

absl::Status ReplayBytes(std::span<const std::byte> messages, SubscribedState& state,
                         uint64_t end_seq) {
  while (!messages.empty() && state.position().seq() < end_seq) {
    TS_ASSIGN_OR_RETURN(const std::optional<size_t> bytes, ValueBytes(messages));
    if (!bytes) {
      return DataLoss("log message {}: {} bytes are not a whole value", state.position().seq(),
                      messages.size());
    }
    state.OnLogged(messages.first(*bytes));
    messages = messages.subspan(*bytes);
  }
  return absl::OkStatus();
}

}  // namespace tickstack::tplog
