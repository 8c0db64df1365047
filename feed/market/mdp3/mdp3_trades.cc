#include "feed/market/mdp3/mdp3_trades.h"

#include <limits>

namespace tickstack::feed::market {
namespace {

constexpr uint32_t kNullUint = std::numeric_limits<uint32_t>::max();

// A new trade, a corrected one, or one that the exchange takes back. `side` is the aggressor's.
std::string_view PutTrade(Mdp3Message& message, Trade& trade, uint8_t aggressor, uint8_t action) {
  constexpr uint8_t kNew = 0;
  if (aggressor == 1) trade.side = 'B';
  if (aggressor == 2) trade.side = 'S';
  if (action > kMdp3ActionDelete) return "its action is none of a trade";
  if (action == kMdp3ActionDelete) {
    TradeBreak broken{trade, trade.price, trade.size};
    broken.id = trade.id;
    message.sink.On(broken);
    return {};
  }
  if (action != kNew) trade.cond = "change";
  message.sink.On(trade);
  return {};
}

// The orders of a trade message: those of its first entry, then those of the next one. An order
// without a number gives no row.
std::string_view TradeOrders(Mdp3Message& message, size_t security_offset, size_t orders_offset) {
  constexpr size_t kOrderBytes = 12;
  if (message.rest.empty()) return {};
  Mdp3Group orders;
  const std::string_view why = TakeMdp3Group(message.rest, kMdp3OrdersHead, kOrderBytes, orders);
  if (!why.empty()) return why;
  size_t entry = 0;
  int64_t left = 0;  // Orders of `entry` that follow.
  for (size_t i = 0; i < orders.count; ++i, --left) {
    for (; left <= 0 && entry < message.group.count; ++entry) {
      left = Mdp3Int(message.group.entry(entry) + orders_offset);
    }
    if (left <= 0) return "it has more orders than its entries say";
    const std::byte* const at = orders.entry(i);
    const std::byte* const trade = message.group.entry(entry - 1);
    const Mdp3Symbols::Symbol symbol = message.symbols.Find(Mdp3Int(trade + security_offset));
    Order order{message.head, 'E', ' ', message.Price(trade), Mdp3Int(at + 8)};
    order.sym = symbol.view();
    order.id = LoadLittle<int64_t>(at);
    if (order.id != 0) message.sink.On(order);
  }
  return {};
}

}  // namespace

template <bool kLong>
std::string_view DecodeMdp3TradeSummary(Mdp3Message& message) {
  constexpr size_t kSecurity = kLong ? 16 : 12, kOrders = kLong ? 24 : 20;
  constexpr size_t kId = kLong ? 28 : 26, kAggressor = kLong ? 32 : 24, kAction = kLong ? 33 : 25;
  constexpr size_t kIdEnd = kId + sizeof(uint32_t);
  for (size_t i = 0; i < message.group.count; ++i) {
    const std::byte* const at = message.group.entry(i);
    const Mdp3Symbols::Symbol symbol = message.symbols.Find(Mdp3Int(at + kSecurity));
    Trade trade{message.head, message.Price(at), Mdp3Size<kLong>(at + 8)};
    trade.sym = symbol.view();
    // Template 42 has it in later versions only, and 0 before.
    const uint32_t id =
        message.group.entry_bytes >= kIdEnd ? LoadLittle<uint32_t>(at + kId) : kNullUint;
    if (id != kNullUint && id != 0) trade.id = id;
    const std::string_view why = PutTrade(message, trade, static_cast<uint8_t>(at[kAggressor]),
                                          static_cast<uint8_t>(at[kAction]));
    if (!why.empty()) return why;
  }
  return TradeOrders(message, kSecurity, kOrders);
}

template std::string_view DecodeMdp3TradeSummary<false>(Mdp3Message& message);
template std::string_view DecodeMdp3TradeSummary<true>(Mdp3Message& message);

std::string_view DecodeMdp3OldTrade(Mdp3Message& message) {
  for (size_t i = 0; i < message.group.count; ++i) {
    const std::byte* const at = message.group.entry(i);
    const Mdp3Symbols::Symbol symbol = message.symbols.Find(Mdp3Int(at + 12));
    Trade trade{message.head, message.Price(at), Mdp3NullableInt(at + 8)};
    trade.sym = symbol.view();
    trade.id = Mdp3Int(at + 24);
    const std::string_view why =
        PutTrade(message, trade, static_cast<uint8_t>(at[28]), static_cast<uint8_t>(at[29]));
    if (!why.empty()) return why;
  }
  return {};
}

}  // namespace tickstack::feed::market
