#include "feed/market/mdp3/mdp3_statistics.h"

#include <iterator>

#include "feed/market/flag_text.h"

namespace tickstack::feed::market {
namespace {

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

// Sends a statistic of a security. One that is deleted has no figure.
void PutStatistic(Mdp3Message& message, Statistic& statistic, int32_t security, std::byte action) {
  const Mdp3Symbols::Symbol symbol = message.symbols.Find(security);
  statistic.sym = symbol.view();
  statistic.action = 'A';
  if (static_cast<uint8_t>(action) == kMdp3ActionDelete) {
    statistic.action = 'D';
    statistic.price = kNullPrice;
    statistic.size = kNullLong;
  }
  message.sink.On(statistic);
}

}  // namespace

template <bool kLong>
std::string_view DecodeMdp3SessionStatistics(Mdp3Message& message) {
  constexpr size_t kMore = kLong ? 8 : 0;
  constexpr std::byte kIndicative{5};
  for (size_t i = 0; i < message.group.count; ++i) {
    const std::byte* const at = message.group.entry(i);
    Statistic statistic{message.head, SessionStatisticName(CharAt(at + 18 + kMore))};
    if (statistic.kind.empty()) return "its kind is none of a statistic";
    if (statistic.kind == "opening" && at[16 + kMore] == kIndicative) {
      statistic.kind = "indicative_opening";
    }
    statistic.price = message.Price(at);
    PutStatistic(message, statistic, Mdp3Int(at + 8 + kMore), at[17 + kMore]);
  }
  return {};
}

template std::string_view DecodeMdp3SessionStatistics<false>(Mdp3Message& message);
template std::string_view DecodeMdp3SessionStatistics<true>(Mdp3Message& message);

std::string_view DecodeMdp3DailyStatistics(Mdp3Message& message) {
  for (size_t i = 0; i < message.group.count; ++i) {
    const std::byte* const at = message.group.entry(i);
    const char kind = CharAt(at + 24);
    Statistic statistic{message.head, DailyStatisticName(kind)};
    if (statistic.kind.empty()) return "its kind is none of a statistic";
    const FlagText flags(at[22]);
    const bool is_price = kind == '6' || kind == 'W';
    if (is_price) {
      statistic.price = message.Price(at);
      statistic.cond = flags.view();
    } else {
      statistic.size = Mdp3NullableInt(at + 8);
    }
    statistic.at_ns = Mdp3DaysNs(LoadLittle<uint16_t>(at + 20));
    PutStatistic(message, statistic, Mdp3Int(at + 12), at[23]);
  }
  return {};
}

template <bool kLong>
std::string_view DecodeMdp3Volume(Mdp3Message& message) {
  constexpr size_t kSecurity = kLong ? 8 : 4;
  for (size_t i = 0; i < message.group.count; ++i) {
    const std::byte* const at = message.group.entry(i);
    Statistic statistic{message.head, "volume", kNullPrice, Mdp3Size<kLong>(at)};
    PutStatistic(message, statistic, Mdp3Int(at + kSecurity), at[kSecurity + 8]);
  }
  return {};
}

template std::string_view DecodeMdp3Volume<false>(Mdp3Message& message);
template std::string_view DecodeMdp3Volume<true>(Mdp3Message& message);

std::string_view DecodeMdp3Limits(Mdp3Message& message) {
  constexpr std::string_view kKinds[] = {"upper_limit", "lower_limit", "price_variation"};
  for (size_t i = 0; i < message.group.count; ++i) {
    const std::byte* const at = message.group.entry(i);
    for (size_t n = 0; n < std::size(kKinds); ++n) {
      Statistic statistic{message.head, kKinds[n], message.Price(at + n * sizeof(int64_t))};
      PutStatistic(message, statistic, Mdp3Int(at + 24), std::byte{0});
    }
  }
  return {};
}

}  // namespace tickstack::feed::market
