#pragma once

// The best levels of a book, as a file shows them after each change, and the events that lead from
// one view to the next:
//
//   bids 10.2 x 5, 10.1 x 7   ->   bids 10.2 x 3, 10.0 x 1      events
//                                                               quote: the best bid changed
//                                                               level B 10.2 x 3, incomplete
//                                                               level B 10.1 x 0, incomplete
//                                                               level B 10.0 x 1
//
// A level that leaves the view because better ones come is removed, and comes back as a new one.

#include <cstdint>
#include <span>
#include <vector>

#include "feed/market/events.h"

namespace tickstack::feed::market {

// A price with the total size there, either as `size` or as `amount`.
struct PriceLevel {
  double price = 0;
  int64_t size = kNullLong;
  double amount = kNullPrice;
};

// Threads: one owner. Memory: that of the levels of the last view.
class BookView {
 public:
  // True if prices are in order, best first, and no price is twice.
  static bool AreInOrder(std::span<const PriceLevel> levels, char side);

  // Replaces the view, and sends its quote, if that changed, and its levels that changed. The
  // levels are in order, without empty ones. Cost: O(levels).
  void Replace(std::span<const PriceLevel> bids, std::span<const PriceLevel> asks,
               const EventHead& head, EventSink& sink);

 private:
  struct Change {
    char side;
    PriceLevel level;
  };

  // Adds what differs between two views of a side to changes_.
  void Compare(std::span<const PriceLevel> old_levels, std::span<const PriceLevel> new_levels,
               char side);
  void SendQuote(const EventHead& head, EventSink& sink) const;

  std::vector<PriceLevel> bids_, asks_;
  std::vector<Change> changes_;
};

}  // namespace tickstack::feed::market
