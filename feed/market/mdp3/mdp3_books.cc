#include "feed/market/mdp3/mdp3_books.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <limits>

#include "feed/market/small_number.h"

namespace tickstack::feed::market {
namespace {

constexpr size_t kIndicatorOffset = 8;  // In incremental messages.
// Bits of the match event indicator: the event's last message with quotes, with implied quotes, and
// of all.
constexpr std::byte kLastQuote{0x04}, kLastImplied{0x10}, kEventEnd{0x80};
constexpr uint64_t kNullNumber = std::numeric_limits<uint64_t>::max();

std::string_view ActionName(uint8_t action) {
  constexpr std::string_view kNames[] = {"new",         "change",      "delete",
                                         "delete_thru", "delete_from", "overlay"};
  return action < std::size(kNames) ? kNames[action] : std::string_view();
}

// The side of a kind of entry; blank for others.
char SideOf(char kind) {
  constexpr std::string_view kBids = "0Ex", kOffers = "1Fw";
  if (kBids.find(kind) != std::string_view::npos) return 'B';
  return kOffers.find(kind) != std::string_view::npos ? 'S' : ' ';
}
constexpr char kBookReset = 'J';

// An entry of a book message, of either layout.
struct BookEntry {
  int64_t size;
  int32_t security;
  int64_t orders;
  std::byte level;
  uint8_t action;
  char kind;

  template <bool kLong>
  static BookEntry Read(const std::byte* at) {
    constexpr size_t kMore = kLong ? 4 : 0;  // The size has more bytes.
    return {Mdp3Size<kLong>(at + 8),
            Mdp3Int(at + 12 + kMore),
            Mdp3NullableInt(at + 20 + kMore),
            at[24 + kMore],
            static_cast<uint8_t>(at[25 + kMore]),
            CharAt(at + 26 + kMore)};
  }
};

// `cond` has the action, the level, and the kind of book. After a message that ends the quotes of
// an event, the book is consistent.
void PutLevel(Mdp3Message& message, const BookEntry& entry, const std::byte* at, bool complete) {
  const Mdp3Symbols::Symbol symbol = message.symbols.Find(entry.security);
  Level level{message.head, SideOf(entry.kind), message.Price(at), entry.size};
  level.sym = symbol.view();
  level.orders = entry.orders;
  level.complete = complete;
  if (entry.action >= kMdp3ActionDelete && entry.action <= 4) level.size = 0;
  const std::string_view book = entry.kind == 'E' || entry.kind == 'F'   ? " implied"
                                : entry.kind == 'w' || entry.kind == 'x' ? " best"
                                                                         : "";
  std::array<char, 32> text;
  const auto end = fmt::format_to_n(text.data(), text.size(), "{} {}{}", ActionName(entry.action),
                                    SmallNumber(entry.level).view(), book);
  level.cond = {text.data(), static_cast<size_t>(end.out - text.data())};
  message.sink.On(level);
}

// The orders of a book message, each of one of its entries. Earlier versions have none.
std::string_view BookOrders(Mdp3Message& message, BookEntry (*read)(const std::byte*)) {
  constexpr size_t kOrderBytes = 22;
  constexpr std::string_view kActions = "AMD";
  if (message.rest.empty()) return {};
  Mdp3Group orders;
  const std::string_view why = TakeMdp3Group(message.rest, kMdp3OrdersHead, kOrderBytes, orders);
  if (!why.empty()) return why;
  for (size_t i = 0; i < orders.count; ++i) {
    const std::byte* const at = orders.entry(i);
    const auto number = static_cast<size_t>(at[20]), action = static_cast<size_t>(at[21]);
    if (number == 0 || number > message.group.count) return "an order is of no entry";
    if (action >= kActions.size()) return "the action of an order is none";
    const std::byte* const level = message.group.entry(number - 1);
    const BookEntry entry = read(level);
    const Mdp3Symbols::Symbol symbol = message.symbols.Find(entry.security);
    Order order{message.head, kActions[action], SideOf(entry.kind), message.Price(level)};
    order.sym = symbol.view();
    order.size = Mdp3NullableInt(at + 16);
    order.id = LoadLittle<int64_t>(at);
    message.sink.On(order);
  }
  return {};
}

}  // namespace

std::string_view DecodeMdp3ChannelReset(Mdp3Message& message) {
  message.sink.On(Status{message.head, "channel", "reset"});
  Level level{message.head, ' ', kNullPrice, 0};
  level.cond = "reset";
  message.sink.On(level);
  message.sink.On(Order{message.head, 'R'});
  return {};
}

template <bool kLong>
std::string_view DecodeMdp3Book(Mdp3Message& message) {
  const std::byte indicator = message.root[kIndicatorOffset];
  const bool ends = (indicator & (kLastQuote | kLastImplied | kEventEnd)) != std::byte{0};
  for (size_t i = 0; i < message.group.count; ++i) {
    const std::byte* const at = message.group.entry(i);
    const BookEntry entry = BookEntry::Read<kLong>(at);
    if (entry.kind != kBookReset && SideOf(entry.kind) == ' ') return "its kind is not of a book";
    if (ActionName(entry.action).empty()) return "its action is none of a book";
    const bool complete = ends && i + 1 == message.group.count;
    if (entry.kind != kBookReset) {
      PutLevel(message, entry, at, complete);
      continue;
    }
    const Mdp3Symbols::Symbol symbol = message.symbols.Find(entry.security);
    Level level{message.head, ' ', kNullPrice, 0};
    level.sym = symbol.view();
    level.complete = complete;
    level.cond = "reset";
    message.sink.On(level);
  }
  return BookOrders(message, &BookEntry::Read<kLong>);
}

template std::string_view DecodeMdp3Book<false>(Mdp3Message& message);
template std::string_view DecodeMdp3Book<true>(Mdp3Message& message);

std::string_view DecodeMdp3OrderBook(Mdp3Message& message) {
  constexpr std::string_view kActions = "AMD";
  for (size_t i = 0; i < message.group.count; ++i) {
    const std::byte* const at = message.group.entry(i);
    const Mdp3Symbols::Symbol symbol = message.symbols.Find(Mdp3Int(at + 28));
    const auto action = static_cast<size_t>(at[32]);
    const char kind = CharAt(at + 33);
    Order order{message.head, 'R', SideOf(kind)};
    order.sym = symbol.view();
    if (kind != kBookReset) {
      if (order.side == ' ') return "its kind is not of a book";
      if (action >= kActions.size()) return "its action is none of an order";
      order.action = kActions[action];
      order.price = message.Price(at + 16);
      order.size = Mdp3NullableInt(at + 24);
      if (LoadLittle<uint64_t>(at) != kNullNumber) order.id = LoadLittle<int64_t>(at);
    }
    message.sink.On(order);
  }
  return {};
}

}  // namespace tickstack::feed::market
