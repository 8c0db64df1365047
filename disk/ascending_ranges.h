#pragma once

// What readers of a column found out about its order: whether the elements of some rows ascend.
// Nothing in a file says so of the rows of one symbol, so the first who wants to search them by
// halving reads them all, and those who come later need not.

#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "disk/parted_index.h"

namespace tickstack {

// Threads: any. Memory: some 40 bytes a range; who asks for the ranges of an index has as many as
// it has keys.
class AscendingRanges {
 public:
  // nullopt: nobody has looked yet.
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

}  // namespace tickstack
