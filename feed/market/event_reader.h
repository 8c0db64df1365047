#pragma once

// A recorded stream of an exchange, read message by message, and what was counted on the way.
//
// Bytes that do not fit do not stop the stream as long as it is known where the next message
// begins: the message is counted, described in `last_problem`, and gives no event. Where that is
// not known, such as in a file that is cut off, the stream ends with an error after the messages
// before that place.

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/name_map.h"
#include "feed/market/events.h"

namespace tickstack::feed::market {

struct MessageCounts {
  std::array<int64_t, 256> decoded{};  // By type.
  std::array<int64_t, 256> unknown{};  // By type: passed over by their length.
  std::array<int64_t, 256> bad{};      // By type: the message did not fit its type.
  int64_t packets = 0;                 // Packets of a capture.
  int64_t bad_packets = 0;             // Their framing did not fit.
  int64_t other_packets = 0;           // Of other protocols or streams.
  int64_t heartbeats = 0;
  int64_t repeated = 0;      // Messages that were received before.
  int64_t gaps = 0;          // Gaps in the sequence numbers.
  int64_t dropped = 0;       // Messages without events, since too many rows waited.
  int64_t unmatched = 0;     // Messages about an order that the stream has not added.
  std::string last_problem;  // File, place and reason of the last bad message or packet.
  // Of protocols whose types are names: `trade`, `unknown_kline`, `bad_trade`.
  NameMap<int64_t> named;

  void AddNamed(std::string_view name) { ++named[name]; }
  // Counts a message of another type. With many of them, some are `unknown_other`.
  static constexpr size_t kNamesMax = 256;
  void AddUnknown(std::string_view type) {
    const std::string name = std::string("unknown_").append(type);
    ++named[named.size() < kNamesMax || named.contains(name) ? name : "unknown_other"];
  }

  int64_t problems = 0;  // Bad messages and packets.
  void AddProblem(std::string text) {
    ++problems;
    last_problem = std::move(text);
  }
};

// Threads: one owner.
class EventReader {
 public:
  virtual ~EventReader() = default;

  // Moves to the next message, or packet of messages; false at the end. An error, with the file and
  // the place, is final.
  virtual absl::StatusOr<bool> Advance() = 0;

  // Returns the time by which it is paced, in ns since 2000; kNullLong if it has none.
  virtual int64_t time_ns() const = 0;

  // Sends its events to `sink`. Errors as for Advance.
  virtual absl::Status Decode(EventSink& sink) = 0;

  // Starts from the beginning, with counts of 0.
  virtual absl::Status Rewind() = 0;

  virtual const MessageCounts& counts() const = 0;

  // Returns how the counts name a type: by its letter, or else its number.
  virtual std::string TypeName(uint8_t type) const {
    if (type > ' ' && type <= '~') return std::string(1, static_cast<char>(type));
    return fmt::format("0x{:02x}", type);
  }
};

}  // namespace tickstack::feed::market
