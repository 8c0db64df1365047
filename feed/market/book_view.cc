#include "feed/market/book_view.h"

#include <algorithm>

namespace tickstack::feed::market {
namespace {

bool IsSet(double amount) { return amount == amount; }

bool IsSame(const PriceLevel& a, const PriceLevel& b) {
  return a.price == b.price && a.size == b.size &&
         (a.amount == b.amount || (!IsSet(a.amount) && !IsSet(b.amount)));
}

bool IsBetter(double a, double b, char side) { return side == 'B' ? a > b : a < b; }

// The level without anything left, in the same field.
PriceLevel Emptied(const PriceLevel& level) {
  return {level.price, level.size == kNullLong ? kNullLong : 0,
          IsSet(level.amount) ? 0 : kNullPrice};
}

bool IsSameBest(std::span<const PriceLevel> a, std::span<const PriceLevel> b) {
  if (a.empty() || b.empty()) return a.empty() == b.empty();
  return IsSame(a[0], b[0]);
}

}  // namespace

bool BookView::AreInOrder(std::span<const PriceLevel> levels, char side) {
  for (size_t i = 1; i < levels.size(); ++i) {
    if (!IsBetter(levels[i - 1].price, levels[i].price, side)) return false;
  }
  return true;
}

void BookView::Compare(std::span<const PriceLevel> old_levels,
                       std::span<const PriceLevel> new_levels, char side) {
  size_t old_at = 0, new_at = 0;
  while (old_at < old_levels.size() || new_at < new_levels.size()) {
    const bool has_old = old_at < old_levels.size(), has_new = new_at < new_levels.size();
    if (has_old && has_new && old_levels[old_at].price == new_levels[new_at].price) {
      if (!IsSame(old_levels[old_at], new_levels[new_at])) {
        changes_.push_back({side, new_levels[new_at]});
      }
      ++old_at, ++new_at;
    } else if (!has_new ||
               (has_old && IsBetter(old_levels[old_at].price, new_levels[new_at].price, side))) {
      changes_.push_back({side, Emptied(old_levels[old_at++])});
    } else {
      changes_.push_back({side, new_levels[new_at++]});
    }
  }
}

void BookView::Replace(std::span<const PriceLevel> bids, std::span<const PriceLevel> asks,
                       const EventHead& head, EventSink& sink) {
  changes_.clear();
  Compare(bids_, bids, 'B');
  Compare(asks_, asks, 'S');
  const bool quote_changed = !IsSameBest(bids_, bids) || !IsSameBest(asks_, asks);
  bids_.assign(bids.begin(), bids.end());
  asks_.assign(asks.begin(), asks.end());
  if (quote_changed) SendQuote(head, sink);
  for (const Change& change : changes_) {
    Level level{head, change.side, change.level.price, change.level.size};
    level.amount = change.level.amount;
    level.complete = &change == &changes_.back();
    sink.On(level);
  }
}

void BookView::SendQuote(const EventHead& head, EventSink& sink) const {
  Quote quote{head};
  if (!bids_.empty()) {
    quote.bid = bids_[0].price;
    quote.bsize = bids_[0].size;
    quote.bamount = bids_[0].amount;
  }
  if (!asks_.empty()) {
    quote.ask = asks_[0].price;
    quote.asize = asks_[0].size;
    quote.aamount = asks_[0].amount;
  }
  sink.On(quote);
}

}  // namespace tickstack::feed::market
