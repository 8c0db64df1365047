#pragma once

// The ten best levels of each book, as the last record had them. Records have all levels; a book's
// changes are the levels that differ from those of the record before.

#include <array>
#include <cstdint>
#include <limits>
#include <span>

#include "absl/container/flat_hash_map.h"

namespace tickstack::feed::market {

struct DbnLevel {
  static constexpr int64_t kNoPrice = std::numeric_limits<int64_t>::max();
  int64_t price = kNoPrice;
  uint32_t size = 0;
  uint32_t orders = 0;
  friend bool operator==(const DbnLevel&, const DbnLevel&) = default;
};

struct DbnBook {
  static constexpr size_t kLevels = 10;
  using Side = std::array<DbnLevel, kLevels>;
  Side bids, asks;
};

// Levels of one side that changed, in the order of the page docs/feeds/dbn.md: those that are gone,
// with size 0, then those that are new or differ.
class DbnChanges {
 public:
  DbnChanges(const DbnBook::Side& before, const DbnBook::Side& after);
  std::span<const DbnLevel> levels() const { return {levels_.data(), count_}; }

 private:
  std::array<DbnLevel, 2 * DbnBook::kLevels> levels_;
  size_t count_ = 0;
};

// Threads: one owner. Memory: some 400 bytes for each book.
class DbnBooks {
 public:
  static constexpr size_t kBooksMax = size_t{1} << 20;

  // Returns the book of a publisher and instrument, empty at first; nullptr: there are too many.
  DbnBook* Find(uint16_t publisher, uint32_t instrument);

 private:
  absl::flat_hash_map<uint64_t, DbnBook> books_;
};

}  // namespace tickstack::feed::market
