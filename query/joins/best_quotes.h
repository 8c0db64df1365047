#pragma once

// The bids, or the asks, of a market with several venues: for each symbol, the last quote of each
// venue, and the best of these quotes. nbbo updates it from row to row.
//
//   quotes   | symbol 0: venue 0, 1, ... v-1 | symbol 1: venue 0, ... |   8 bytes of price, 8 of
//   best     | symbol 0 | symbol 1 | ...                                  size if there are sizes
//
// An update changes one place. It also reads the quotes of the symbol's other venues if the new
// price equals the best one, or if the old quote had the best price and the new one is worse: ten
// venues are 80 adjacent bytes. The quotes of liquid symbols stay in the second-level cache (8,000
// symbols with ten venues take 2.7 MB per side).
//
// A price is stored as a key: a larger key is better, so asks are negated. kNoPrice means no quote.

#include <cstddef>
#include <cstdint>

#include "base/scratch.h"
#include "table/types.h"

namespace tickstack::query {

inline constexpr int64_t kNoPrice = kNullLong;

// How sizes are added: not at all, as integers that wrap, or as doubles whose bits are stored.
enum class SizeKind { kNone, kInteger, kFloating };

// Threads: one owner.
class BestQuotes {
 public:
  struct Quote {
    int64_t price = kNoPrice;
    int64_t size = 0;
  };

  BestQuotes(size_t symbols, size_t venues, SizeKind sizes);
  // Returns the bytes to charge for one side.
  static size_t Bytes(size_t symbols, size_t venues, SizeKind sizes);

  // Sets a venue's quote and returns the symbol's best: the best price, and the sum of the sizes at
  // that price, added in the order of the venues.
  const Quote& Update(size_t symbol, size_t venue, const Quote& quote) {
    const size_t at = symbol * venues_ + venue;
    const int64_t before = prices_[at];
    prices_[at] = quote.price;
    if (kind_ != SizeKind::kNone) sizes_[at] = quote.size;
    Quote& best = best_[symbol];
    if (quote.price > best.price) {
      best = quote;
    } else if (quote.price == best.price || before == best.price) {
      FindBest(symbol);
    }
    return best;
  }
  // Sets a venue's quote but not the best one. Call FindBest after the last Set of a symbol.
  void Set(size_t symbol, size_t venue, const Quote& quote) {
    prices_[symbol * venues_ + venue] = quote.price;
    if (kind_ != SizeKind::kNone) sizes_[symbol * venues_ + venue] = quote.size;
  }
  void FindBest(size_t symbol);  // Finds the best quote of all venues.
  void Clear();                  // Removes all quotes.
  void Prefetch(size_t symbol, size_t venue) const {
    __builtin_prefetch(&prices_[symbol * venues_ + venue], 1);
    __builtin_prefetch(&best_[symbol], 1);
  }

 private:
  const size_t venues_;
  const SizeKind kind_;
  ScratchVector<int64_t> prices_, sizes_;
  ScratchVector<Quote> best_;
};

}  // namespace tickstack::query
