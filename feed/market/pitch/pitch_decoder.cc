#include "feed/market/pitch/pitch_decoder.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/byte_buffer.h"
#include "base/time.h"
#include "feed/market/big_endian.h"
#include "feed/market/exchange_day.h"
#include "feed/market/flag_text.h"

namespace tickstack::feed::market {
namespace {

constexpr uint8_t kE = 1, kO = 2, kF = 4, kC = 8;  // As in PitchMarket.
constexpr uint8_t kAll = kE | kO | kF | kC;
constexpr size_t kPitchHeadBytes = 2, kOffsetEnd = 6;
constexpr size_t kSymbolBytes = 6, kLongSymbolBytes = 8;
constexpr int64_t kPricesPerShort = 100;  // Units of a price of 8 bytes in one of 2 bytes.

int64_t PitchLong(const std::byte* at) { return LoadLittle<int64_t>(at); }
uint32_t PitchU32(const std::byte* at) { return LoadLittle<uint32_t>(at); }
double LongPrice(const std::byte* at) { return PitchPrice(PitchLong(at)); }
std::string_view PitchCode(const std::byte* at) { return PaddedText(at, 1); }
int64_t UnixSecondNs(uint32_t seconds) {
  return int64_t{seconds} * kNsPerSecond - kUnixNsOfKdbEpoch;
}

}  // namespace

const PitchDecoder::MessageType PitchDecoder::kTypes[] = {
    {0x20, kE | kO | kC, 6, &PitchDecoder::TimeMessage},
    {0x20, kO | kF | kC, 10, &PitchDecoder::TimeMessage},
    {0x21, kE | kO | kC, 34, &PitchDecoder::AddLong},
    {0x21, kF, 33, &PitchDecoder::AddLong},
    {0x22, kE | kO | kC, 26, &PitchDecoder::AddShort},
    {0x22, kF, 25, &PitchDecoder::AddShort},
    {0x23, kE, 26, &PitchDecoder::Executed},
    {0x23, kO | kF | kC, 27, &PitchDecoder::Executed},
    {0x24, kE, 38, &PitchDecoder::ExecutedAtPrice},
    {0x24, kO | kC, 39, &PitchDecoder::ExecutedAtPrice},
    {0x25, kAll, 18, &PitchDecoder::ReduceLong},
    {0x26, kAll, 16, &PitchDecoder::ReduceShort},
    {0x27, kE | kO | kC, 27, &PitchDecoder::ModifyLong},
    {0x27, kF, 26, &PitchDecoder::ModifyLong},
    {0x28, kE | kO | kC, 19, &PitchDecoder::ModifyShort},
    {0x28, kF, 18, &PitchDecoder::ModifyShort},
    {0x29, kAll, 14, &PitchDecoder::DeleteOrder},
    {0x2a, kE, 41, &PitchDecoder::TradeLong},
    {0x2a, kO | kF | kC, 42, &PitchDecoder::TradeLong},
    {0x2b, kE, 33, &PitchDecoder::TradeShort},
    {0x2b, kO | kF | kC, 34, &PitchDecoder::TradeShort},
    {0x2c, kAll, 14, &PitchDecoder::BrokenTrade},
    {0x2d, kAll, 6, &PitchDecoder::EndOfSession},
    {0x2e, kO, 30, &PitchDecoder::SymbolMapping},
    {0x2e, kO | kC, 38, &PitchDecoder::SymbolMapping},
    {0x2f, kE | kO, 40, &PitchDecoder::AddExpanded},
    {0x2f, kE | kO, 41, &PitchDecoder::AddExpanded},
    {0x2f, kO | kC, 45, &PitchDecoder::AddExpanded},
    {0x2f, kO | kC, 50, &PitchDecoder::AddExpanded},
    {0x30, kE | kO, 43, &PitchDecoder::TradeExpanded},
    {0x30, kO, 44, &PitchDecoder::TradeExpanded},
    {0x31, kAll, 18, &PitchDecoder::TradingStatus},
    {0x95, kE | kO, 47, &PitchDecoder::AuctionUpdate},
    {0x96, kE | kO | kC, 27, &PitchDecoder::AuctionSummary},
    {0x97, kAll, 6, &PitchDecoder::UnitClear},
    {0x98, kE | kO, 15, &PitchDecoder::Retail},
    {0x9d, kO, 0, &PitchDecoder::WithoutRows},       // Strikes of a settlement auction.
    {0x9e, kO, 0, &PitchDecoder::WithoutRows},       // Symbols of a settlement auction.
    {0xad, kO | kC, 0, &PitchDecoder::WithoutRows},  // Auction notification.
    {0xae, kO | kC, 0, &PitchDecoder::WithoutRows},  // Auction cancel.
    {0xaf, kO | kC, 0, &PitchDecoder::WithoutRows},  // Auction trade.
    {0xb1, kO | kF | kC, 18, &PitchDecoder::TimeReference},
    {0xb9, kF, 25, &PitchDecoder::Settlement},
    {0xba, kF, 65, &PitchDecoder::DaySummary},
    {0xbb, kF, 0, &PitchDecoder::FutureDefinition},
    {0xbc, kO | kF | kC, 0, &PitchDecoder::WithoutRows},  // Transaction begin.
    {0xbd, kO | kF | kC, 0, &PitchDecoder::WithoutRows},  // Transaction end.
    {0xbe, kF, 28, &PitchDecoder::PriceLimits},
    {0xd1, kO | kC, 64, &PitchDecoder::OptionsAuctionUpdate},
    {0xd2, kO, 0, &PitchDecoder::WithoutRows},  // Width update.
    {0xd3, kF, 0, &PitchDecoder::WithoutRows},  // Open interest.
    {0xfa, kF, 0, &PitchDecoder::WithoutRows},  // Names of variance futures.
};

void PitchDecoder::Reset() {
  units_ = {};
  unsequenced_ = {};
  open_orders_ = 0;
}

// Finds the row for a message; nullptr if its type is not known.
std::string_view PitchDecoder::Find(std::span<const std::byte> bytes,
                                    const MessageType*& found) const {
  const auto type = static_cast<uint8_t>(bytes[1]);
  found = nullptr;
  for (const auto* row = std::ranges::lower_bound(kTypes, type, {}, &MessageType::type);
       row != std::end(kTypes) && row->type == type; ++row) {
    found = row;
    const bool is_of_market = (row->markets & static_cast<uint8_t>(market_)) != 0;
    if (is_of_market && (row->bytes == 0 || row->bytes == bytes.size())) return {};
  }
  return found == nullptr ? "" : "its type has another length in this market";
}

// Forgets the time of a unit when messages are missing, and everything when it starts over.
PitchDecoder::Unit& PitchDecoder::UnitOf(uint8_t number, const EventHead& head) {
  std::unique_ptr<Unit>& unit = (head.seq == kNullLong ? unsequenced_ : units_)[number];
  if (unit == nullptr) unit = std::make_unique<Unit>();
  if (head.seq != kNullLong && unit->seq != kNullLong) {
    if (head.seq <= unit->seq) {
      open_orders_ -= unit->book.open_orders();
      *unit = Unit();
    } else if (head.seq != unit->seq + 1) {
      unit->second_ns = kNullLong;
    }
  }
  unit->seq = head.seq;
  return *unit;
}

std::string_view PitchDecoder::Decode(std::span<const std::byte> bytes, uint8_t number,
                                      const EventHead& head, EventSink& sink,
                                      MessageCounts& counts) {
  if (bytes.size() < kPitchHeadBytes) {
    ++counts.bad[0];
    return "it is shorter than the head of a message";
  }
  const auto type = static_cast<uint8_t>(bytes[1]);
  Unit& unit = UnitOf(number, head);
  const MessageType* known = nullptr;
  std::string_view why = Find(bytes, known);
  if (known == nullptr) {
    ++counts.unknown[type];
    return {};
  }
  if (why.empty()) {
    Message message = {bytes.data(), bytes.size(), head, unit, sink, counts};
    if (unit.second_ns != kNullLong && bytes.size() >= kOffsetEnd) {
      message.head.time_ns = unit.second_ns + PitchU32(bytes.data() + kPitchHeadBytes);
    }
    const size_t orders = unit.book.open_orders();
    why = (this->*known->decode)(message);
    open_orders_ += unit.book.open_orders() - orders;
  }
  ++(why.empty() ? counts.decoded : counts.bad)[type];
  return why;
}

// Seconds since midnight. If the message has seconds since 1970 as well, they do not depend on the
// date and time zone that the decoder was given.
std::string_view PitchDecoder::TimeMessage(Message& message) {
  const int64_t seconds = PitchU32(message.at + 2);
  if (message.bytes > kOffsetEnd) {
    message.unit.second_ns = UnixSecondNs(PitchU32(message.at + 6));
    return {};
  }
  if (seconds >= kNsPerDay / kNsPerSecond) return "its time is after the end of the day";
  message.unit.second_ns = midnight_ns_ + seconds * kNsPerSecond;
  return {};
}

// Midnight since 1970, and the second since midnight.
std::string_view PitchDecoder::TimeReference(Message& message) {
  message.unit.second_ns =
      UnixSecondNs(PitchU32(message.at + 2)) + int64_t{PitchU32(message.at + 6)} * kNsPerSecond;
  return {};
}

std::string_view PitchDecoder::UnitClear(Message& message) {
  Order event{message.head};
  message.unit.book.Clear(event, message.sink);
  return {};
}

// Prices of 2 bytes are in 1/100. Where no price is negative, the highest bit is part of it.
int64_t PitchDecoder::ShortPrice(const std::byte* at) const {
  const auto price = LoadLittle<uint16_t>(at);
  const bool is_signed = market_ == PitchMarket::kFutures || market_ == PitchMarket::kComplex;
  return (is_signed ? int64_t{static_cast<int16_t>(price)} : int64_t{price}) * kPricesPerShort;
}

// Flags, as two digits, are followed by the code of the customer if there is one.
std::string_view PitchDecoder::Add(Message& message, Order& event, int64_t price,
                                   size_t flags_offset) {
  constexpr size_t kCustomerOffset = 40;
  if (open_orders_ >= OpenOrders<char>::kOrdersMax) return "too many orders are open";
  event.id = PitchLong(message.at + 6);
  event.side = CharAt(message.at + 14);
  std::string cond;
  if (message.bytes > flags_offset) cond = FlagText(message.at[flags_offset]).view();
  if (message.bytes > kCustomerOffset) cond += PitchCode(message.at + kCustomerOffset);
  event.cond = cond;
  return message.unit.book.Add(event, price, message.sink);
}

std::string_view PitchDecoder::AddLong(Message& message) {
  Order event{message.head};
  event.size = PitchU32(message.at + 15);
  event.sym = PaddedText(message.at + 19, kSymbolBytes);
  return Add(message, event, PitchLong(message.at + 25), 33);
}

std::string_view PitchDecoder::AddShort(Message& message) {
  Order event{message.head};
  event.size = LoadLittle<uint16_t>(message.at + 15);
  event.sym = PaddedText(message.at + 17, kSymbolBytes);
  return Add(message, event, ShortPrice(message.at + 23), 25);
}

std::string_view PitchDecoder::AddExpanded(Message& message) {
  Order event{message.head};
  event.size = PitchU32(message.at + 15);
  event.sym = PaddedText(message.at + 19, kLongSymbolBytes);
  event.mpid = PaddedText(message.at + 36, 4);
  return Add(message, event, PitchLong(message.at + 27), 35);
}

std::string_view PitchDecoder::Executed(Message& message) {
  const std::byte* const at = message.at;
  Order event{message.head};
  event.id = PitchLong(at + 6);
  event.size = PitchU32(at + 14);
  event.trade_id = PitchLong(at + 18);
  const std::byte cond[] = {std::byte{'E'}, message.bytes > 26 ? at[26] : std::byte{' '}};
  event.cond = PaddedText(cond + 1, 1);
  return message.unit.book.Execute(event, std::nullopt, std::nullopt, PaddedText(cond, sizeof cond),
                                   message.sink, message.counts);
}

std::string_view PitchDecoder::ExecutedAtPrice(Message& message) {
  const std::byte* const at = message.at;
  Order event{message.head};
  event.id = PitchLong(at + 6);
  event.size = PitchU32(at + 14);
  event.trade_id = PitchLong(at + 22);
  const std::byte cond[] = {std::byte{'C'}, message.bytes > 38 ? at[38] : std::byte{' '}};
  event.cond = PaddedText(cond + 1, 1);
  return message.unit.book.Execute(event, PitchLong(at + 30), PitchU32(at + 18),
                                   PaddedText(cond, sizeof cond), message.sink, message.counts);
}

std::string_view PitchDecoder::ReduceLong(Message& message) {
  Order event{message.head};
  event.id = PitchLong(message.at + 6);
  event.size = PitchU32(message.at + 14);
  return message.unit.book.Cancel(event, message.sink, message.counts);
}

std::string_view PitchDecoder::ReduceShort(Message& message) {
  Order event{message.head};
  event.id = PitchLong(message.at + 6);
  event.size = LoadLittle<uint16_t>(message.at + 14);
  return message.unit.book.Cancel(event, message.sink, message.counts);
}

std::string_view PitchDecoder::ModifyLong(Message& message) {
  Order event{message.head};
  event.id = PitchLong(message.at + 6);
  event.size = PitchU32(message.at + 14);
  const FlagText flags(message.bytes > 26 ? message.at[26] : std::byte{0});
  if (message.bytes > 26) event.cond = flags.view();
  return message.unit.book.Modify(event, PitchLong(message.at + 18), message.sink, message.counts);
}

std::string_view PitchDecoder::ModifyShort(Message& message) {
  Order event{message.head};
  event.id = PitchLong(message.at + 6);
  event.size = LoadLittle<uint16_t>(message.at + 14);
  const FlagText flags(message.bytes > 18 ? message.at[18] : std::byte{0});
  if (message.bytes > 18) event.cond = flags.view();
  return message.unit.book.Modify(event, ShortPrice(message.at + 16), message.sink, message.counts);
}

std::string_view PitchDecoder::DeleteOrder(Message& message) {
  Order event{message.head};
  event.id = PitchLong(message.at + 6);
  return message.unit.book.Delete(event, message.sink, message.counts);
}

// A trade against an order that is not displayed. `cond` is P and the condition.
std::string_view PitchDecoder::PutTrade(Message& message, Trade& trade, size_t cond_offset) {
  if (!IsPrintable(trade.sym)) return "its symbol is not ASCII";
  trade.side = CharAt(message.at + 14);
  const std::byte cond[] = {std::byte{'P'},
                            message.bytes > cond_offset ? message.at[cond_offset] : std::byte{' '}};
  trade.cond = PaddedText(cond, sizeof cond);
  message.sink.On(trade);
  return {};
}

std::string_view PitchDecoder::TradeLong(Message& message) {
  const std::byte* const at = message.at;
  Trade trade{message.head, LongPrice(at + 25), PitchU32(at + 15)};
  trade.sym = PaddedText(at + 19, kSymbolBytes);
  trade.id = PitchLong(at + 33);
  return PutTrade(message, trade, 41);
}

std::string_view PitchDecoder::TradeShort(Message& message) {
  const std::byte* const at = message.at;
  Trade trade{message.head, PitchPrice(ShortPrice(at + 23)), LoadLittle<uint16_t>(at + 15)};
  trade.sym = PaddedText(at + 17, kSymbolBytes);
  trade.id = PitchLong(at + 25);
  return PutTrade(message, trade, 33);
}

std::string_view PitchDecoder::TradeExpanded(Message& message) {
  const std::byte* const at = message.at;
  Trade trade{message.head, LongPrice(at + 27), PitchU32(at + 15)};
  trade.sym = PaddedText(at + 19, kLongSymbolBytes);
  trade.id = PitchLong(at + 35);
  return PutTrade(message, trade, 43);
}

std::string_view PitchDecoder::BrokenTrade(Message& message) {
  TradeBreak broken{message.head};
  broken.id = PitchLong(message.at + 6);
  message.sink.On(broken);
  return {};
}

std::string_view PitchDecoder::EndOfSession(Message& message) {
  message.sink.On(Status{message.head, "session", "end"});
  return {};
}

// The reason has the Reg SHO action, and of options the state in global trading hours.
std::string_view PitchDecoder::TradingStatus(Message& message) {
  message.head.sym = PaddedText(message.at + 6, kLongSymbolBytes);
  if (!IsPrintable(message.head.sym)) return "its symbol is not ASCII";
  message.sink.On(
      Status{message.head, "trading", PitchCode(message.at + 14), PaddedText(message.at + 15, 3)});
  return {};
}

namespace {

// The fields that auction updates have in all markets. Shares to buy and to sell are those paired,
// and the rest of the larger side.
Auction AuctionOf(const std::byte* at, const EventHead& head) {
  Auction auction{head, PitchCode(at + 14)};
  auction.sym = PaddedText(at + 6, kLongSymbolBytes);
  const int64_t buy = PitchU32(at + 23), sell = PitchU32(at + 27);
  auction.paired = std::min(buy, sell);
  auction.imbalance = std::max(buy, sell) - auction.paired;
  if (buy != sell) auction.side = buy > sell ? 'B' : 'S';
  auction.ref_price = LongPrice(at + 15);
  auction.indicative = LongPrice(at + 31);
  auction.book_price = LongPrice(at + 39);
  return auction;
}

}  // namespace

std::string_view PitchDecoder::AuctionUpdate(Message& message) {
  const Auction auction = AuctionOf(message.at, message.head);
  if (!IsPrintable(auction.sym)) return "its symbol is not ASCII";
  message.sink.On(auction);
  return {};
}

std::string_view PitchDecoder::OptionsAuctionUpdate(Message& message) {
  Auction auction = AuctionOf(message.at, message.head);
  if (!IsPrintable(auction.sym)) return "its symbol is not ASCII";
  auction.state = PitchCode(message.at + 47);
  auction.low = LongPrice(message.at + 48);
  auction.high = LongPrice(message.at + 56);
  message.sink.On(auction);
  return {};
}

std::string_view PitchDecoder::AuctionSummary(Message& message) {
  Auction auction{message.head, PitchCode(message.at + 14), "summary"};
  auction.sym = PaddedText(message.at + 6, kLongSymbolBytes);
  if (!IsPrintable(auction.sym)) return "its symbol is not ASCII";
  auction.indicative = LongPrice(message.at + 15);
  auction.paired = PitchU32(message.at + 23);
  message.sink.On(auction);
  return {};
}

std::string_view PitchDecoder::Retail(Message& message) {
  message.head.sym = PaddedText(message.at + 6, kLongSymbolBytes);
  if (!IsPrintable(message.head.sym)) return "its symbol is not ASCII";
  message.sink.On(Status{message.head, "retail", PitchCode(message.at + 14)});
  return {};
}

namespace {

// Reads an OSI symbol: root a6, expiry as YYMMDD, C or P, strike in 1/1000 with 8 digits. False if
// it is none.
bool ReadOsiSymbol(std::string_view osi, Instrument& instrument) {
  const auto number = [](std::string_view digits) {
    uint32_t value = 0;
    for (const char digit : digits) {
      value =
          digit < '0' || digit > '9' ? UINT32_MAX : value * 10 + static_cast<uint32_t>(digit - '0');
      if (value == UINT32_MAX) break;
    }
    return value;
  };
  constexpr uint32_t kCentury = 20'000'000;
  constexpr double kStrikeUnits = 1e3;
  const uint32_t day = number(osi.substr(6, 6)), strike = number(osi.substr(13));
  const char kind = osi[12];
  if (day == UINT32_MAX || strike == UINT32_MAX || (kind != 'C' && kind != 'P')) return false;
  instrument.market = PaddedText(AsBytes(osi).data(), 6);
  instrument.expiry_ns = DayNs(kCentury + day);
  instrument.kind = osi.substr(12, 1);
  instrument.strike = strike / kStrikeUnits;
  return instrument.expiry_ns != kNullLong;
}

}  // namespace

// It has no time.
std::string_view PitchDecoder::SymbolMapping(Message& message) {
  constexpr size_t kOsiBytes = 21;
  Instrument instrument{message.head};
  instrument.time_ns = kNullLong;
  instrument.sym = PaddedText(message.at + 2, kSymbolBytes);
  const std::string_view osi(reinterpret_cast<const char*>(message.at + 8), kOsiBytes);
  if (message.bytes > 30) instrument.underlying = PaddedText(message.at + 30, kLongSymbolBytes);
  if (!IsPrintable(instrument.sym) || !IsPrintable(osi) || !IsPrintable(instrument.underlying)) {
    return "its symbols are not ASCII";
  }
  if (!ReadOsiSymbol(osi, instrument)) return "its OSI symbol is none";
  instrument.flags = PitchCode(message.at + 29);
  message.sink.On(instrument);
  return {};
}

// A future, or a spread of several. It has a second of its own.
std::string_view PitchDecoder::FutureDefinition(Message& message) {
  constexpr size_t kDefinitionBytes = 41;
  const std::byte* const at = message.at;
  if (message.bytes < kDefinitionBytes) return "it is shorter than its type";
  Instrument instrument{message.head};
  instrument.time_ns = UnixSecondNs(PitchU32(at + 12)) + PitchU32(at + 2);
  instrument.sym = PaddedText(at + 6, kSymbolBytes);
  instrument.market = PaddedText(at + 16, kSymbolBytes);
  if (!IsPrintable(instrument.sym) || !IsPrintable(instrument.market)) {
    return "its symbols are not ASCII";
  }
  const std::string flags = fmt::format("{}{}", FlagText(at[22]).view(), PitchCode(at + 29));
  instrument.flags = flags;
  instrument.expiry_ns = DayNs(PitchU32(at + 23));
  instrument.multiplier = LoadLittle<uint16_t>(at + 27);
  instrument.test = CharAt(at + 29) == 'T';
  instrument.tick = LongPrice(at + 30);
  instrument.kind = at[38] == std::byte{0} ? "future" : "spread";
  message.sink.On(instrument);
  return {};
}

std::string_view PitchDecoder::Settlement(Message& message) {
  const std::byte* const at = message.at;
  Status status{message.head, "settlement", PitchCode(at + 24)};
  status.sym = PaddedText(at + 6, kSymbolBytes);
  if (!IsPrintable(status.sym)) return "its symbol is not ASCII";
  status.at_ns = DayNs(PitchU32(at + 12));
  status.price = LongPrice(at + 16);
  message.sink.On(status);
  return {};
}

std::string_view PitchDecoder::DaySummary(Message& message) {
  constexpr std::string_view kPrices[] = {"high", "low", "open", "close"};
  const std::byte* const at = message.at;
  Status status{message.head, "day"};
  status.sym = PaddedText(at + 6, kSymbolBytes);
  if (!IsPrintable(status.sym)) return "its symbol is not ASCII";
  status.at_ns = DayNs(PitchU32(at + 12));
  for (size_t i = 0; i < std::size(kPrices); ++i) {
    status.state = kPrices[i];
    status.price = LongPrice(at + 20 + i * sizeof(int64_t));
    message.sink.On(status);
  }
  return {};
}

std::string_view PitchDecoder::PriceLimits(Message& message) {
  Status status{message.head, "limit", "high"};
  status.sym = PaddedText(message.at + 6, kSymbolBytes);
  if (!IsPrintable(status.sym)) return "its symbol is not ASCII";
  status.price = LongPrice(message.at + 12);
  message.sink.On(status);
  status.state = "low";
  status.price = LongPrice(message.at + 20);
  message.sink.On(status);
  return {};
}

std::string_view PitchDecoder::WithoutRows(Message&) { return {}; }

}  // namespace tickstack::feed::market
