#pragma once

// The open orders of a stream of PITCH, and the events of messages about them. Multicast PITCH and
// TCP PITCH have the same orders in different bytes.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "feed/market/event_reader.h"
#include "feed/market/events.h"
#include "feed/market/open_orders.h"

namespace tickstack::feed::market {

// A price in 1/10000 of the currency.
inline double PitchPrice(int64_t price) {
  constexpr double kUnits = 1e4;
  return static_cast<double>(price) / kUnits;
}

// Each function takes an event with the number of the order, and what else the message has; adds
// what the order has; and sends it. Of an order that is not open, the event has what its message
// has, and is counted as unmatched. They return why the message does not fit, or an empty text.
//
// Threads: one owner.
class PitchBook {
 public:
  // An order that begins, with side and symbol.
  std::string_view Add(Order& event, int64_t price, EventSink& sink);
  // An execution, which is a trade as well. `price`: nullopt if it is the order's. `remaining`: the
  // order's size afterwards; nullopt: what it had, less the execution. `trade_cond` is the trade's.
  std::string_view Execute(Order& event, std::optional<int64_t> price,
                           std::optional<uint32_t> remaining, std::string_view trade_cond,
                           EventSink& sink, MessageCounts& counts);
  std::string_view Cancel(Order& event, EventSink& sink, MessageCounts& counts);
  std::string_view Delete(Order& event, EventSink& sink, MessageCounts& counts);
  // A new price and size.
  std::string_view Modify(Order& event, int64_t price, EventSink& sink, MessageCounts& counts);
  // Ends the orders of the event's symbol, or all if it has none.
  void Clear(Order& event, EventSink& sink);

  // Ends all orders, without an event.
  void Reset() { orders_.Clear(); }
  size_t open_orders() const { return orders_.size(); }

 private:
  using Symbol = std::array<char, 8>;
  using Orders = OpenOrders<Symbol>;

  static Symbol SymbolOf(std::string_view text);
  static void Describe(Order& event, const Orders::Open& order);

  Orders orders_;
};

}  // namespace tickstack::feed::market
