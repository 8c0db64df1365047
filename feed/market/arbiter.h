#pragma once

// Merges lines of one stream by its sequence numbers, and proves what is missing.
//
//   line A   1 2 . 4 5 6 .            logged   1 2 3 4 5 6 8
//   line B   1 . 3 4 . 6 . 8          gap      7 to 7
//
// An exchange sends each channel on several lines, whose packets are lost, reordered and repeated
// independently. Per channel and session, messages leave in the order of their sequence numbers,
// each once. Behind a missing one, messages are held until it arrives on any line. This waiting is
// bounded in time and bytes; then the missing numbers become a gap, and the messages behind it
// leave. So for each session, the numbers of messages and of gaps together are all from the first
// to the last, each once.
//
//   waiting for the first ---- number 1, or waited ----> in order <---- arrived, or gap ---- holds
//                                                            '----------- number missing ------^
//
// The first number of a session that is joined late is the smallest that arrives within the time of
// waiting. A heartbeat names the next number, so it shows that the last messages are missing. A
// session can start over with number 1; a repeated packet is told from that by its time.
//
// The class has no clock: time is the latest time of receipt of a packet, or what OnTime says.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "feed/market/events.h"

namespace tickstack::feed::market {

struct ArbiterSettings {
  int64_t wait_ns = kNsPerSecond;            // Longest time that messages are held.
  size_t held_bytes_max = size_t{64} << 20;  // Bytes of all streams.
  std::string_view tried = "lines";          // Where missing messages are looked for.
  // True: only OnTime closes gaps that have waited, not the times of packets. For lines that are
  // received live, one after the other: a missing message may be in the buffer of the next one.
  bool closes_on_time_only = false;
};

// A packet of one line: messages with consecutive sequence numbers, or a heartbeat without any.
struct LinePacket {
  size_t line = 0;
  std::string_view channel{}, session{};
  uint64_t first_seq = 0;  // In a heartbeat, that of the next message.
  std::span<const std::span<const std::byte>> messages{};
  int64_t recv_ns = kNullLong;
  int64_t sent_ns = kNullLong;  // By the exchange: the same on all lines; kNullLong: unknown.
  bool ends_session = false;    // No message follows.
  bool is_sequenced = true;     // False: messages without numbers, which leave at once.
};

struct MergedMessage {
  std::string_view channel{}, session{};
  uint64_t seq = 0;
  int64_t recv_ns = kNullLong;
  size_t line = 0;  // The line that delivered it first.
  std::span<const std::byte> bytes{};
};

class ArbiterSink {
 public:
  virtual ~ArbiterSink() = default;
  virtual void OnMessage(const MergedMessage& message) = 0;
  virtual void OnGap(const Gap& gap) = 0;
};

// How far a stream has been delivered: with it, another process continues there.
struct StreamPosition {
  std::string channel, session;
  uint64_t next_seq = 0;              // That of the next message.
  int64_t first_recv_ns = kNullLong;  // When the session began.
  int64_t last_sent_ns = kNullLong;   // Latest time of sending.
  int64_t delivered_ns = kNullLong;   // Time of receipt of the last delivered message.
};

// Messages that a stream waits for. The views are valid until the arbiter's next call.
struct MissingRange {
  std::string_view session{};
  uint64_t first_seq = 0;
  uint64_t count = 0;
  int64_t since_ns = kNullLong;  // When it was known that they are missing.
};

struct LineCounts {
  int64_t packets = 0;
  int64_t messages = 0;
  int64_t first = 0;     // Messages that it delivered before the other lines.
  int64_t repeated = 0;  // Messages that were delivered or held before, or came after their gap.
};

// Threads: one owner. Memory: held_bytes_max, counting what the containers need, and 300 bytes for
// each session.
class Arbiter {
 public:
  static constexpr size_t kStreamsMax = 4'096;
  static constexpr size_t kLinesMax = 64;
  static constexpr uint64_t kSeqMax = uint64_t{1} << 62;

  explicit Arbiter(ArbiterSettings settings) : settings_(settings) {}

  // Takes a packet. Returns why it is refused, or an empty text. Cost of a message in order: a
  // comparison and the call of the sink.
  std::string_view OnPacket(const LinePacket& packet, ArbiterSink& sink);
  // Closes gaps that have waited long enough. `now_ns` is in the unit of recv_ns; every packet that
  // was received before has been taken.
  void OnTime(int64_t now_ns, ArbiterSink& sink);
  // Delivers everything that is held, as at the end of a recording.
  void Flush(ArbiterSink& sink);

  // Returns the positions of the streams whose first number is known. Cost: a copy of each.
  std::vector<StreamPosition> Positions() const;
  // Continues a stream at an earlier arbiter's position: what follows it is missing until it
  // arrives. Call it before the first packet.
  void Continue(const StreamPosition& position);
  // The clock that gives times of receipt was set ahead by `ns`, or back if negative.
  void MoveClock(int64_t ns);
  // Returns the time from which on OnTime has something to do; kInfinityLong: there is none.
  int64_t deadline_ns() const { return deadline_ns_; }

  // Returns the first missing messages of each stream that waits for some. Cost: a step for each
  // stream.
  std::vector<MissingRange> Missing() const;

  int64_t gaps() const { return gaps_; }
  int64_t missing() const { return missing_; }  // Messages in gaps.
  int64_t repeated() const;
  size_t held_bytes() const { return held_bytes_; }
  const std::vector<LineCounts>& lines() const { return lines_; }

 private:
  struct Held {
    std::string bytes;
    int64_t recv_ns;
    int64_t arrived_ns;  // now_ns_ when it was received.
    size_t line;
  };
  struct Stream {
    std::string channel, session;
    bool in_order = false;         // False: its first number is not known yet.
    uint64_t next_seq = 0;         // If in order.
    uint64_t first_seq = kSeqMax;  // The smallest number of a packet, if not in order.
    uint64_t end_seq = 0;          // One more than the largest number that is known to exist.
    std::map<uint64_t, Held> held;
    int64_t end_since_ns = kNullLong;  // Since when end_seq has its value.
    // Since when it is known that messages from waits_for_seq on are missing; kNullLong: none are.
    int64_t waits_since_ns = kNullLong;
    uint64_t waits_for_seq = 0;
    int64_t first_recv_ns = kNullLong;  // When the session began.
    int64_t last_sent_ns = kNullLong;   // Latest time of sending.
    int64_t delivered_ns = kNullLong;   // Time of receipt of the last delivered message.
  };

  Stream* FindStream(const LinePacket& packet);
  bool StartsOver(const Stream& stream, const LinePacket& packet) const;
  void TakeMessage(Stream& stream, const LinePacket& packet, size_t index, ArbiterSink& sink);
  void Deliver(Stream& stream, const MergedMessage& message, ArbiterSink& sink);
  void DeliverHeld(Stream& stream, ArbiterSink& sink);
  void BeginInOrder(Stream& stream, uint64_t seq);
  void CloseGap(Stream& stream, std::string_view why, ArbiterSink& sink);
  void CloseAll(Stream& stream, std::string_view why, ArbiterSink& sink);
  void UpdateWait(Stream& stream);
  void CheckWaits(int64_t now_ns, ArbiterSink& sink);
  void CheckBytes(ArbiterSink& sink);

  const ArbiterSettings settings_;
  std::map<std::string, std::unique_ptr<Stream>, std::less<>> streams_;
  Stream* last_stream_ = nullptr;  // The last packet's stream.
  std::string key_;
  std::vector<LineCounts> lines_;
  int64_t now_ns_ = kNullLong;
  int64_t deadline_ns_ = kInfinityLong;  // When CheckWaits has something to do.
  size_t held_bytes_ = 0;
  int64_t gaps_ = 0;
  int64_t missing_ = 0;
};

}  // namespace tickstack::feed::market
