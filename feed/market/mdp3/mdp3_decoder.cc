#include "feed/market/mdp3/mdp3_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/byte_buffer.h"
#include "base/time.h"
#include "feed/market/big_endian.h"
#include "feed/market/dropped_messages.h"
#include "feed/market/exchange_day.h"
#include "feed/market/flag_text.h"

namespace tickstack::feed::market {
namespace {

constexpr size_t kSizeBytes = 2, kMdpHeadBytes = 10;  // The size, and the rest of the head.
constexpr size_t kGroupHead = 3, kOrdersHead = 8;
constexpr uint16_t kSchema = 1;
constexpr size_t kIndicatorOffset = 8;  // In incremental messages.
// Bits of the match event indicator: the event's last message with quotes, with implied quotes, and
// of all.
constexpr std::byte kLastQuote{0x04}, kLastImplied{0x10}, kEventEnd{0x80};
constexpr int64_t kNullMdpPrice = std::numeric_limits<int64_t>::max();
constexpr int32_t kNullInt = std::numeric_limits<int32_t>::max();
constexpr uint32_t kNullUint = std::numeric_limits<uint32_t>::max();
constexpr uint64_t kNullNumber = std::numeric_limits<uint64_t>::max();
constexpr uint16_t kNullDays = std::numeric_limits<uint16_t>::max();
constexpr uint8_t kActionDelete = 2;
constexpr size_t kMdpSymbolBytes = 20;

int32_t MdpInt(const std::byte* at) { return LoadLittle<int32_t>(at); }

int64_t NullableInt(const std::byte* at) {
  const int32_t value = MdpInt(at);
  return value == kNullInt ? kNullLong : value;
}

// A size of 4 or 8 bytes. One of 8 bytes that exceeds a long is null, as the null of that type is.
template <bool kLong>
int64_t SizeAt(const std::byte* at) {
  if constexpr (!kLong) return NullableInt(at);
  const auto value = LoadLittle<uint64_t>(at);
  return value > static_cast<uint64_t>(INT64_MAX) ? kNullLong : static_cast<int64_t>(value);
}

// Texts are padded with zeros.
std::string_view MdpText(const std::byte* at, size_t bytes) {
  const std::string_view text(reinterpret_cast<const char*>(at), bytes);
  return PaddedText(at, std::min(text.find('\0'), bytes));
}

// Days since 1970 as midnight UTC.
int64_t DaysNs(uint16_t days) {
  return days == kNullDays ? kNullLong : days * kNsPerDay - kUnixNsOfKdbEpoch;
}

// A number of up to three digits as text.
class SmallNumber {
 public:
  explicit SmallNumber(std::byte value) {
    length_ = static_cast<size_t>(
        std::to_chars(digits_.data(), digits_.data() + digits_.size(), static_cast<int>(value))
            .ptr -
        digits_.data());
  }
  std::string_view view() const { return {digits_.data(), length_}; }

 private:
  std::array<char, 3> digits_;
  size_t length_;
};

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

// Names are those of other venues; empty for other kinds.
std::string_view SessionStatisticName(char kind) {
  switch (kind) {
    case '4':
      return "opening";
    case '7':
      return "session_high";
    case '8':
      return "session_low";
    case '9':
      return "vwap";
    case 'N':
      return "highest_bid";
    case 'O':
      return "lowest_offer";
    default:
      return {};
  }
}

std::string_view DailyStatisticName(char kind) {
  switch (kind) {
    case '6':
      return "settlement";
    case 'B':
      return "cleared_volume";
    case 'C':
      return "open_interest";
    case 'W':
      return "fixing";
    default:
      return {};
  }
}

// Where a definition has what the first 71 bytes of all of them have not; 0: nowhere.
struct DefinitionLayout {
  uint8_t number;  // The template's.
  uint8_t currency, tick, factor;
  uint8_t maturity = 0, multiplier = 0, strike = 0;
};
constexpr DefinitionLayout kDefinitions[] = {
    {27, 76, 91, 99, 71, 140},        // Future.
    {54, 76, 91, 99, 71, 140},        // Future.
    {29, 76, 94, 102, 71},            // Spread.
    {56, 76, 94, 102, 71},            // Spread.
    {41, 77, 111, 127, 72, 169, 80},  // Option.
    {55, 77, 111, 127, 72, 169, 80},  // Option.
    {57, 71, 86, 94},                 // Fixed income.
    {58, 71, 86, 94},                 // Repo.
    {63, 71, 89, 97},                 // Foreign exchange.
};

// Year, month and day; without a day, the first of the month.
int64_t MaturityNs(const std::byte* at) {
  const uint32_t year = LoadLittle<uint16_t>(at);
  const auto month = static_cast<uint32_t>(at[2]), day = static_cast<uint32_t>(at[3]);
  return DayNs(year * 10'000 + month * 100 + (day == 0 || day == UINT8_MAX ? 1 : day));
}

}  // namespace

// An entry of a book message, of either layout.
struct Mdp3Decoder::BookEntry {
  int64_t size;
  int32_t security;
  int64_t orders;
  std::byte level;
  uint8_t action;
  char kind;

  template <bool kLong>
  static BookEntry Read(const std::byte* at) {
    constexpr size_t kMore = kLong ? 4 : 0;  // The size has more bytes.
    return {SizeAt<kLong>(at + 8),
            MdpInt(at + 12 + kMore),
            NullableInt(at + 20 + kMore),
            at[24 + kMore],
            static_cast<uint8_t>(at[25 + kMore]),
            CharAt(at + 26 + kMore)};
  }
};

const Mdp3Decoder::MessageType Mdp3Decoder::kTypes[] = {
    {4, 9, 0, &Mdp3Decoder::ChannelReset},
    {12, 0, 0, &Mdp3Decoder::WithoutRows},  // Heartbeat.
    {15, 0, 0, &Mdp3Decoder::WithoutRows},  // Login.
    {16, 0, 0, &Mdp3Decoder::WithoutRows},  // Logout.
    {27, 148, 0, &Mdp3Decoder::Definition},
    {29, 110, 0, &Mdp3Decoder::Definition},
    {30, 30, 0, &Mdp3Decoder::SecurityStatus},
    {32, 9, 27, &Mdp3Decoder::Book<false>},
    {33, 9, 25, &Mdp3Decoder::DailyStatistics},
    {34, 9, 28, &Mdp3Decoder::Limits},
    {35, 9, 19, &Mdp3Decoder::SessionStatistics<false>},
    {36, 9, 30, &Mdp3Decoder::OldTrade},
    {37, 9, 13, &Mdp3Decoder::Volume<false>},
    {38, 0, 0, &Mdp3Decoder::WithoutRows},  // Snapshot.
    {39, 0, 0, &Mdp3Decoder::WithoutRows},  // Quote request.
    {41, 177, 0, &Mdp3Decoder::Definition},
    {42, 9, 26, &Mdp3Decoder::TradeSummary<false>},
    {43, 9, 34, &Mdp3Decoder::OrderBook},
    {44, 0, 0, &Mdp3Decoder::WithoutRows},  // Snapshot of orders.
    {46, 9, 27, &Mdp3Decoder::Book<false>},
    {47, 9, 34, &Mdp3Decoder::OrderBook},
    {48, 9, 30, &Mdp3Decoder::TradeSummary<false>},
    {49, 9, 25, &Mdp3Decoder::DailyStatistics},
    {50, 9, 28, &Mdp3Decoder::Limits},
    {51, 9, 19, &Mdp3Decoder::SessionStatistics<false>},
    {52, 0, 0, &Mdp3Decoder::WithoutRows},  // Snapshot.
    {53, 0, 0, &Mdp3Decoder::WithoutRows},  // Snapshot of orders.
    {54, 148, 0, &Mdp3Decoder::Definition},
    {55, 177, 0, &Mdp3Decoder::Definition},
    {56, 110, 0, &Mdp3Decoder::Definition},
    {57, 102, 0, &Mdp3Decoder::Definition},
    {58, 102, 0, &Mdp3Decoder::Definition},
    {59, 0, 0, &Mdp3Decoder::WithoutRows},  // Snapshot of the first orders.
    {60, 0, 0, &Mdp3Decoder::WithoutRows},  // Status of a workup.
    {61, 0, 0, &Mdp3Decoder::WithoutRows},  // Snapshot.
    {62, 0, 0, &Mdp3Decoder::WithoutRows},  // Value of collateral.
    {63, 105, 0, &Mdp3Decoder::Definition},
    {64, 9, 31, &Mdp3Decoder::Book<true>},
    {65, 9, 34, &Mdp3Decoder::TradeSummary<true>},
    {66, 9, 17, &Mdp3Decoder::Volume<true>},
    {67, 9, 27, &Mdp3Decoder::SessionStatistics<true>},
    {68, 0, 0, &Mdp3Decoder::WithoutRows},  // Snapshot.
    {69, 0, 0, &Mdp3Decoder::WithoutRows},  // Snapshot.
};

std::string_view Mdp3Decoder::CheckSizes(std::span<const std::byte> packet) {
  if (packet.size() < kPacketHeadBytes) return "it is shorter than the head of a packet";
  for (std::span<const std::byte> rest = packet.subspan(kPacketHeadBytes); !rest.empty();) {
    if (rest.size() < kMdpHeadBytes) return "it ends within the head of a message";
    const size_t size = LoadLittle<uint16_t>(rest.data());
    if (size < kMdpHeadBytes) return "a message is shorter than its head";
    if (size > rest.size()) return "it ends within a message";
    rest = rest.subspan(size);
  }
  return {};
}

std::string_view Mdp3Decoder::DecodePacket(std::span<const std::byte> packet, const EventHead& head,
                                           EventSink& sink, MessageCounts& counts) {
  std::string_view bad;
  for (std::span<const std::byte> rest = packet.subspan(kPacketHeadBytes); !rest.empty();) {
    const size_t size = LoadLittle<uint16_t>(rest.data());
    const std::string_view why = DecodeMessage(rest.first(size), head, sink, counts);
    if (!why.empty()) {
      bad = why;
      bad_template_ = template_;
    }
    rest = rest.subspan(size);
  }
  return bad;
}

std::string_view Mdp3Decoder::DecodeMessage(std::span<const std::byte> bytes, const EventHead& head,
                                            EventSink& sink, MessageCounts& counts) {
  template_ = LoadLittle<uint16_t>(bytes.data() + 4);
  const auto counted = static_cast<uint8_t>(std::min<uint16_t>(template_, UINT8_MAX));
  const auto* const known = std::ranges::lower_bound(kTypes, template_, {}, &MessageType::number);
  if (known == std::end(kTypes) || known->number != template_) {
    ++counts.unknown[counted];
    return {};
  }
  Message message = {nullptr, {}, {}, template_ <= 44 ? 1e7 : 1e9, head, sink};
  std::string_view why = Start(bytes, *known, message);
  // A message that does not fit gives no row, also of its entries before that place.
  if (why.empty()) {
    NoEvents nowhere;
    Message tried = {message.root,        message.group, message.rest,
                     message.price_units, message.head,  nowhere};
    why = (this->*known->decode)(tried);
  }
  if (why.empty()) (this->*known->decode)(message);
  ++(why.empty() ? counts.decoded : counts.bad)[counted];
  return why;
}

// Finds the root block and the first group, and reads the time of those that begin with it.
std::string_view Mdp3Decoder::Start(std::span<const std::byte> bytes, const MessageType& type,
                                    Message& message) const {
  const size_t block_bytes = LoadLittle<uint16_t>(bytes.data() + kSizeBytes);
  if (LoadLittle<uint16_t>(bytes.data() + 6) != kSchema) return "its schema is not 1";
  message.rest = bytes.subspan(kMdpHeadBytes);
  message.root = message.rest.data();
  if (block_bytes > message.rest.size()) return "it ends within its root block";
  if (block_bytes < type.root_bytes) return "its root block is shorter than its type";
  message.rest = message.rest.subspan(block_bytes);
  if (type.decode == &Mdp3Decoder::WithoutRows || type.decode == &Mdp3Decoder::Definition) {
    return {};
  }
  const std::optional<int64_t> time_ns = UnixTimeNs(LoadLittle<int64_t>(message.root));
  if (!time_ns) return "its time is not in 1970 to 2200";
  message.head.time_ns = *time_ns;
  if (type.entry_bytes == 0) return {};
  return TakeGroup(message.rest, kGroupHead, type.entry_bytes, message.group);
}

// The number of entries is the last byte of the group's head.
std::string_view Mdp3Decoder::TakeGroup(std::span<const std::byte>& rest, size_t head_bytes,
                                        size_t entry_bytes_min, Group& group) {
  if (rest.size() < head_bytes) return "it ends within the head of a group";
  group.entry_bytes = LoadLittle<uint16_t>(rest.data());
  group.count = static_cast<size_t>(rest[head_bytes - 1]);
  rest = rest.subspan(head_bytes);
  group.first = rest.data();
  if (group.count == 0) return {};
  if (group.entry_bytes < entry_bytes_min) return "its entries are shorter than their type";
  if (group.count * group.entry_bytes > rest.size()) return "it ends within a group";
  rest = rest.subspan(group.count * group.entry_bytes);
  return {};
}

Mdp3Decoder::Symbol Mdp3Decoder::SymbolOf(int32_t security) const {
  if (const auto found = symbols_.find(security); found != symbols_.end()) return found->second;
  Symbol symbol{};
  const char* const end =
      std::to_chars(symbol.text.data(), symbol.text.data() + symbol.text.size(), security).ptr;
  symbol.length = static_cast<uint8_t>(end - symbol.text.data());
  return symbol;
}

double Mdp3Decoder::Price(const Message& message, const std::byte* at) {
  const auto price = LoadLittle<int64_t>(at);
  return price == kNullMdpPrice ? kNullPrice : static_cast<double>(price) / message.price_units;
}

std::string_view Mdp3Decoder::WithoutRows(Message&) { return {}; }

// All books of the channel are empty.
std::string_view Mdp3Decoder::ChannelReset(Message& message) {
  message.sink.On(Status{message.head, "channel", "reset"});
  Level level{message.head, ' ', kNullPrice, 0};
  level.cond = "reset";
  message.sink.On(level);
  message.sink.On(Order{message.head, 'R'});
  return {};
}

// The status of an instrument, or else of a group or product.
std::string_view Mdp3Decoder::SecurityStatus(Message& message) {
  const std::byte* const root = message.root;
  const int32_t security = MdpInt(root + 20);
  const Symbol symbol = SymbolOf(security);
  Status status{message.head, "trading"};
  status.sym = symbol.view();
  if (security == kNullInt) {
    const std::string_view group = MdpText(root + 8, 6), asset = MdpText(root + 14, 6);
    status.kind = group.empty() ? "product" : "group";
    status.sym = group.empty() ? asset : group;
    if (!IsPrintable(status.sym)) return "its group is not ASCII";
  }
  const SmallNumber state(root[27]), reason(root[28]), event(root[29]);
  if (root[27] != std::byte{UINT8_MAX}) status.state = state.view();
  status.reason = reason.view();
  status.mpid = {};
  status.at_ns = DaysNs(LoadLittle<uint16_t>(root + 24));
  message.sink.On(status);
  if (root[29] == std::byte{0}) return {};
  status.kind = "event";
  status.state = event.view();
  message.sink.On(status);
  return {};
}

// `cond` has the action, the level, and the kind of book. After a message that ends the quotes of
// an event, the book is consistent.
void Mdp3Decoder::PutLevel(Message& message, const BookEntry& entry, const std::byte* at,
                           bool complete) {
  const Symbol symbol = SymbolOf(entry.security);
  Level level{message.head, SideOf(entry.kind), Price(message, at), entry.size};
  level.sym = symbol.view();
  level.orders = entry.orders;
  level.complete = complete;
  if (entry.action >= kActionDelete && entry.action <= 4) level.size = 0;
  const std::string_view book = entry.kind == 'E' || entry.kind == 'F'   ? " implied"
                                : entry.kind == 'w' || entry.kind == 'x' ? " best"
                                                                         : "";
  std::array<char, 32> text;
  const auto end = fmt::format_to_n(text.data(), text.size(), "{} {}{}", ActionName(entry.action),
                                    SmallNumber(entry.level).view(), book);
  level.cond = {text.data(), static_cast<size_t>(end.out - text.data())};
  message.sink.On(level);
}

template <bool kLong>
std::string_view Mdp3Decoder::Book(Message& message) {
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
    const Symbol symbol = SymbolOf(entry.security);
    Level level{message.head, ' ', kNullPrice, 0};
    level.sym = symbol.view();
    level.complete = complete;
    level.cond = "reset";
    message.sink.On(level);
  }
  return BookOrders(message, &BookEntry::Read<kLong>);
}

// The orders of a book message, each of one of its entries. Earlier versions have none.
std::string_view Mdp3Decoder::BookOrders(Message& message, BookEntry (*read)(const std::byte*)) {
  constexpr size_t kOrderBytes = 22;
  constexpr std::string_view kActions = "AMD";
  if (message.rest.empty()) return {};
  Group orders;
  if (const std::string_view why = TakeGroup(message.rest, kOrdersHead, kOrderBytes, orders);
      !why.empty()) {
    return why;
  }
  for (size_t i = 0; i < orders.count; ++i) {
    const std::byte* const at = orders.entry(i);
    const auto number = static_cast<size_t>(at[20]), action = static_cast<size_t>(at[21]);
    if (number == 0 || number > message.group.count) return "an order is of no entry";
    if (action >= kActions.size()) return "the action of an order is none";
    const std::byte* const level = message.group.entry(number - 1);
    const BookEntry entry = read(level);
    const Symbol symbol = SymbolOf(entry.security);
    Order order{message.head, kActions[action], SideOf(entry.kind), Price(message, level)};
    order.sym = symbol.view();
    order.size = NullableInt(at + 16);
    order.id = LoadLittle<int64_t>(at);
    message.sink.On(order);
  }
  return {};
}

std::string_view Mdp3Decoder::OrderBook(Message& message) {
  constexpr std::string_view kActions = "AMD";
  for (size_t i = 0; i < message.group.count; ++i) {
    const std::byte* const at = message.group.entry(i);
    const Symbol symbol = SymbolOf(MdpInt(at + 28));
    const auto action = static_cast<size_t>(at[32]);
    const char kind = CharAt(at + 33);
    Order order{message.head, 'R', SideOf(kind)};
    order.sym = symbol.view();
    if (kind != kBookReset) {
      if (order.side == ' ') return "its kind is not of a book";
      if (action >= kActions.size()) return "its action is none of an order";
      order.action = kActions[action];
      order.price = Price(message, at + 16);
      order.size = NullableInt(at + 24);
      if (LoadLittle<uint64_t>(at) != kNullNumber) order.id = LoadLittle<int64_t>(at);
    }
    message.sink.On(order);
  }
  return {};
}

// A new trade, a corrected one, or one that the exchange takes back. `side` is the aggressor's.
std::string_view Mdp3Decoder::PutTrade(Message& message, Trade& trade, uint8_t aggressor,
                                       uint8_t action) {
  constexpr uint8_t kNew = 0, kChange = 1;
  if (aggressor == 1) trade.side = 'B';
  if (aggressor == 2) trade.side = 'S';
  if (action > kActionDelete) return "its action is none of a trade";
  if (action == kActionDelete) {
    TradeBreak broken{trade, trade.price, trade.size};
    broken.id = trade.id;
    message.sink.On(broken);
    return {};
  }
  if (action != kNew) trade.cond = ActionName(kChange);
  message.sink.On(trade);
  return {};
}

template <bool kLong>
std::string_view Mdp3Decoder::TradeSummary(Message& message) {
  constexpr size_t kSecurity = kLong ? 16 : 12, kOrders = kLong ? 24 : 20;
  constexpr size_t kId = kLong ? 28 : 26, kAggressor = kLong ? 32 : 24, kAction = kLong ? 33 : 25;
  constexpr size_t kIdEnd = kId + sizeof(uint32_t);
  for (size_t i = 0; i < message.group.count; ++i) {
    const std::byte* const at = message.group.entry(i);
    const Symbol symbol = SymbolOf(MdpInt(at + kSecurity));
    Trade trade{message.head, Price(message, at), SizeAt<kLong>(at + 8)};
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

// The orders of a trade message: those of its first entry, then those of the next one. An order
// without a number gives no row.
std::string_view Mdp3Decoder::TradeOrders(Message& message, size_t security_offset,
                                          size_t orders_offset) {
  constexpr size_t kOrderBytes = 12;
  if (message.rest.empty()) return {};
  Group orders;
  if (const std::string_view why = TakeGroup(message.rest, kOrdersHead, kOrderBytes, orders);
      !why.empty()) {
    return why;
  }
  size_t entry = 0;
  int64_t left = 0;  // Orders of `entry` that follow.
  for (size_t i = 0; i < orders.count; ++i, --left) {
    for (; left <= 0 && entry < message.group.count; ++entry) {
      left = MdpInt(message.group.entry(entry) + orders_offset);
    }
    if (left <= 0) return "it has more orders than its entries say";
    const std::byte* const at = orders.entry(i);
    const std::byte* const trade = message.group.entry(entry - 1);
    const Symbol symbol = SymbolOf(MdpInt(trade + security_offset));
    Order order{message.head, 'E', ' ', Price(message, trade), MdpInt(at + 8)};
    order.sym = symbol.view();
    order.id = LoadLittle<int64_t>(at);
    if (order.id != 0) message.sink.On(order);
  }
  return {};
}

std::string_view Mdp3Decoder::OldTrade(Message& message) {
  for (size_t i = 0; i < message.group.count; ++i) {
    const std::byte* const at = message.group.entry(i);
    const Symbol symbol = SymbolOf(MdpInt(at + 12));
    Trade trade{message.head, Price(message, at), NullableInt(at + 8)};
    trade.sym = symbol.view();
    trade.id = MdpInt(at + 24);
    const std::string_view why =
        PutTrade(message, trade, static_cast<uint8_t>(at[28]), static_cast<uint8_t>(at[29]));
    if (!why.empty()) return why;
  }
  return {};
}

// Sends a statistic of a security. One that is deleted has no figure.
void Mdp3Decoder::PutStatistic(Message& message, Statistic& statistic, int32_t security,
                               std::byte action) {
  const Symbol symbol = SymbolOf(security);
  statistic.sym = symbol.view();
  statistic.action = 'A';
  if (static_cast<uint8_t>(action) == kActionDelete) {
    statistic.action = 'D';
    statistic.price = kNullPrice;
    statistic.size = kNullLong;
  }
  message.sink.On(statistic);
}

template <bool kLong>
std::string_view Mdp3Decoder::SessionStatistics(Message& message) {
  constexpr size_t kMore = kLong ? 8 : 0;
  constexpr std::byte kIndicative{5};
  for (size_t i = 0; i < message.group.count; ++i) {
    const std::byte* const at = message.group.entry(i);
    Statistic statistic{message.head, SessionStatisticName(CharAt(at + 18 + kMore))};
    if (statistic.kind.empty()) return "its kind is none of a statistic";
    if (statistic.kind == "opening" && at[16 + kMore] == kIndicative) {
      statistic.kind = "indicative_opening";
    }
    statistic.price = Price(message, at);
    PutStatistic(message, statistic, MdpInt(at + 8 + kMore), at[17 + kMore]);
  }
  return {};
}

std::string_view Mdp3Decoder::DailyStatistics(Message& message) {
  for (size_t i = 0; i < message.group.count; ++i) {
    const std::byte* const at = message.group.entry(i);
    const char kind = CharAt(at + 24);
    Statistic statistic{message.head, DailyStatisticName(kind)};
    if (statistic.kind.empty()) return "its kind is none of a statistic";
    const FlagText flags(at[22]);
    const bool is_price = kind == '6' || kind == 'W';
    if (is_price) {
      statistic.price = Price(message, at);
      statistic.cond = flags.view();
    } else {
      statistic.size = NullableInt(at + 8);
    }
    statistic.at_ns = DaysNs(LoadLittle<uint16_t>(at + 20));
    PutStatistic(message, statistic, MdpInt(at + 12), at[23]);
  }
  return {};
}

// The volume that was traded so far.
template <bool kLong>
std::string_view Mdp3Decoder::Volume(Message& message) {
  constexpr size_t kSecurity = kLong ? 8 : 4;
  for (size_t i = 0; i < message.group.count; ++i) {
    const std::byte* const at = message.group.entry(i);
    Statistic statistic{message.head, "volume", kNullPrice, SizeAt<kLong>(at)};
    PutStatistic(message, statistic, MdpInt(at + kSecurity), at[kSecurity + 8]);
  }
  return {};
}

std::string_view Mdp3Decoder::Limits(Message& message) {
  constexpr std::string_view kKinds[] = {"upper_limit", "lower_limit", "price_variation"};
  for (size_t i = 0; i < message.group.count; ++i) {
    const std::byte* const at = message.group.entry(i);
    for (size_t n = 0; n < std::size(kKinds); ++n) {
      Statistic statistic{message.head, kKinds[n], Price(message, at + n * sizeof(int64_t))};
      PutStatistic(message, statistic, MdpInt(at + 24), std::byte{0});
    }
  }
  return {};
}

// `flags` has the CFI code, the factor by which prices are shown, and whether the definition is
// added (A), modified (M) or deleted (D).
std::string_view Mdp3Decoder::Definition(Message& message) {
  const std::byte* const root = message.root;
  const auto& layout = *std::ranges::find(kDefinitions, template_, &DefinitionLayout::number);
  const std::optional<int64_t> time_ns = UnixTimeNs(LoadLittle<int64_t>(root + 6));
  if (!time_ns) return "its time is not in 1970 to 2200";
  message.head.time_ns = *time_ns;
  Instrument instrument{message.head};
  instrument.sym = MdpText(root + 35, kMdpSymbolBytes);
  instrument.id = MdpInt(root + 55);
  instrument.kind = MdpText(root + 59, 6);
  instrument.market = MdpText(root + 19, 4);
  instrument.underlying = MdpText(root + 29, 6);
  instrument.currency = MdpText(root + layout.currency, 3);
  const std::string_view cfi = MdpText(root + 65, 6);
  for (const std::string_view text : {instrument.sym, instrument.kind, instrument.market,
                                      instrument.underlying, instrument.currency, cfi}) {
    if (!IsPrintable(text)) return "its texts are not ASCII";
  }
  const char action = CharAt(root + 5);
  if (const std::string_view why = Define(instrument, action); !why.empty()) return why;
  instrument.tick = Price(message, root + layout.tick);
  if (layout.maturity != 0) instrument.expiry_ns = MaturityNs(root + layout.maturity);
  if (layout.multiplier != 0) instrument.multiplier = Price(message, root + layout.multiplier);
  if (layout.strike != 0) instrument.strike = Price(message, root + layout.strike);
  const std::string flags =
      fmt::format("{} {} {}", cfi, Price(message, root + layout.factor), action);
  instrument.flags = flags;
  message.sink.On(instrument);
  return {};
}

// Remembers the symbol of an instrument, or forgets it.
std::string_view Mdp3Decoder::Define(const Instrument& instrument, char action) {
  const auto security = static_cast<int32_t>(instrument.id);
  if (action == 'D') {
    symbols_.erase(security);
    return {};
  }
  if (action != 'A' && action != 'M') return "its action is none of a definition";
  if (symbols_.size() >= kInstrumentsMax && !symbols_.contains(security)) {
    return "there are too many instruments";
  }
  Symbol& symbol = symbols_[security];
  std::ranges::copy(instrument.sym, symbol.text.begin());
  symbol.length = static_cast<uint8_t>(instrument.sym.size());
  return {};
}

}  // namespace tickstack::feed::market
