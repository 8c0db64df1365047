#include "feed/market/iex/iex_decoder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/byte_buffer.h"
#include "base/time.h"
#include "feed/market/big_endian.h"
#include "feed/market/exchange_day.h"
#include "feed/market/flag_text.h"

namespace tickstack::feed::market {
namespace {

struct IexMessage {
  const std::byte* at;
  EventHead head;
  EventSink& sink;
};
using IexFunction = std::string_view (*)(const IexMessage&);

struct IexType {
  char type;
  uint8_t bytes;
  IexFunction decode;
};

constexpr double kIexPriceUnits = 1e4;

double IexPrice(const std::byte* at) {
  return static_cast<double>(LoadLittle<int64_t>(at)) / kIexPriceUnits;
}
int64_t IexSize(const std::byte* at) { return LoadLittle<uint32_t>(at); }
std::string_view IexCode(const std::byte* at) { return PaddedText(at, 1); }

std::string_view PutStatus(const IexMessage& m, std::string_view kind,
                           std::string_view reason = {}) {
  m.sink.On(Status{m.head, kind, IexCode(m.at + 1), reason});
  return {};
}

std::string_view IexSystemEvent(const IexMessage& m) { return PutStatus(m, "system"); }
std::string_view IexTradingStatus(const IexMessage& m) {
  return PutStatus(m, "trading", PaddedText(m.at + 18, 4));
}
std::string_view IexRetail(const IexMessage& m) { return PutStatus(m, "retail"); }
std::string_view IexOperationalHalt(const IexMessage& m) { return PutStatus(m, "operational"); }
std::string_view IexSecurityEvent(const IexMessage& m) { return PutStatus(m, "security_event"); }

std::string_view IexShortSale(const IexMessage& m) {
  constexpr std::string_view kStates[] = {"0", "1"};
  const auto state = static_cast<size_t>(m.at[1]);
  if (state >= std::size(kStates)) return "its short sale status is neither 0 nor 1";
  m.sink.On(Status{m.head, "short_sale", kStates[state], IexCode(m.at + 18)});
  return {};
}

std::string_view IexDirectory(const IexMessage& m) {
  constexpr std::byte kTest{0x80};
  constexpr std::string_view kTiers[] = {"0", "1", "2"};
  const FlagText flags(m.at[1]);
  Instrument instrument{m.head};
  instrument.lot = IexSize(m.at + 18);
  instrument.prior_close = IexPrice(m.at + 22);
  const auto tier = static_cast<size_t>(m.at[30]);
  if (tier >= std::size(kTiers)) return "its LULD tier is not 0 to 2";
  instrument.luld_tier = kTiers[tier];
  instrument.test = (m.at[1] & kTest) != std::byte{0};
  instrument.flags = flags.view();
  m.sink.On(instrument);
  return {};
}

// A side without orders has price and size 0.
std::string_view IexQuote(const IexMessage& m) {
  const FlagText flags(m.at[1]);
  Quote quote{m.head};
  quote.bsize = IexSize(m.at + 18);
  quote.asize = IexSize(m.at + 38);
  const double bid = IexPrice(m.at + 22), ask = IexPrice(m.at + 30);
  if (bid != 0 || quote.bsize != 0) quote.bid = bid;
  if (ask != 0 || quote.asize != 0) quote.ask = ask;
  quote.cond = flags.view();
  m.sink.On(quote);
  return {};
}

template <char kSide>
std::string_view IexLevel(const IexMessage& m) {
  constexpr std::byte kEventComplete{1};
  const FlagText flags(m.at[1]);
  Level level{m.head, kSide, IexPrice(m.at + 22), IexSize(m.at + 18)};
  level.complete = (m.at[1] & kEventComplete) != std::byte{0};
  level.cond = flags.view();
  m.sink.On(level);
  return {};
}

template <typename Event>
std::string_view IexTradeReport(const IexMessage& m) {
  const FlagText flags(m.at[1]);
  Event event{m.head, IexPrice(m.at + 22), IexSize(m.at + 18)};
  event.cond = flags.view();
  event.id = LoadLittle<int64_t>(m.at + 30);
  m.sink.On(event);
  return {};
}

std::string_view IexOfficialPrice(const IexMessage& m) {
  Status status{m.head, "official_price", IexCode(m.at + 1)};
  status.price = IexPrice(m.at + 18);
  m.sink.On(status);
  return {};
}

std::string_view IexAuction(const IexMessage& m) {
  Auction auction{m.head, IexCode(m.at + 1)};
  auction.paired = IexSize(m.at + 18);
  auction.ref_price = IexPrice(m.at + 22);
  auction.indicative = IexPrice(m.at + 30);
  auction.imbalance = IexSize(m.at + 38);
  auction.side = CharAt(m.at + 42);
  auction.extensions = static_cast<int64_t>(m.at[43]);
  const int64_t scheduled_s = LoadLittle<uint32_t>(m.at + 44);
  auction.at_ns = scheduled_s * kNsPerSecond - kUnixNsOfKdbEpoch;
  auction.book_price = IexPrice(m.at + 48);
  auction.collar = IexPrice(m.at + 56);
  auction.low = IexPrice(m.at + 64);
  auction.high = IexPrice(m.at + 72);
  m.sink.On(auction);
  return {};
}

std::string_view IexAddOrder(const IexMessage& m) {
  const char code = CharAt(m.at + 1);
  if (code != '8' && code != '5') return "its side is neither 8 nor 5";
  Order order{m.head, 'A', code == '8' ? 'B' : 'S', IexPrice(m.at + 30), IexSize(m.at + 26)};
  order.id = LoadLittle<int64_t>(m.at + 18);
  m.sink.On(order);
  return {};
}

std::string_view IexModifyOrder(const IexMessage& m) {
  const FlagText flags(m.at[1]);
  Order order{m.head, 'M', ' ', IexPrice(m.at + 30), IexSize(m.at + 26)};
  order.id = LoadLittle<int64_t>(m.at + 18);
  order.cond = flags.view();
  m.sink.On(order);
  return {};
}

std::string_view IexDeleteOrder(const IexMessage& m) {
  Order order{m.head, 'D'};
  order.id = LoadLittle<int64_t>(m.at + 18);
  m.sink.On(order);
  return {};
}

std::string_view IexOrderExecuted(const IexMessage& m) {
  const FlagText flags(m.at[1]);
  Order order{m.head, 'E', ' ', IexPrice(m.at + 30), IexSize(m.at + 26)};
  order.id = LoadLittle<int64_t>(m.at + 18);
  order.trade_id = LoadLittle<int64_t>(m.at + 38);
  order.cond = flags.view();
  m.sink.On(order);
  Trade trade{m.head, order.price, order.size};
  trade.cond = flags.view();
  trade.id = order.trade_id;
  m.sink.On(trade);
  return {};
}

std::string_view IexClearBook(const IexMessage& m) {
  m.sink.On(Order{m.head, 'R'});
  return {};
}

constexpr IexType kIexTypes[] = {
    {'S', 10, IexSystemEvent},        {'D', 31, IexDirectory},
    {'H', 22, IexTradingStatus},      {'I', 18, IexRetail},
    {'O', 18, IexOperationalHalt},    {'P', 19, IexShortSale},
    {'E', 18, IexSecurityEvent},      {'Q', 42, IexQuote},
    {'8', 30, IexLevel<'B'>},         {'5', 30, IexLevel<'S'>},
    {'T', 38, IexTradeReport<Trade>}, {'B', 38, IexTradeReport<TradeBreak>},
    {'X', 26, IexOfficialPrice},      {'A', 80, IexAuction},
    {'a', 38, IexAddOrder},           {'M', 38, IexModifyOrder},
    {'R', 26, IexDeleteOrder},        {'L', 46, IexOrderExecuted},
    {'C', 18, IexClearBook},
};
constexpr size_t kIexSymbolOffset = 10, kIexSymbolBytes = 8;

}  // namespace

std::string_view DecodeIex(std::span<const std::byte> bytes, const EventHead& head, EventSink& sink,
                           MessageCounts& counts) {
  if (bytes.empty()) {
    ++counts.bad[0];
    return "an empty message";
  }
  static constexpr auto kRows = [] {
    std::array<uint8_t, 256> rows{};
    for (size_t i = 0; i < std::size(kIexTypes); ++i) {
      rows[static_cast<uint8_t>(kIexTypes[i].type)] = static_cast<uint8_t>(i + 1);
    }
    return rows;
  }();
  const auto type = static_cast<uint8_t>(bytes[0]);
  if (kRows[type] == 0) {
    ++counts.unknown[type];
    return {};
  }
  const IexType& known = kIexTypes[kRows[type] - 1];
  const auto decode = [&]() -> std::string_view {
    if (bytes.size() < known.bytes) return "it is shorter than its type";
    IexMessage message = {bytes.data(), head, sink};
    const std::optional<int64_t> time_ns = UnixTimeNs(LoadLittle<int64_t>(bytes.data() + 2));
    if (!time_ns) return "its time is not in 1970 to 2200";
    message.head.time_ns = *time_ns;
    if (known.bytes >= kIexSymbolOffset + kIexSymbolBytes) {
      message.head.sym = PaddedText(bytes.data() + kIexSymbolOffset, kIexSymbolBytes);
      if (!IsPrintable(message.head.sym)) return "its symbol is not ASCII";
    }
    return known.decode(message);
  };
  const std::string_view why = decode();
  ++(why.empty() ? counts.decoded : counts.bad)[type];
  return why;
}

}  // namespace tickstack::feed::market
