#include "feed/market/pitch/pitch_statuses.h"

#include <cstddef>
#include <iterator>

#include "feed/market/exchange_day.h"

namespace tickstack::feed::market {

std::string_view DecodePitchEndOfSession(PitchMessage& message) {
  message.sink.On(Status{message.head, "session", "end"});
  return {};
}

std::string_view DecodePitchTradingStatus(PitchMessage& message) {
  message.head.sym = PaddedText(message.at + 6, kPitchLongSymbolBytes);
  if (!IsPrintable(message.head.sym)) return "its symbol is not ASCII";
  message.sink.On(
      Status{message.head, "trading", PitchCode(message.at + 14), PaddedText(message.at + 15, 3)});
  return {};
}

std::string_view DecodePitchRetail(PitchMessage& message) {
  message.head.sym = PaddedText(message.at + 6, kPitchLongSymbolBytes);
  if (!IsPrintable(message.head.sym)) return "its symbol is not ASCII";
  message.sink.On(Status{message.head, "retail", PitchCode(message.at + 14)});
  return {};
}

std::string_view DecodePitchSettlement(PitchMessage& message) {
  const std::byte* const at = message.at;
  Status status{message.head, "settlement", PitchCode(at + 24)};
  status.sym = PaddedText(at + 6, kPitchSymbolBytes);
  if (!IsPrintable(status.sym)) return "its symbol is not ASCII";
  status.at_ns = DayNs(PitchU32(at + 12));
  status.price = PitchLongPrice(at + 16);
  message.sink.On(status);
  return {};
}

std::string_view DecodePitchDaySummary(PitchMessage& message) {
  constexpr std::string_view kPrices[] = {"high", "low", "open", "close"};
  const std::byte* const at = message.at;
  Status status{message.head, "day"};
  status.sym = PaddedText(at + 6, kPitchSymbolBytes);
  if (!IsPrintable(status.sym)) return "its symbol is not ASCII";
  status.at_ns = DayNs(PitchU32(at + 12));
  for (size_t i = 0; i < std::size(kPrices); ++i) {
    status.state = kPrices[i];
    status.price = PitchLongPrice(at + 20 + i * sizeof(int64_t));
    message.sink.On(status);
  }
  return {};
}

std::string_view DecodePitchPriceLimits(PitchMessage& message) {
  Status status{message.head, "limit", "high"};
  status.sym = PaddedText(message.at + 6, kPitchSymbolBytes);
  if (!IsPrintable(status.sym)) return "its symbol is not ASCII";
  status.price = PitchLongPrice(message.at + 12);
  message.sink.On(status);
  status.state = "low";
  status.price = PitchLongPrice(message.at + 20);
  message.sink.On(status);
  return {};
}

}  // namespace tickstack::feed::market
