#pragma once

// Remembers for which ranges of a column's rows the elements ascend. No file records that for the
// rows of one symbol, so the first reader that wants to use a binary search reads all of them.
// Later readers use its result.

#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "disk/parted_index.h"

namespace tickstack::disk {

// Threads: any. Memory: some 40 bytes per range. An index has one range per key.
class AscendingRanges {
 public:
  // Returns nullopt if the range has not been examined yet.
  std::optional<bool> Find(RowRange rows) const;
  void Add(RowRange rows, bool ascends);

 private:
  struct Known {
    uint64_t end_row;
    bool ascends;
  };
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, Known> by_begin_;  // Guarded by mutex_.
};

}  // namespace tickstack::disk
