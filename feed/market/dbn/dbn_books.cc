#include "feed/market/dbn/dbn_books.h"

#include <algorithm>

namespace tickstack::feed::market {

DbnChanges::DbnChanges(const DbnBook::Side& before, const DbnBook::Side& after) {
  if (before == after) return;
  for (const DbnLevel& old : before) {
    if (old.price == DbnLevel::kNoPrice) continue;
    if (std::ranges::find(after, old.price, &DbnLevel::price) == after.end()) {
      levels_[count_++] = {old.price, 0, 0};
    }
  }
  for (const DbnLevel& level : after) {
    if (level.price == DbnLevel::kNoPrice) continue;
    if (std::ranges::find(before, level) == before.end()) levels_[count_++] = level;
  }
}

DbnBook* DbnBooks::Find(uint16_t publisher, uint32_t instrument) {
  const uint64_t key = uint64_t{publisher} << 32 | instrument;
  const auto found = books_.find(key);
  if (found != books_.end()) return &found->second;
  return books_.size() < kBooksMax ? &books_[key] : nullptr;
}

}  // namespace tickstack::feed::market
