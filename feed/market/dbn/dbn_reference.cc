// Records about an instrument or the market: bars, definitions, auctions, states and statistics,
// and what Databento's servers say.

#include <algorithm>
#include <span>

#include "feed/market/dbn/dbn_record.h"

namespace tickstack::feed::market {
namespace {

constexpr std::string_view kBadTime = "a time of it is after 2262";
constexpr std::string_view kBadName = "a text of it is not ASCII";
constexpr size_t kDbnRecv = 16;        // In records of this file that have it.
constexpr size_t kDbnExpiration = 40;  // In definitions.
constexpr uint16_t kNoDbnChannel = std::numeric_limits<uint16_t>::max();

// By number, from 0.
constexpr std::string_view kDbnActions[] = {
    "none",  "pre_open",   "pre_cross",         "quoting",
    "cross", "rotation",   "price_indication",  "trading",
    "halt",  "pause",      "suspend",           "pre_close",
    "close", "post_close", "short_sale_change", "not_available"};
// By number, from 1.
constexpr std::string_view kDbnStatistics[] = {
    "opening",        "indicative_opening", "settlement",  "session_low",   "session_high",
    "cleared_volume", "lowest_offer",       "highest_bid", "open_interest", "fixing",
    "close",          "net_change",         "vwap",        "volatility",    "delta",
    "uncrossing",     "upper_limit",        "lower_limit", "block_volume"};

// Returns the name of a number from `first` on, or the number.
std::string_view DbnNameOf(std::span<const std::string_view> names, size_t first, size_t number,
                           const DbnDigits& digits) {
  return number >= first && number - first < names.size() ? names[number - first] : digits.view();
}

// A time of which 0, too, stands for none. False: it does not fit.
bool ReadDbnTime(const DbnRecord& r, size_t offset, int64_t& time_ns) {
  const auto unix_ns = r.Get<uint64_t>(offset);
  const std::optional<int64_t> time = DbnTime(unix_ns);
  if (time && unix_ns != 0) time_ns = *time;
  return time.has_value();
}

// Where the fields of a definition are; 0: the version does not have it.
struct DbnDefinitionLayout {
  size_t prior_close, unit, strike, lot, multiplier, channel, leg_index, currency, symbol,
      symbol_bytes, exchange, asset, asset_bytes, underlying, kind, algorithm, update, user;
};
constexpr DbnDefinitionLayout kDbnDefinitions[] = {
    {80, 88, 328, 148, 160, 184, 0, 186, 200, 22, 243, 248, 7, 300, 325, 342, 349, 353},
    {80, 88, 112, 156, 164, 184, 0, 186, 200, 71, 292, 297, 7, 349, 374, 375, 382, 386},
    {0, 80, 104, 168, 176, 218, 222, 224, 238, 71, 330, 335, 11, 391, 487, 488, 493, 497},
};

// The contract's multiplier, or else its quantity of the unit of measure.
double DbnMultiplier(const DbnRecord& r, const DbnDefinitionLayout& layout) {
  const int64_t multiplier = DbnNumber<int32_t>(r.at + layout.multiplier);
  return multiplier == kNullLong ? DbnPrice(r.at + layout.unit) : static_cast<double>(multiplier);
}

// How the definition changed, whether a user defined the instrument, and its matching.
class DbnDefinitionFlags {
 public:
  DbnDefinitionFlags(const DbnRecord& r, const DbnDefinitionLayout& layout)
      : letters_{r.at[layout.update], r.at[layout.user], r.at[layout.algorithm]} {
    std::ranges::replace(letters_, std::byte{0}, std::byte{' '});
  }
  std::string_view view() const { return PaddedText(letters_.data(), letters_.size()); }

 private:
  std::array<std::byte, 3> letters_;
};

void ReadDbnTexts(const DbnRecord& r, const DbnDefinitionLayout& layout, Instrument& instrument) {
  constexpr size_t kCurrencyBytes = 4, kExchangeBytes = 5, kUnderlyingBytes = 21;
  instrument.market = r.Text(layout.exchange, kExchangeBytes);
  instrument.currency = r.Text(layout.currency, kCurrencyBytes);
  instrument.underlying = r.Text(layout.underlying, kUnderlyingBytes);
  if (instrument.underlying.empty()) {
    instrument.underlying = r.Text(layout.asset, layout.asset_bytes);
  }
}

void ReadDbnNumbers(const DbnRecord& r, const DbnDefinitionLayout& layout, Instrument& instrument) {
  constexpr size_t kTick = 24;
  instrument.lot = DbnNumber<int32_t>(r.at + layout.lot);
  if (layout.prior_close != 0) instrument.prior_close = DbnPrice(r.at + layout.prior_close);
  instrument.tick = DbnPrice(r.at + kTick);
  instrument.multiplier = DbnMultiplier(r, layout);
  instrument.strike = DbnPrice(r.at + layout.strike);
}

// The text of a server, which is about no instrument.
std::string_view PutDbnText(DbnRecord& r, std::string_view kind, std::string_view state,
                            std::string_view text) {
  if (!IsPrintable(text)) return kBadName;
  EventHead head = r.Head(0, 0, r.state.channel.dataset());
  head.sym = {};
  r.sink.On(Status{head, kind, state, text});
  return {};
}

}  // namespace

std::string_view DecodeDbnBar(DbnRecord& r) {
  // The type of the first version does not say the interval.
  constexpr std::string_view kIntervals[] = {"1s", "1m", "1h", "1d", "eod"};
  constexpr uint8_t kFirst = 0x20;
  const auto type = r.Get<uint8_t>(1);
  const auto volume = r.Get<int64_t>(48);
  if (volume < 0) return "its volume exceeds a long";
  Bar bar{r.Head(0, 0, r.state.channel.dataset())};
  if (type >= kFirst) bar.interval = kIntervals[type - kFirst];
  bar.open = DbnPrice(r.at + 16);
  bar.high = DbnPrice(r.at + 24);
  bar.low = DbnPrice(r.at + 32);
  bar.close = DbnPrice(r.at + 40);
  bar.volume = volume;
  r.sink.On(bar);
  return {};
}

std::string_view DecodeDbnStatus(DbnRecord& r) {
  constexpr std::pair<size_t, std::string_view> kAnswers[] = {
      {30, "is_trading"}, {31, "is_quoting"}, {32, "short_sale"}};
  const auto action = r.Get<uint16_t>(24), event = r.Get<uint16_t>(28);
  const DbnDigits action_digits(action), reason(r.Get<uint16_t>(26)), event_digits(event);
  const std::string_view state = DbnNameOf(kDbnActions, 0, action, action_digits);
  const EventHead head = r.Head(kDbnRecv, 0, r.state.channel.dataset());
  r.sink.On(Status{head, "trading", state, reason.view()});
  if (event != 0) r.sink.On(Status{head, "trading_event", event_digits.view()});
  for (const auto& [offset, kind] : kAnswers) {
    const std::string_view answer = DbnCode(r.at + offset);
    if (answer == "Y" || answer == "N") r.sink.On(Status{head, kind, answer});
  }
  return {};
}

// A spread of version 3 has a record for each leg, which differ in the leg only.
std::string_view DecodeDbnDefinition(DbnRecord& r) {
  const DbnDefinitionLayout& layout = kDbnDefinitions[r.state.version - 1];
  if (layout.leg_index != 0 && r.Get<uint16_t>(layout.leg_index) != 0) return {};
  const DbnDefinitionFlags flags(r, layout);
  const std::string_view symbol = r.Text(layout.symbol, layout.symbol_bytes);
  const auto channel = r.Get<uint16_t>(layout.channel);
  Instrument instrument{r.Head(kDbnRecv, 0, r.state.channel.Text(channel, kNoDbnChannel)),
                        r.instrument(), DbnCode(r.at + layout.kind)};
  if (!symbol.empty()) instrument.sym = symbol;
  instrument.flags = flags.view();
  ReadDbnTexts(r, layout, instrument);
  ReadDbnNumbers(r, layout, instrument);
  if (!ReadDbnTime(r, kDbnExpiration, instrument.expiry_ns)) return kBadTime;
  for (const std::string_view text :
       {symbol, instrument.market, instrument.currency, instrument.underlying, instrument.flags}) {
    if (!IsPrintable(text)) return kBadName;
  }
  if (!symbol.empty() && !r.state.symbols.Define(r.instrument(), symbol)) {
    return "there are too many instruments";
  }
  r.sink.On(instrument);
  return {};
}

std::string_view DecodeDbnImbalance(DbnRecord& r) {
  const DbnDigits state(r.Get<uint8_t>(106));
  Auction auction{r.Head(kDbnRecv, 0, r.state.channel.dataset()), DbnCode(r.at + 104), state.view(),
                  DbnSide(r.Char(105))};
  if (auction.side == 0) return "its side is not A, B or N";
  auction.paired = DbnNumber<uint32_t>(r.at + 88);
  auction.imbalance = DbnNumber<uint32_t>(r.at + 92);
  auction.ref_price = DbnPrice(r.at + 24);
  const bool has_clearing = r.Get<int64_t>(40) != DbnLevel::kNoPrice;
  auction.indicative = DbnPrice(r.at + (has_clearing ? 40 : 64));
  auction.book_price = DbnPrice(r.at + 48);
  auction.high = DbnPrice(r.at + 72);
  auction.low = DbnPrice(r.at + 80);
  auction.extensions = r.Get<uint8_t>(108);
  auction.cond = DbnCode(r.at + 110);
  if (!ReadDbnTime(r, 32, auction.at_ns)) return kBadTime;
  r.sink.On(auction);
  return {};
}

// The quantity has 8 bytes from version 3 on, and 4 before, which moves what follows.
std::string_view DecodeDbnStatistic(DbnRecord& r) {
  constexpr size_t kQuantity = 40;
  const bool is_wide = r.state.version >= 3;
  const size_t moved = is_wide ? 4 : 0;
  const auto kind = r.Get<uint16_t>(52 + moved);
  const auto update = r.Get<uint8_t>(56 + moved);
  const DbnDigits digits(kind);
  const FlagText flags(r.at[57 + moved]);
  const auto channel = r.Get<uint16_t>(54 + moved);
  Statistic statistic{r.Head(kDbnRecv, 44 + moved, r.state.channel.Text(channel, kNoDbnChannel)),
                      DbnNameOf(kDbnStatistics, 1, kind, digits), DbnPrice(r.at + 32)};
  statistic.size =
      is_wide ? DbnNumber<int64_t>(r.at + kQuantity) : DbnNumber<int32_t>(r.at + kQuantity);
  if (!ReadDbnTime(r, 24, statistic.at_ns)) return kBadTime;
  statistic.action = update == 1 ? 'A' : update == 2 ? 'D' : ' ';
  statistic.cond = flags.view();
  r.sink.On(statistic);
  return {};
}

// Texts have 64 bytes in version 1, and no code.
std::string_view DecodeDbnError(DbnRecord& r) {
  if (r.state.version == 1) return PutDbnText(r, "error", {}, r.Text(16, 64));
  const DbnDigits code(r.Get<uint8_t>(318));
  return PutDbnText(r, "error", code.view(), r.Text(16, 302));
}

std::string_view DecodeDbnSystem(DbnRecord& r) {
  constexpr uint8_t kHeartbeat = 0;
  const bool is_first = r.state.version == 1;
  const std::string_view text = r.Text(16, is_first ? 64 : 303);
  const auto code = is_first ? uint8_t{0} : r.Get<uint8_t>(319);
  if (is_first ? text == "Heartbeat" : code == kHeartbeat) {
    ++r.counts.heartbeats;
    return {};
  }
  const DbnDigits digits(code);
  return PutDbnText(r, "system", is_first ? std::string_view() : digits.view(), text);
}

std::string_view DecodeDbnMapping(DbnRecord& r) {
  const std::string_view symbol = r.state.version == 1 ? r.Text(38, 22) : r.Text(89, 71);
  if (!IsPrintable(symbol)) return kBadName;
  if (symbol.empty()) return {};
  return r.state.symbols.Map(r.instrument(), symbol) ? std::string_view()
                                                     : "there are too many instruments";
}

}  // namespace tickstack::feed::market
