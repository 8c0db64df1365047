#pragma once

// Nasdaq TotalView-ITCH 5.0: one message in, its events out. Nasdaq, BX and PSX send the same
// messages. Numbers are big-endian.
//
//   0 type | 1 stock locate u16 | 3 tracking u16 | 5 time u48, ns since midnight New York | 11 ...
//
// Messages about an order name it by its reference only. The decoder keeps the open orders, so that
// these events have symbol, side and price, and executions are trades. Of an order that it has not
// seen, an event has what the message has, and the symbol if an earlier message had the same stock
// locate.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "feed/market/event_reader.h"
#include "feed/market/events.h"
#include "feed/market/open_orders.h"

namespace tickstack::feed::market {

// Threads: one owner. Memory: 600 KiB, and 24 to 56 bytes for each open order.
class ItchDecoder {
 public:
  static constexpr int64_t kStocks = 1 << 16;

  // `midnight_ns`: midnight in New York on the day of the messages, in ns since 2000 UTC.
  explicit ItchDecoder(int64_t midnight_ns);

  // Decodes a message. `head` has its sequence number, time of receipt and channel. Counts it, and
  // returns why it does not fit, or an empty text. A message may be longer than its type.
  // Cost: 20 to 100 ns, which is a search for the order.
  std::string_view Decode(std::span<const std::byte> message, const EventHead& head,
                          EventSink& sink, MessageCounts& counts);

  // Returns the time of a message of at least kHeadBytes bytes.
  static constexpr size_t kHeadBytes = 11;
  int64_t TimeNs(std::span<const std::byte> message) const;

  void SetMidnight(int64_t midnight_ns) { midnight_ns_ = midnight_ns; }

  // Forgets orders and symbols, as before the first message.
  void Reset();

  size_t open_orders() const { return orders_.size(); }

 private:
  using StockOrders = OpenOrders<uint16_t>;  // By stock locate; prices in 1/10000 dollar.
  struct Message {
    const std::byte* at;
    EventHead head;
    uint16_t locate;
    EventSink& sink;
    MessageCounts& counts;
  };
  using DecodeFunction = std::string_view (ItchDecoder::*)(Message&);
  // A row of the table of messages.
  struct MessageType {
    char type;
    uint8_t bytes;
    DecodeFunction decode;
  };
  static const MessageType kTypes[];

  std::string_view SystemEvent(Message& message);
  std::string_view StockDirectory(Message& message);
  std::string_view TradingAction(Message& message);
  std::string_view RegSho(Message& message);
  std::string_view ParticipantPosition(Message& message);
  std::string_view BreakerLevels(Message& message);
  std::string_view BreakerBreach(Message& message);
  std::string_view IpoQuoting(Message& message);
  std::string_view AuctionCollar(Message& message);
  std::string_view OperationalHalt(Message& message);
  std::string_view AddOrder(Message& message);
  std::string_view AddAttributedOrder(Message& message);
  std::string_view OrderExecuted(Message& message);
  std::string_view OrderExecutedAtPrice(Message& message);
  std::string_view OrderCancelled(Message& message);
  std::string_view OrderDeleted(Message& message);
  std::string_view OrderReplaced(Message& message);
  std::string_view NonCrossTrade(Message& message);
  std::string_view CrossTrade(Message& message);
  std::string_view BrokenTrade(Message& message);
  std::string_view Imbalance(Message& message);
  std::string_view RetailInterest(Message& message);
  std::string_view DirectListing(Message& message);

  std::string_view TakeStock(Message& message, size_t offset);
  std::string_view SymbolOf(uint16_t locate) const;
  void Describe(Order& event, const StockOrders::Open& order) const;
  std::string_view Add(Message& message, std::string_view mpid);
  std::string_view Execute(Message& message, double price_printed, char printable);
  int64_t DayTime(uint64_t of_day_ns) const;

  int64_t midnight_ns_;
  struct Stock {
    std::array<char, 8> name;
    uint8_t length = 0;
  };
  std::unique_ptr<std::array<Stock, kStocks>> stocks_;  // By stock locate.
  StockOrders orders_;                                  // By reference.
};

}  // namespace tickstack::feed::market
