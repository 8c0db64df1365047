#include "feed/market/itch/itch_decoder.h"

#include <algorithm>

#include "base/time.h"
#include "feed/market/big_endian.h"

namespace tickstack::feed::market {
namespace {

constexpr double kPriceUnits = 1e4;    // Units per dollar in prices of 4 bytes.
constexpr double kBreakerUnits = 1e8;  // Units per dollar in prices of 8 bytes.
constexpr size_t kStockBytes = 8, kMpidBytes = 4;

double Price4(const std::byte* at) { return BigU32(at) / kPriceUnits; }
int64_t Long8(const std::byte* at) { return static_cast<int64_t>(BigU64(at)); }
std::string_view Letter(const std::byte* at) { return PaddedText(at, 1); }

}  // namespace

const ItchDecoder::MessageType ItchDecoder::kTypes[] = {
    {'S', 12, &ItchDecoder::SystemEvent},
    {'R', 39, &ItchDecoder::StockDirectory},
    {'H', 25, &ItchDecoder::TradingAction},
    {'Y', 20, &ItchDecoder::RegSho},
    {'L', 26, &ItchDecoder::ParticipantPosition},
    {'V', 35, &ItchDecoder::BreakerLevels},
    {'W', 12, &ItchDecoder::BreakerBreach},
    {'K', 28, &ItchDecoder::IpoQuoting},
    {'J', 35, &ItchDecoder::AuctionCollar},
    {'h', 21, &ItchDecoder::OperationalHalt},
    {'A', 36, &ItchDecoder::AddOrder},
    {'F', 40, &ItchDecoder::AddAttributedOrder},
    {'E', 31, &ItchDecoder::OrderExecuted},
    {'C', 36, &ItchDecoder::OrderExecutedAtPrice},
    {'X', 23, &ItchDecoder::OrderCancelled},
    {'D', 19, &ItchDecoder::OrderDeleted},
    {'U', 35, &ItchDecoder::OrderReplaced},
    {'P', 44, &ItchDecoder::NonCrossTrade},
    {'Q', 40, &ItchDecoder::CrossTrade},
    {'B', 19, &ItchDecoder::BrokenTrade},
    {'I', 50, &ItchDecoder::Imbalance},
    {'N', 20, &ItchDecoder::RetailInterest},
    {'O', 48, &ItchDecoder::DirectListing},
};

ItchDecoder::ItchDecoder(int64_t midnight_ns)
    : midnight_ns_(midnight_ns), stocks_(std::make_unique<std::array<Stock, kStocks>>()) {}

void ItchDecoder::Reset() {
  orders_.Clear();
  stocks_->fill({});
}

int64_t ItchDecoder::DayTime(uint64_t of_day_ns) const {
  return midnight_ns_ + static_cast<int64_t>(of_day_ns);
}

int64_t ItchDecoder::TimeNs(std::span<const std::byte> message) const {
  return DayTime(BigU48(message.data() + 5));
}

std::string_view ItchDecoder::Decode(std::span<const std::byte> bytes, const EventHead& head,
                                     EventSink& sink, MessageCounts& counts) {
  // Row of the table by type; 255: none.
  static const auto kRows = [] {
    std::array<uint8_t, 256> rows;
    rows.fill(255);
    for (size_t i = 0; i < std::size(kTypes); ++i) {
      rows[static_cast<uint8_t>(kTypes[i].type)] = static_cast<uint8_t>(i);
    }
    return rows;
  }();
  if (bytes.empty()) {
    ++counts.bad[0];
    return "an empty message";
  }
  const auto type = static_cast<uint8_t>(bytes[0]);
  if (kRows[type] == 255) {
    ++counts.unknown[type];
    return {};
  }
  const MessageType& known = kTypes[kRows[type]];
  std::string_view why = "it is shorter than its type";
  if (bytes.size() >= known.bytes) {
    const uint64_t of_day_ns = BigU48(bytes.data() + 5);
    Message message = {bytes.data(), head, BigU16(bytes.data() + 1), sink, counts};
    message.head.time_ns = DayTime(of_day_ns);
    message.head.sym = SymbolOf(message.locate);
    why = of_day_ns >= static_cast<uint64_t>(kNsPerDay) ? "its time is after the end of the day"
                                                        : (this->*known.decode)(message);
  }
  ++(why.empty() ? counts.decoded : counts.bad)[type];
  return why;
}

std::string_view ItchDecoder::SymbolOf(uint16_t locate) const {
  const Stock& stock = (*stocks_)[locate];
  return {stock.name.data(), stock.length};
}

// Reads the stock at `offset` into the head, and remembers it for the stock locate.
std::string_view ItchDecoder::TakeStock(Message& message, size_t offset) {
  const std::string_view name = PaddedText(message.at + offset, kStockBytes);
  if (!IsPrintable(name)) return "its stock is not ASCII";
  Stock& stock = (*stocks_)[message.locate];
  std::copy(name.begin(), name.end(), stock.name.begin());
  stock.length = static_cast<uint8_t>(name.size());
  message.head.sym = SymbolOf(message.locate);
  return {};
}

// Sets what an event has of its order.
void ItchDecoder::Describe(Order& event, const StockOrders::Open& order) const {
  event.sym = SymbolOf(order.symbol);
  event.side = order.side;
  event.price = static_cast<double>(order.price) / kPriceUnits;
}

std::string_view ItchDecoder::SystemEvent(Message& message) {
  const std::byte* const at = message.at;
  if (CharAt(at + 11) == 'O') Reset();
  message.head.sym = {};
  message.sink.On(Status{message.head, "system", Letter(at + 11)});
  return {};
}

std::string_view ItchDecoder::StockDirectory(Message& message) {
  const std::byte* const at = message.at;
  if (const std::string_view why = TakeStock(message, 11); !why.empty()) return why;
  Instrument instrument{message.head};
  instrument.id = message.locate;
  instrument.kind = PaddedText(at + 26, 3);  // Classification and subtype.
  instrument.market = Letter(at + 19);
  instrument.lot = BigU32(at + 21);
  instrument.test = CharAt(at + 29) == 'T';
  instrument.luld_tier = Letter(at + 32);
  instrument.leverage = BigU32(at + 34);
  // Financial status, round lots only, authenticity, short sale threshold, IPO, ETP, inverse.
  const char flags[] = {CharAt(at + 20), CharAt(at + 25), CharAt(at + 29), CharAt(at + 30),
                        CharAt(at + 31), CharAt(at + 33), CharAt(at + 38)};
  instrument.flags = {flags, sizeof flags};
  message.sink.On(instrument);
  return {};
}

std::string_view ItchDecoder::TradingAction(Message& message) {
  const std::byte* const at = message.at;
  if (const std::string_view why = TakeStock(message, 11); !why.empty()) return why;
  message.sink.On(Status{message.head, "trading", Letter(at + 19), PaddedText(at + 21, 4)});
  return {};
}

std::string_view ItchDecoder::RegSho(Message& message) {
  if (const std::string_view why = TakeStock(message, 11); !why.empty()) return why;
  message.sink.On(Status{message.head, "short_sale", Letter(message.at + 19)});
  return {};
}

std::string_view ItchDecoder::ParticipantPosition(Message& message) {
  const std::byte* const at = message.at;
  if (const std::string_view why = TakeStock(message, 15); !why.empty()) return why;
  // The reason has the flag of the primary market maker, and the mode.
  message.sink.On(Status{message.head, "participant", Letter(at + 25), PaddedText(at + 23, 2),
                         PaddedText(at + 11, kMpidBytes)});
  return {};
}

std::string_view ItchDecoder::BreakerLevels(Message& message) {
  constexpr std::string_view kLevels[] = {"1", "2", "3"};
  message.head.sym = {};
  for (size_t i = 0; i < std::size(kLevels); ++i) {
    Status status{message.head, "breaker_level", kLevels[i]};
    status.price = static_cast<double>(BigU64(message.at + 11 + i * 8)) / kBreakerUnits;
    message.sink.On(status);
  }
  return {};
}

std::string_view ItchDecoder::BreakerBreach(Message& message) {
  message.head.sym = {};
  message.sink.On(Status{message.head, "breaker_breach", Letter(message.at + 11)});
  return {};
}

std::string_view ItchDecoder::IpoQuoting(Message& message) {
  const std::byte* const at = message.at;
  if (const std::string_view why = TakeStock(message, 11); !why.empty()) return why;
  Status status{message.head, "ipo", Letter(at + 23)};
  status.price = Price4(at + 24);
  status.at_ns = DayTime(uint64_t{BigU32(at + 19)} * kNsPerSecond);
  message.sink.On(status);
  return {};
}

std::string_view ItchDecoder::AuctionCollar(Message& message) {
  const std::byte* const at = message.at;
  if (const std::string_view why = TakeStock(message, 11); !why.empty()) return why;
  Auction auction{message.head, "collar"};
  auction.collar = Price4(at + 19);
  auction.high = Price4(at + 23);
  auction.low = Price4(at + 27);
  auction.extensions = BigU32(at + 31);
  message.sink.On(auction);
  return {};
}

std::string_view ItchDecoder::OperationalHalt(Message& message) {
  const std::byte* const at = message.at;
  if (const std::string_view why = TakeStock(message, 11); !why.empty()) return why;
  message.sink.On(Status{message.head, "operational", Letter(at + 20), Letter(at + 19)});
  return {};
}

std::string_view ItchDecoder::Add(Message& message, std::string_view mpid) {
  const std::byte* const at = message.at;
  const uint64_t reference = BigU64(at + 11);
  const StockOrders::Open order = {BigU32(at + 32), BigU32(at + 20), message.locate,
                                   CharAt(at + 19)};
  if (order.side != 'B' && order.side != 'S') return "its side is neither B nor S";
  if (orders_.is_full()) return "too many orders are open";
  if (const std::string_view why = TakeStock(message, 24); !why.empty()) return why;
  orders_.Put(reference, order);
  Order event{message.head, 'A', order.side};
  event.price = static_cast<double>(order.price) / kPriceUnits;
  event.size = order.size;
  event.id = static_cast<int64_t>(reference);
  event.mpid = mpid;
  message.sink.On(event);
  return {};
}

std::string_view ItchDecoder::AddOrder(Message& message) { return Add(message, {}); }

std::string_view ItchDecoder::AddAttributedOrder(Message& message) {
  return Add(message, PaddedText(message.at + 36, kMpidBytes));
}

// An execution, at the order's price unless the message has one. It is a trade unless it is not
// printable: those are part of a cross, whose trade has a message of its own.
std::string_view ItchDecoder::Execute(Message& message, double price_printed, char printable) {
  const std::byte* const at = message.at;
  const uint64_t reference = BigU64(at + 11);
  Order event{message.head, 'E', ' ', price_printed, BigU32(at + 19)};
  event.id = static_cast<int64_t>(reference);
  event.trade_id = Long8(at + 23);
  event.cond = {&printable, printable == ' ' ? size_t{0} : size_t{1}};
  if (const auto order = orders_.Reduce(reference, static_cast<uint32_t>(event.size))) {
    Describe(event, *order);
    if (printable != ' ') event.price = price_printed;
  } else {
    ++message.counts.unmatched;
  }
  message.sink.On(event);
  if (printable == 'N') return {};
  const char cond[] = {CharAt(at), printable};
  Trade trade{event, event.price, event.size, event.side};
  trade.cond = {cond, printable == ' ' ? size_t{1} : size_t{2}};
  trade.id = event.trade_id;
  message.sink.On(trade);
  return {};
}

std::string_view ItchDecoder::OrderExecuted(Message& message) {
  return Execute(message, kNullPrice, ' ');
}

std::string_view ItchDecoder::OrderExecutedAtPrice(Message& message) {
  const char printable = CharAt(message.at + 31);
  if (printable != 'Y' && printable != 'N') return "it is neither printable nor not";
  return Execute(message, Price4(message.at + 32), printable);
}

std::string_view ItchDecoder::OrderCancelled(Message& message) {
  const uint64_t reference = BigU64(message.at + 11);
  Order event{message.head, 'X', ' ', kNullPrice, BigU32(message.at + 19)};
  event.id = static_cast<int64_t>(reference);
  if (const auto order = orders_.Reduce(reference, static_cast<uint32_t>(event.size))) {
    Describe(event, *order);
  } else {
    ++message.counts.unmatched;
  }
  message.sink.On(event);
  return {};
}

std::string_view ItchDecoder::OrderDeleted(Message& message) {
  const uint64_t reference = BigU64(message.at + 11);
  Order event{message.head, 'D'};
  event.id = static_cast<int64_t>(reference);
  if (const auto order = orders_.Remove(reference)) {
    Describe(event, *order);
    event.size = order->size;
  } else {
    ++message.counts.unmatched;
  }
  message.sink.On(event);
  return {};
}

// The new order has the side and stock of the old one.
std::string_view ItchDecoder::OrderReplaced(Message& message) {
  const std::byte* const at = message.at;
  const uint64_t old_reference = BigU64(at + 11), reference = BigU64(at + 19);
  StockOrders::Open order = {BigU32(at + 31), BigU32(at + 27), message.locate, ' '};
  Order event{message.head, 'U', ' ', Price4(at + 31), order.size};
  event.id = static_cast<int64_t>(reference);
  event.old_id = static_cast<int64_t>(old_reference);
  if (const auto old = orders_.Remove(old_reference)) {
    order.side = event.side = old->side;
    order.symbol = old->symbol;
    event.sym = SymbolOf(order.symbol);
  } else {
    ++message.counts.unmatched;
    if (orders_.is_full()) return "too many orders are open";
  }
  orders_.Put(reference, order);
  message.sink.On(event);
  return {};
}

std::string_view ItchDecoder::NonCrossTrade(Message& message) {
  const std::byte* const at = message.at;
  if (const std::string_view why = TakeStock(message, 24); !why.empty()) return why;
  Trade trade{message.head, Price4(at + 32), BigU32(at + 20), CharAt(at + 19), "P"};
  trade.id = Long8(at + 36);
  message.sink.On(trade);
  return {};
}

std::string_view ItchDecoder::CrossTrade(Message& message) {
  const std::byte* const at = message.at;
  const int64_t shares = Long8(at + 11);
  if (shares < 0) return "its shares exceed a long";
  if (const std::string_view why = TakeStock(message, 19); !why.empty()) return why;
  const std::byte cond[] = {std::byte{'Q'}, at[39]};
  Trade trade{message.head, Price4(at + 27), shares};
  trade.cond = PaddedText(cond, sizeof cond);
  trade.id = Long8(at + 31);
  message.sink.On(trade);
  return {};
}

std::string_view ItchDecoder::BrokenTrade(Message& message) {
  TradeBreak broken{message.head};
  broken.id = Long8(message.at + 11);
  message.sink.On(broken);
  return {};
}

std::string_view ItchDecoder::Imbalance(Message& message) {
  const std::byte* const at = message.at;
  const int64_t paired = Long8(at + 11), imbalance = Long8(at + 19);
  if (paired < 0 || imbalance < 0) return "its shares exceed a long";
  if (const std::string_view why = TakeStock(message, 28); !why.empty()) return why;
  Auction auction{message.head, Letter(at + 48)};
  auction.paired = paired;
  auction.imbalance = imbalance;
  auction.side = CharAt(at + 27);
  auction.book_price = Price4(at + 36);
  auction.indicative = Price4(at + 40);
  auction.ref_price = Price4(at + 44);
  auction.cond = Letter(at + 49);
  message.sink.On(auction);
  return {};
}

std::string_view ItchDecoder::RetailInterest(Message& message) {
  if (const std::string_view why = TakeStock(message, 11); !why.empty()) return why;
  message.sink.On(Status{message.head, "retail", Letter(message.at + 19)});
  return {};
}

std::string_view ItchDecoder::DirectListing(Message& message) {
  const std::byte* const at = message.at;
  const uint64_t of_day_ns = BigU64(at + 32);
  if (of_day_ns >= static_cast<uint64_t>(kNsPerDay)) return "its near time is after the day's end";
  if (const std::string_view why = TakeStock(message, 11); !why.empty()) return why;
  Auction auction{message.head, "listing", Letter(at + 19)};
  auction.min_price = Price4(at + 20);
  auction.max_price = Price4(at + 24);
  auction.indicative = Price4(at + 28);
  auction.at_ns = DayTime(of_day_ns);
  auction.low = Price4(at + 40);
  auction.high = Price4(at + 44);
  message.sink.On(auction);
  return {};
}

}  // namespace tickstack::feed::market
