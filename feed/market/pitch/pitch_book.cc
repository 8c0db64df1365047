#include "feed/market/pitch/pitch_book.h"

#include <algorithm>

#include "feed/market/big_endian.h"

namespace tickstack::feed::market {

// Texts of symbols are at most 8 characters.
PitchBook::Symbol PitchBook::SymbolOf(std::string_view text) {
  Symbol symbol;
  symbol.fill(' ');
  std::copy_n(text.begin(), std::min(text.size(), symbol.size()), symbol.begin());
  return symbol;
}

// The symbol's text is that of `order`, which must outlive the event.
void PitchBook::Describe(Order& event, const Orders::Open& order) {
  event.sym =
      PaddedText(reinterpret_cast<const std::byte*>(order.symbol.data()), order.symbol.size());
  event.side = order.side;
}

std::string_view PitchBook::Add(Order& event, int64_t price, EventSink& sink) {
  if (event.side != 'B' && event.side != 'S') return "its side is neither B nor S";
  if (!IsPrintable(event.sym)) return "its symbol is not ASCII";
  if (orders_.is_full()) return "too many orders are open";
  event.action = 'A';
  event.price = PitchPrice(price);
  orders_.Put(static_cast<uint64_t>(event.id),
              {price, static_cast<uint32_t>(event.size), SymbolOf(event.sym), event.side});
  sink.On(event);
  return {};
}

std::string_view PitchBook::Execute(Order& event, std::optional<int64_t> price,
                                    std::optional<uint32_t> remaining, std::string_view trade_cond,
                                    EventSink& sink, MessageCounts& counts) {
  event.action = 'E';
  if (price) event.price = PitchPrice(*price);
  const auto id = static_cast<uint64_t>(event.id);
  std::optional<Orders::Open> order;
  if (remaining.value_or(0) > 0) {
    if (Orders::Open* const open = orders_.Find(id)) {
      order = *open;
      open->size = *remaining;
    }
  } else {
    order = remaining ? orders_.Remove(id) : orders_.Reduce(id, static_cast<uint32_t>(event.size));
  }
  if (order) {
    Describe(event, *order);
    if (!price) event.price = PitchPrice(order->price);
  } else {
    ++counts.unmatched;
  }
  sink.On(event);
  Trade trade{event, event.price, event.size, event.side, trade_cond, event.trade_id};
  sink.On(trade);
  return {};
}

std::string_view PitchBook::Cancel(Order& event, EventSink& sink, MessageCounts& counts) {
  event.action = 'X';
  const auto order =
      orders_.Reduce(static_cast<uint64_t>(event.id), static_cast<uint32_t>(event.size));
  if (order) {
    Describe(event, *order);
    event.price = PitchPrice(order->price);
  } else {
    ++counts.unmatched;
  }
  sink.On(event);
  return {};
}

std::string_view PitchBook::Delete(Order& event, EventSink& sink, MessageCounts& counts) {
  event.action = 'D';
  const auto order = orders_.Remove(static_cast<uint64_t>(event.id));
  if (order) {
    Describe(event, *order);
    event.price = PitchPrice(order->price);
    event.size = order->size;
  } else {
    ++counts.unmatched;
  }
  sink.On(event);
  return {};
}

// An order that was not open is open from now on, without side and symbol.
std::string_view PitchBook::Modify(Order& event, int64_t price, EventSink& sink,
                                   MessageCounts& counts) {
  event.action = 'M';
  event.price = PitchPrice(price);
  const auto id = static_cast<uint64_t>(event.id);
  Orders::Open order = {price, static_cast<uint32_t>(event.size), SymbolOf({}), ' '};
  if (const Orders::Open* const open = orders_.Find(id)) {
    order.symbol = open->symbol;
    order.side = open->side;
    Describe(event, order);
  } else {
    ++counts.unmatched;
    if (orders_.is_full()) return "too many orders are open";
  }
  orders_.Put(id, order);
  sink.On(event);
  return {};
}

void PitchBook::Clear(Order& event, EventSink& sink) {
  event.action = 'R';
  if (event.sym.empty()) {
    orders_.Clear();
  } else {
    orders_.RemoveSymbol(SymbolOf(event.sym));
  }
  sink.On(event);
}

}  // namespace tickstack::feed::market
