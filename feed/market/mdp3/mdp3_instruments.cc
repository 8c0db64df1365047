#include "feed/market/mdp3/mdp3_instruments.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "feed/market/exchange_day.h"
#include "feed/market/small_number.h"

namespace tickstack::feed::market {
namespace {

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

// Remembers the symbol of an instrument, or forgets it.
std::string_view Define(Mdp3Symbols& symbols, const Instrument& instrument, char action) {
  const auto security = static_cast<int32_t>(instrument.id);
  if (action == 'D') {
    symbols.Forget(security);
    return {};
  }
  if (action != 'A' && action != 'M') return "its action is none of a definition";
  if (!symbols.Define(security, instrument.sym)) return "there are too many instruments";
  return {};
}

}  // namespace

std::string_view DecodeMdp3Definition(Mdp3Message& message) {
  const std::byte* const root = message.root;
  const auto& layout = *std::ranges::find(kDefinitions, message.number, &DefinitionLayout::number);
  const std::optional<int64_t> time_ns = UnixTimeNs(LoadLittle<int64_t>(root + 6));
  if (!time_ns) return "its time is not in 1970 to 2200";
  message.head.time_ns = *time_ns;
  Instrument instrument{message.head};
  instrument.sym = Mdp3Text(root + 35, kMdp3SymbolBytes);
  instrument.id = Mdp3Int(root + 55);
  instrument.kind = Mdp3Text(root + 59, 6);
  instrument.market = Mdp3Text(root + 19, 4);
  instrument.underlying = Mdp3Text(root + 29, 6);
  instrument.currency = Mdp3Text(root + layout.currency, 3);
  const std::string_view cfi = Mdp3Text(root + 65, 6);
  for (const std::string_view text : {instrument.sym, instrument.kind, instrument.market,
                                      instrument.underlying, instrument.currency, cfi}) {
    if (!IsPrintable(text)) return "its texts are not ASCII";
  }
  const char action = CharAt(root + 5);
  if (const std::string_view why = Define(message.symbols, instrument, action); !why.empty()) {
    return why;
  }
  instrument.tick = message.Price(root + layout.tick);
  if (layout.maturity != 0) instrument.expiry_ns = MaturityNs(root + layout.maturity);
  if (layout.multiplier != 0) instrument.multiplier = message.Price(root + layout.multiplier);
  if (layout.strike != 0) instrument.strike = message.Price(root + layout.strike);
  const std::string flags =
      fmt::format("{} {} {}", cfi, message.Price(root + layout.factor), action);
  instrument.flags = flags;
  message.sink.On(instrument);
  return {};
}

std::string_view DecodeMdp3SecurityStatus(Mdp3Message& message) {
  const std::byte* const root = message.root;
  const int32_t security = Mdp3Int(root + 20);
  const Mdp3Symbols::Symbol symbol = message.symbols.Find(security);
  Status status{message.head, "trading"};
  status.sym = symbol.view();
  if (security == kMdp3NullInt) {
    const std::string_view group = Mdp3Text(root + 8, 6), asset = Mdp3Text(root + 14, 6);
    status.kind = group.empty() ? "product" : "group";
    status.sym = group.empty() ? asset : group;
    if (!IsPrintable(status.sym)) return "its group is not ASCII";
  }
  const SmallNumber state(root[27]), reason(root[28]), event(root[29]);
  if (root[27] != std::byte{UINT8_MAX}) status.state = state.view();
  status.reason = reason.view();
  status.mpid = {};
  status.at_ns = Mdp3DaysNs(LoadLittle<uint16_t>(root + 24));
  message.sink.On(status);
  if (root[29] == std::byte{0}) return {};
  status.kind = "event";
  status.state = event.view();
  message.sink.On(status);
  return {};
}

}  // namespace tickstack::feed::market
