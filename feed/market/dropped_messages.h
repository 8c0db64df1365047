#pragma once

// Messages that were received but give no rows, because too many rows wait to be sent: they become
// gaps, so that no number is lost in silence.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "feed/market/arbiter.h"
#include "feed/market/events.h"

namespace tickstack::feed::market {

// Receives events and does nothing.
class NoEvents : public EventSink {
 public:
  void On(const Trade&) override {}
  void On(const TradeBreak&) override {}
  void On(const Quote&) override {}
  void On(const Order&) override {}
  void On(const Level&) override {}
  void On(const Status&) override {}
  void On(const Auction&) override {}
  void On(const Instrument&) override {}
  void On(const Bar&) override {}
  void On(const Statistic&) override {}
  void On(const Gap&) override {}
};

// Threads: one owner. Memory: a range for each stream.
class DroppedMessages {
 public:
  // Notes a message, or a gap between such messages, in the order of the stream. Sends a gap to
  // `sink` if it does not continue the stream's range, as when a session starts over.
  void Add(const MergedMessage& message, EventSink& sink);
  void Add(const Gap& gap, EventSink& sink);
  // Sends the gaps, and forgets them.
  void Close(int64_t now_ns, EventSink& sink);

 private:
  struct Range {
    int64_t first_seq = 0, last_seq = 0;
    int64_t first_time_ns = kNullLong, last_time_ns = kNullLong;  // Of receipt.
  };
  using Key = std::pair<std::string, std::string>;  // Channel and session.

  void Add(std::string_view channel, std::string_view session, const Range& range, EventSink& sink);
  static void Send(const Key& key, const Range& range, int64_t now_ns, EventSink& sink);

  std::map<Key, Range> ranges_;
};

}  // namespace tickstack::feed::market
