#include "disk/ascending_ranges.h"

namespace tickstack::disk {

std::optional<bool> AscendingRanges::Find(RowRange rows) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_begin_.find(rows.begin_row);
  if (found == by_begin_.end() || found->second.end_row != rows.end_row) return std::nullopt;
  return found->second.ascends;
}

void AscendingRanges::Add(RowRange rows, bool ascends) {
  const std::lock_guard lock(mutex_);
  by_begin_[rows.begin_row] = {rows.end_row, ascends};
}

}  // namespace tickstack::disk
