#include "query/joins/best_quotes.h"

#include <algorithm>
#include <bit>
#include <span>

namespace tickstack::query {

BestQuotes::BestQuotes(size_t symbols, size_t venues, SizeKind sizes)
    : venues_(venues),
      kind_(sizes),
      prices_(symbols * venues, kNoPrice),
      sizes_(sizes == SizeKind::kNone ? 0 : symbols * venues, 0),
      best_(symbols) {}

size_t BestQuotes::Bytes(size_t symbols, size_t venues, SizeKind sizes) {
  const size_t each = sizeof(int64_t) * (sizes == SizeKind::kNone ? 1 : 2);
  return symbols * (venues * each + sizeof(Quote));
}

void BestQuotes::Clear() {
  std::ranges::fill(prices_, kNoPrice);
  std::ranges::fill(best_, Quote());
}

void BestQuotes::FindBest(size_t symbol) {
  const auto prices = std::span<const int64_t>(prices_).subspan(symbol * venues_, venues_);
  Quote& best = best_[symbol];
  best = Quote();
  for (const int64_t price : prices) best.price = std::max(best.price, price);
  if (kind_ == SizeKind::kNone || best.price == kNoPrice) return;
  const int64_t* const sizes = &sizes_[symbol * venues_];
  if (kind_ == SizeKind::kInteger) {
    uint64_t sum = 0;
    for (size_t i = 0; i < prices.size(); ++i) {
      sum += prices[i] == best.price ? static_cast<uint64_t>(sizes[i]) : 0;
    }
    best.size = static_cast<int64_t>(sum);
  } else {
    double sum = 0;
    for (size_t i = 0; i < prices.size(); ++i) {
      sum += prices[i] == best.price ? std::bit_cast<double>(sizes[i]) : 0;
    }
    best.size = std::bit_cast<int64_t>(sum);
  }
}

}  // namespace tickstack::query
