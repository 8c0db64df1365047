#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tplog/message_census.h"
#include "tplog/subscribed_state.h"
#include "tplog/tplog_reader.h"
#include "wire/upd.h"

namespace tickstack::tplog {

// Replays a tickerplant log into a subscribed state, starting at its position. Each step is bounded
// in time, so that the thread can do other work between them. Threads: one owner.
class LogReplay {
 public:
  // Errors: those of TplogReader::Open. `finds_odd`: looks for messages that are unlike the others
  // among those that no index proves, at the cost of decoding them once more.
  static absl::StatusOr<std::unique_ptr<LogReplay>> Open(const std::string& path,
                                                         bool finds_odd = false);

  enum class Progress : uint8_t { kMore, kReached, kLogEnds };

  // Applies messages until the state's position is `end_seq` (kReached), the log has no more
  // (kLogEnds), or the time is over or the state has no room (kMore). kDataLoss, naming the offset,
  // at damage.
  absl::StatusOr<Progress> Step(SubscribedState& state, uint64_t end_seq,
                                std::chrono::nanoseconds at_most);

  // Reads message `seq` without replaying it; empty if there is none.
  absl::StatusOr<ByteBuffer> ReadMessage(uint64_t seq);
  uint64_t torn_bytes() const { return reader_->torn_bytes(); }
  // Returns what is odd among the messages of all steps until now.
  std::vector<MessageCensus::Odd> FindOdd() const { return census_.FindOdd(); }

 private:
  LogReplay(std::unique_ptr<TplogReader> reader, bool finds_odd)
      : reader_(std::move(reader)), finds_odd_(finds_odd) {}
  std::unique_ptr<TplogReader> reader_;
  const bool finds_odd_;
  wire::UpdDecoder decoder_;
  MessageCensus census_;
};

// Replays a part of a log that came over the wire: whole messages back to back. Stops when the
// state's position is `end_seq`. kDataLoss if the messages are not whole.
absl::Status ReplayBytes(std::span<const std::byte> messages, SubscribedState& state,
                         uint64_t end_seq);

}  // namespace tickstack::tplog
