#include "feed/sources/sim_market.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "base/check.h"
#include "base/string_map.h"

namespace tickstack::feed {
namespace {

// The busiest symbols, with their prices of about 9 March 2020. The others get random names.
struct KnownSymbol {
  std::string_view name;
  int32_t dollars;
};
constexpr std::array<KnownSymbol, 16> kKnown = {{{"SPY", 274},
                                                 {"AAPL", 266},
                                                 {"BAC", 22},
                                                 {"MSFT", 151},
                                                 {"GE", 8},
                                                 {"F", 6},
                                                 {"AMD", 43},
                                                 {"QQQ", 194},
                                                 {"XOM", 42},
                                                 {"AMZN", 1801},
                                                 {"IBM", 118},
                                                 {"T", 35},
                                                 {"AAL", 14},
                                                 {"UAL", 49},
                                                 {"C", 51},
                                                 {"TSLA", 608}}};

// As in real listings: few names of one or two letters, three thousand of three, most others of
// four, and some of five.
size_t NameBytes(size_t rank, uint64_t random) {
  if (random % 64 == 0) return 5;
  if (rank < 24 && random % 3 == 0) return 1;
  if (rank < 400 && random % 3 != 1) return 2;
  return random % 5 < 2 ? 3 : 4;
}

std::string DrawName(size_t rank, uint64_t random) {
  std::string name;
  for (size_t left = NameBytes(rank, random); left > 0; --left) {
    random = Mix(random);
    name += static_cast<char>('A' + random % 26);
  }
  return name;
}

}  // namespace

SimMarket::SimMarket(int64_t symbols, uint64_t seed) : seed_(Mix(seed + 1)) {
  TS_CHECK(symbols >= 1 && symbols <= kSimSymbolsMax);
  NameSymbols(static_cast<size_t>(symbols));
  BuildAlias(static_cast<size_t>(symbols));
  BuildWalk();
}

void SimMarket::NameSymbols(size_t count) {
  StringSet taken;
  for (const KnownSymbol& known : kKnown) taken.emplace(known.name);
  uint64_t draw = 0;
  for (size_t rank = 0; rank < count; ++rank) {
    std::string name(rank < kKnown.size() ? kKnown[rank].name : "");
    while (name.empty()) {
      name = DrawName(rank, Mix(++draw));
      if (!taken.insert(name).second) name.clear();
    }
    const uint64_t random = Mix(seed_ ^ Mix(rank + 1));
    Symbol symbol{};
    std::memcpy(symbol.name, name.data(), name.size());
    symbol.name_bytes = static_cast<uint8_t>(name.size());
    // 2 to 512 dollars, evenly over the logarithm.
    symbol.base_cents =
        static_cast<int32_t>(200 * std::exp2(8 * static_cast<double>(random >> 32) / 4294967296.0));
    if (rank < kKnown.size()) symbol.base_cents = 100 * kKnown[rank].dollars;
    symbol.walk_begin = static_cast<uint16_t>(random);
    symbols_.push_back(symbol);
  }
}

// Walker's method: slots of equal probability, each shared by at most two symbols.
void SimMarket::BuildAlias(size_t count) {
  double total = 0;
  for (size_t rank = 0; rank < count; ++rank) total += ActivityOf(rank);
  std::vector<double> share(count);  // In slots: 1 fills one.
  for (size_t rank = 0; rank < count; ++rank) {
    share[rank] = static_cast<double>(count) / (static_cast<double>(rank + 1) * total);
  }
  alias_.resize(count);
  // Shares decrease with the rank, so those above one slot are a prefix: `rich` moves along it
  // while the small ones are filled from the other end.
  size_t rich = 0;
  std::vector<size_t> poor;
  for (size_t rank = 0; rank < count; ++rank) {
    // A full slot means its own symbol in any case.
    alias_[rank] = {0, static_cast<uint16_t>(rank)};
    if (share[rank] < 1) poor.push_back(rank);
  }
  while (!poor.empty() && rich < count && share[rich] >= 1) {
    const size_t slot = poor.back();
    poor.pop_back();
    alias_[slot] = {static_cast<uint16_t>(share[slot] * 65'536), static_cast<uint16_t>(rich)};
    share[rich] -= 1 - share[slot];
    if (share[rich] < 1) poor.push_back(rich++);
  }
}

void SimMarket::BuildWalk() {
  // Two mirrored halves would be visible. Instead every +1 has a -1, and the order of all steps is
  // shuffled (Fisher-Yates): a random walk that returns to its start.
  std::array<int8_t, 65'536> steps;
  for (size_t i = 0; i < steps.size(); ++i) steps[i] = std::array<int8_t, 4>{1, -1, 0, 0}[i % 4];
  for (size_t i = steps.size() - 1; i > 0; --i) {
    std::swap(steps[i], steps[Mix(seed_ ^ (0x5a5a'0000'0000u + i)) % (i + 1)]);
  }
  int32_t at = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    at += steps[i];
    // A walk of this length practically never reaches it (23 standard deviations); stated because
    // prices are positive only within it.
    walk_[i] = static_cast<int16_t>(std::clamp(at, -4'095, 4'095));
  }
}

size_t SimMarket::PutName(uint32_t symbol, std::byte* at) const {
  const Symbol& s = symbols_[symbol];
  std::memcpy(at, s.name, sizeof(s.name));
  return size_t{s.name_bytes} + 1;
}

}  // namespace tickstack::feed
