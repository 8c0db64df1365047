#pragma once

// One side of the books of a market with several venues: the last quote of each venue of each
// symbol, and the best of them. What nbbo keeps while it goes through the rows.
//
//   quotes   | symbol 0: venue 0, 1, ... v-1 | symbol 1: venue 0, ... |   8 bytes of price, 8 of
//   best     | symbol 0 | symbol 1 | ...                                  size if there are sizes
//
// A quote costs one look at its place. Only if it was the best one, or as good as it, the other
// venues are looked at as well: ten venues are 80 bytes that lie together. The liquid symbols'
// books stay in the second-level cache (8,000 symbols of ten venues have 2.7 MB a side).
//
// Prices are keys: larger is better, and kNoPrice is no quote. Asks are therefore negative.

#include <cstddef>
#include <cstdint>

#include "base/scratch.h"
#include "table/types.h"

namespace tickstack::query {

inline constexpr int64_t kNoPrice = kNullLong;

// How sizes are added up: not at all, as integers that wrap, or as the bits of doubles.
enum class SizeKind { kNone, kInteger, kFloating };

// Threads: one owner.
class BestQuotes {
 public:
  struct Quote {
    int64_t price = kNoPrice;
    int64_t size = 0;
  };

  BestQuotes(size_t symbols, size_t venues, SizeKind sizes);
  // What one takes, for a budget.
  static size_t Bytes(size_t symbols, size_t venues, SizeKind sizes);

  // Sets a venue's quote and returns the symbol's best: the best price, and the sum of the sizes
  // that are quoted at it, in the order of the venues.
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
  // Sets a venue's quote without looking for the best; FindBest does afterwards.
  void Set(size_t symbol, size_t venue, const Quote& quote) {
    prices_[symbol * venues_ + venue] = quote.price;
    if (kind_ != SizeKind::kNone) sizes_[symbol * venues_ + venue] = quote.size;
  }
  void FindBest(size_t symbol);
  void Clear();  // No quotes, as at first.
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
