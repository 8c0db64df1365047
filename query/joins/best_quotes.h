#pragma once

// One side of the order books of a market with several venues: the last quote of each venue for
// each symbol, and the best of them. nbbo keeps it while it goes through the rows.
//
//   quotes   | symbol 0: venue 0, 1, ... v-1 | symbol 1: venue 0, ... |   8 bytes of price, 8 of
//   best     | symbol 0 | symbol 1 | ...                                  size if there are sizes
//
// A quote needs one access to its place. Only if it was the best one, or is equal to the best, are
// the other venues examined, too: ten venues are 80 adjacent bytes. The books of liquid symbols
// stay in the second-level cache (8,000 symbols of ten venues take 2.7 MB per side).
//
// Prices are keys: larger is better, and kNoPrice means no quote. Asks are therefore negated.

#include <cstddef>
#include <cstdint>

#include "base/scratch.h"
#include "table/types.h"

namespace tickstack::query {

inline constexpr int64_t kNoPrice = kNullLong;

// How sizes are added: not at all, as integers that wrap, or as the bits of doubles.
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

  // Sets a venue's quote and returns the symbol's best: the best price, and the sum of the sizes
  // quoted at that price, in the order of the venues.
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
  // Sets a venue's quote without searching for the best one; call FindBest afterwards.
  void Set(size_t symbol, size_t venue, const Quote& quote) {
    prices_[symbol * venues_ + venue] = quote.price;
    if (kind_ != SizeKind::kNone) sizes_[symbol * venues_ + venue] = quote.size;
  }
  void FindBest(size_t symbol);
  void Clear();  // Removes all quotes.
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
