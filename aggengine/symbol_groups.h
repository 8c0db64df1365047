#pragma once

// Groups the rows of a batch by symbol. A symbol's records and history are then looked up once for
// all of its rows, and each loop processes them as one run.
//
//   row      0   1   2   3   4   5          order   0 2 5 | 1 3 | 4
//   symbol   A   B   A   B   C   A          groups  A       B     C
//
// Groups are in the order of their first rows, and rows within a group are in the order of arrival.
// This takes two counting passes and no comparison.
//
// Cost: some 3 ns per row; for 8,000 symbols 32 KiB, which stay in the first-level cache. Threads:
// one owner.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tickstack::aggengine {

class SymbolGroups {
 public:
  struct Group {
    uint32_t slot;
    uint32_t begin;  // First place in order().
    uint32_t end;    // One past its last place.
  };

  // Groups the rows of a batch. `slots[i]` is the slot of row i's symbol: a number below
  // `slots_end`. There are fewer than 2^32 rows.
  void Make(std::span<const uint32_t> slots, size_t slots_end);

  std::span<const Group> groups() const { return groups_; }
  // Returns the row at each place.
  std::span<const uint32_t> order() const { return order_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  std::vector<Group> groups_;
  std::vector<uint32_t> order_;
  std::vector<uint32_t> group_of_slot_;  // kNone between two calls.
  std::vector<uint32_t> group_of_row_;
};

}  // namespace tickstack::aggengine
