#pragma once

// A book of Kraken as deep as it was subscribed, and its checksum.
//
// Kraken does not say when a price leaves the depth because better ones came: the subscriber cuts
// the book. The checksum is the CRC32 of the ten best asks, then the ten best bids: of each its
// price and amount with the digits that were sent, without the decimal point and without zeros
// before the first other digit.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "feed/market/websocket/book_streams.h"

namespace tickstack::feed::market {

// Threads: one owner. Memory: 150 bytes for each level, of which there are at most twice the depth.
class KrakenBook {
 public:
  // A level as it was sent.
  struct Change {
    BookLevel level;
    std::string_view price_digits, amount_digits;
  };

  explicit KrakenBook(size_t depth) : depth_(depth) {}

  // Applies a change; an amount of 0 removes the price.
  void Apply(const Change& change);
  // Removes what is deeper than the depth, and appends it to `removed` as levels of amount 0.
  void Cut(std::vector<BookLevel>& removed);
  uint32_t Checksum() const;

 private:
  struct Digits {
    std::string price, amount;
  };
  using Bids = std::map<double, Digits, std::greater<>>;
  using Asks = std::map<double, Digits>;

  size_t depth_;
  Bids bids_;
  Asks asks_;
};

}  // namespace tickstack::feed::market
