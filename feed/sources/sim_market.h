#pragma once

// The simulated market: update number `event` is a function of (seed, event) only, independent of
// earlier updates.
//
// A feed that resumes at row 50,000,000 must publish exactly what it would have published without
// the interruption. A sequential generator would have to replay everything before. Here, nothing
// depends on earlier updates:
//
//   which symbol  Mix(seed + event * odd constant) is a counter-based random number (the splitmix64
//                 finaliser): 64 good bits for two multiplications. It picks a slot of a Walker
//                 alias table, so that symbol r (0 is the busiest) comes with probability 1/(r+1)
//                 over the harmonic number: Zipf with exponent 1.
//   the price     all symbols walk along the same precomputed random walk, which has 65,536 steps
//                 of -1, 0 or +1 and ends where it began. Each begins at a random place of its own,
//                 and takes one step every 4,096 events (85 ms at 48,000 updates/s). A step is
//                 1/8,192 (1.2 basis points) of the symbol's base price. The standard deviation of
//                 an hour is about 2 %, as on 9 March 2020.
//                 The walk repeats after 268 million events, without a jump.
//   the rest      spread, sizes and exchange come from other bits of the same random number.
//
// So seeking costs nothing, and an update costs one random number and three table reads (400 KiB in
// total, which stay in the second-level cache).

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tickstack::feed {

inline constexpr int64_t kSimSymbolsMax = 65'536;

// A finaliser that turns consecutive numbers into independent-looking ones (splitmix64's).
inline uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Returns the frequency of the symbol of this rank relative to the busiest one, of rank 0: Zipf's
// law with exponent 1.
inline double ActivityOf(size_t rank) { return 1 / static_cast<double>(rank + 1); }

// Threads: const after construction. Cost of construction: about 1 ms for 8,000 symbols.
class SimMarket {
 public:
  // 1 <= symbols <= kSimSymbolsMax. The names are the same for every seed.
  SimMarket(int64_t symbols, uint64_t seed);

  struct Draw {
    uint16_t symbol;
    uint16_t bits;  // Random bits for the details of the update.
  };
  Draw At(uint64_t event) const {
    const uint64_t random = Mix(seed_ + event * 0x9e3779b97f4a7c15u);
    const uint32_t slot = static_cast<uint32_t>(((random & 0xffff'ffffu) * alias_.size()) >> 32);
    const AliasSlot& choice = alias_[slot];
    // Selects with a mask: a branch would be mispredicted half the time, and delay the cache misses
    // of the next events.
    const bool own = static_cast<uint16_t>(random >> 32) < choice.own_share;
    const uint32_t mask = -static_cast<uint32_t>(own);
    return {static_cast<uint16_t>((slot & mask) | (choice.other & ~mask)),
            static_cast<uint16_t>(random >> 48)};
  }

  // Returns the symbol's bid in cents; at least 100.
  int32_t BidCents(uint32_t symbol, uint64_t event) const {
    const Symbol& s = symbols_[symbol];
    const int64_t walk = walk_[static_cast<uint16_t>((event >> 12) + s.walk_begin)];
    return static_cast<int32_t>(s.base_cents + ((s.base_cents * walk) >> 13));
  }

  std::string_view name(size_t symbol) const {
    return {symbols_[symbol].name, symbols_[symbol].name_bytes};
  }
  size_t symbols() const { return symbols_.size(); }

  // Writes the name, padded with NULs to 8 bytes. Returns the length of the name with one NUL.
  size_t PutName(uint32_t symbol, std::byte* at) const;

 private:
  struct Symbol {
    char name[8];  // Padded with NULs.
    int32_t base_cents;
    uint16_t walk_begin;
    uint8_t name_bytes;
  };
  struct AliasSlot {
    uint16_t own_share;  // Probability, in 1/65,536, that the slot yields its own symbol.
    uint16_t other;      // The symbol that it yields otherwise.
  };

  void NameSymbols(size_t count);
  void BuildAlias(size_t count);
  void BuildWalk();

  uint64_t seed_;
  std::vector<Symbol> symbols_;
  std::vector<AliasSlot> alias_;
  std::array<int16_t, 65'536> walk_;
};

// Return an update's spread in cents, shares, exchange and sale condition, from a draw's bits.
inline int32_t SpreadCents(uint32_t bits) { return std::array{1, 1, 2, 3}[bits & 3]; }
inline int32_t RoundLots(uint32_t bits) {
  static constexpr std::array<int16_t, 16> kShares = {100, 100, 100, 100, 100, 100, 200,  200,
                                                      200, 300, 300, 400, 500, 800, 1000, 2000};
  return kShares[bits & 15];
}
// One of ten exchanges.
inline char Exchange(uint32_t bits) { return "NQPZKBYXJDNNQPZD"[bits & 15]; }
inline char SaleCondition(uint32_t bits) { return "@@@@@FFT"[bits & 7]; }

}  // namespace tickstack::feed
