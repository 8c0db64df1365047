#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "wire/subscribed_state.h"
#include "wire/tplog_reader.h"

namespace tickstack::wire {

// Replays a tickerplant log into a subscribed state, starting at its position. Each step is bounded
// in time, so that the thread can do other work between them. Threads: one owner.
class LogReplay {
 public:
  // Errors: those of TplogReader::Open.
  static absl::StatusOr<std::unique_ptr<LogReplay>> Open(const std::string& path);

  enum class Progress : uint8_t { kMore, kReached, kLogEnds };

  // Applies messages until the state's position is `end_seq` (kReached), the log has no more
  // (kLogEnds), or the time is over or the state has no room (kMore). kDataLoss, naming the offset,
  // at damage.
  absl::StatusOr<Progress> Step(SubscribedState& state, uint64_t end_seq,
                                std::chrono::nanoseconds at_most);

  // Reads message `seq` without replaying it; empty if there is none.
  absl::StatusOr<ByteBuffer> ReadMessage(uint64_t seq);
  uint64_t torn_bytes() const { return reader_->torn_bytes(); }

 private:
  explicit LogReplay(std::unique_ptr<TplogReader> reader) : reader_(std::move(reader)) {}
  std::unique_ptr<TplogReader> reader_;
};

// Replays a part of a log that came over the wire: whole messages back to back. Stops when the
// state's position is `end_seq`. kDataLoss if the messages are not whole.
absl::Status ReplayBytes(std::span<const std::byte> messages, SubscribedState& state,
                         uint64_t end_seq);

}  // namespace tickstack::wire
