#pragma once

// Cboe's multicast PITCH: one message in, its events out. Numbers are little-endian.
//
//   0 length u8, of the whole message | 1 type | 2 time offset u32, ns | 6 ...
//
// A message's time is that of the last time message (0x20) of its unit, in seconds, and its offset.
// Where that second is not known, such as after missing messages, the event's time is null.
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
#include "feed/market/pitch/pitch_book.h"

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
  struct Unit {
    PitchBook book;
    int64_t second_ns = kNullLong;  // The last time message, in ns since 2000.
    int64_t seq = kNullLong;        // The last message's.
  };
  struct Message {
    const std::byte* at;
    size_t bytes;
    EventHead head;
    Unit& unit;
    EventSink& sink;
    MessageCounts& counts;
  };
  using DecodeFunction = std::string_view (PitchDecoder::*)(Message&);
  // A row of the table of messages.
  struct MessageType {
    uint8_t type;
    uint8_t markets;  // Those of PitchMarket that have it, together.
    uint8_t bytes;    // 0: any.
    DecodeFunction decode;
  };
  static const MessageType kTypes[];

  std::string_view TimeMessage(Message& message);
  std::string_view TimeReference(Message& message);
  std::string_view UnitClear(Message& message);
  std::string_view AddLong(Message& message);
  std::string_view AddShort(Message& message);
  std::string_view AddExpanded(Message& message);
  std::string_view Executed(Message& message);
  std::string_view ExecutedAtPrice(Message& message);
  std::string_view ReduceLong(Message& message);
  std::string_view ReduceShort(Message& message);
  std::string_view ModifyLong(Message& message);
  std::string_view ModifyShort(Message& message);
  std::string_view DeleteOrder(Message& message);
  std::string_view TradeLong(Message& message);
  std::string_view TradeShort(Message& message);
  std::string_view TradeExpanded(Message& message);
  std::string_view BrokenTrade(Message& message);
  std::string_view EndOfSession(Message& message);
  std::string_view TradingStatus(Message& message);
  std::string_view AuctionUpdate(Message& message);
  std::string_view OptionsAuctionUpdate(Message& message);
  std::string_view AuctionSummary(Message& message);
  std::string_view Retail(Message& message);
  std::string_view SymbolMapping(Message& message);
  std::string_view FutureDefinition(Message& message);
  std::string_view Settlement(Message& message);
  std::string_view DaySummary(Message& message);
  std::string_view PriceLimits(Message& message);
  std::string_view WithoutRows(Message& message);

  std::string_view Find(std::span<const std::byte> bytes, const MessageType*& found) const;
  Unit& UnitOf(uint8_t unit, const EventHead& head);
  std::string_view Add(Message& message, Order& event, int64_t price, size_t flags_offset);
  std::string_view PutTrade(Message& message, Trade& trade, size_t cond_offset);
  int64_t ShortPrice(const std::byte* at) const;

  const int64_t midnight_ns_;
  const PitchMarket market_;
  // By number; those of messages without sequence numbers are apart, since they are not in order
  // with the others.
  std::array<std::unique_ptr<Unit>, 256> units_, unsequenced_;
  size_t open_orders_ = 0;  // In all units.
};

}  // namespace tickstack::feed::market
