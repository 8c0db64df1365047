#include "feed/market/pitch/pitch_instruments.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "feed/market/exchange_day.h"
#include "feed/market/flag_text.h"

namespace tickstack::feed::market {
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

std::string_view DecodePitchSymbolMapping(PitchMessage& message) {
  constexpr size_t kOsiBytes = 21;
  Instrument instrument{message.head};
  instrument.time_ns = kNullLong;
  instrument.sym = PaddedText(message.at + 2, kPitchSymbolBytes);
  const std::string_view osi(reinterpret_cast<const char*>(message.at + 8), kOsiBytes);
  if (message.bytes > 30) {
    instrument.underlying = PaddedText(message.at + 30, kPitchLongSymbolBytes);
  }
  if (!IsPrintable(instrument.sym) || !IsPrintable(osi) || !IsPrintable(instrument.underlying)) {
    return "its symbols are not ASCII";
  }
  if (!ReadOsiSymbol(osi, instrument)) return "its OSI symbol is none";
  instrument.flags = PitchCode(message.at + 29);
  message.sink.On(instrument);
  return {};
}

std::string_view DecodePitchFutureDefinition(PitchMessage& message) {
  constexpr size_t kDefinitionBytes = 41;
  const std::byte* const at = message.at;
  if (message.bytes < kDefinitionBytes) return "it is shorter than its type";
  Instrument instrument{message.head};
  instrument.time_ns = PitchSecondNs(PitchU32(at + 12)) + PitchU32(at + 2);
  instrument.sym = PaddedText(at + 6, kPitchSymbolBytes);
  instrument.market = PaddedText(at + 16, kPitchSymbolBytes);
  if (!IsPrintable(instrument.sym) || !IsPrintable(instrument.market)) {
    return "its symbols are not ASCII";
  }
  const std::string flags = fmt::format("{}{}", FlagText(at[22]).view(), PitchCode(at + 29));
  instrument.flags = flags;
  instrument.expiry_ns = DayNs(PitchU32(at + 23));
  instrument.multiplier = LoadLittle<uint16_t>(at + 27);
  instrument.test = CharAt(at + 29) == 'T';
  instrument.tick = PitchLongPrice(at + 30);
  instrument.kind = at[38] == std::byte{0} ? "future" : "spread";
  message.sink.On(instrument);
  return {};
}

}  // namespace tickstack::feed::market
