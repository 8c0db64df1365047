#pragma once

// Cboe's multicast PITCH: one message in, its events out. Numbers are little-endian.
//
//   0 length u8, of the whole message | 1 type | 2 time offset u32, ns | 6 ...
//
// A message's time is that of the last time message (0x20) of its unit, in seconds, and its offset.
// Where that second is not known, such as after missing messages, the event's time is null.
//
// Messages about orders, trades and times are decoded here, the others in pitch_auctions.h,
// pitch_instruments.h and pitch_statuses.h.
//
// The same type has other fields in other markets, and more of them in later versions. The length
// tells which, so the table of messages goes by type, length, and market. A length that is not in
// it does not fit: its fields would be guessed.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "feed/market/event_reader.h"
#include "feed/market/events.h"
#include "feed/market/pitch/pitch_message.h"

namespace tickstack::feed::market {

// What is traded. Of futures and complex options, prices may be negative.
enum class PitchMarket : uint8_t { kEquities = 1, kOptions = 2, kFutures = 4, kComplex = 8 };

// Threads: one owner. Memory: 36 to 75 bytes for each open order.
class PitchDecoder {
 public:
  // `midnight_ns`: midnight at the exchange on the day of the messages, in ns since 2000 UTC.
  PitchDecoder(int64_t midnight_ns, PitchMarket market)
      : midnight_ns_(midnight_ns), market_(market) {}

  // Decodes a message of a unit. `head` has its sequence number (null: it has none), time of
  // receipt and channel. Counts it, and returns why it does not fit, or an empty text.
  std::string_view Decode(std::span<const std::byte> message, uint8_t unit, const EventHead& head,
                          EventSink& sink, MessageCounts& counts);

  // Forgets orders and times, as before the first message.
  void Reset();

 private:
  using DecodeFunction = std::string_view (PitchDecoder::*)(PitchMessage&);
  // A row of the table of messages.
  struct MessageType {
    uint8_t type;
    uint8_t markets;  // Those of PitchMarket that have it, together.
    uint8_t bytes;    // 0: any.
    DecodeFunction decode;
  };
  static const MessageType kTypes[];

  std::string_view TimeMessage(PitchMessage& message);
  std::string_view TimeReference(PitchMessage& message);
  std::string_view UnitClear(PitchMessage& message);
  std::string_view AddLong(PitchMessage& message);
  std::string_view AddShort(PitchMessage& message);
  std::string_view AddExpanded(PitchMessage& message);
  std::string_view Executed(PitchMessage& message);
  std::string_view ExecutedAtPrice(PitchMessage& message);
  std::string_view ReduceLong(PitchMessage& message);
  std::string_view ReduceShort(PitchMessage& message);
  std::string_view ModifyLong(PitchMessage& message);
  std::string_view ModifyShort(PitchMessage& message);
  std::string_view DeleteOrder(PitchMessage& message);
  std::string_view TradeLong(PitchMessage& message);
  std::string_view TradeShort(PitchMessage& message);
  std::string_view TradeExpanded(PitchMessage& message);
  std::string_view BrokenTrade(PitchMessage& message);
  std::string_view WithoutRows(PitchMessage& message);
  // A message whose events depend on it alone.
  template <std::string_view (*kDecode)(PitchMessage&)>
  std::string_view Plain(PitchMessage& message) {
    return kDecode(message);
  }

  std::string_view Find(std::span<const std::byte> bytes, const MessageType*& found) const;
  PitchUnit& UnitOf(uint8_t unit, const EventHead& head);
  std::string_view Add(PitchMessage& message, Order& event, int64_t price, size_t flags_offset);
  std::string_view PutTrade(PitchMessage& message, Trade& trade, size_t cond_offset);
  int64_t ShortPrice(const std::byte* at) const;

  const int64_t midnight_ns_;
  const PitchMarket market_;
  // By number; those of messages without sequence numbers are apart, since they are not in order
  // with the others.
  std::array<std::unique_ptr<PitchUnit>, 256> units_, unsequenced_;
  size_t open_orders_ = 0;  // In all units.
};

}  // namespace tickstack::feed::market
