#include "aggengine/symbol_groups.h"

namespace tickstack::aggengine {

void SymbolGroups::Make(std::span<const uint32_t> slots, size_t slots_end) {
  if (group_of_slot_.size() < slots_end) group_of_slot_.resize(slots_end, kNone);
  groups_.clear();
  group_of_row_.resize(slots.size());
  order_.resize(slots.size());
  for (size_t row = 0; row < slots.size(); ++row) {
    uint32_t& group = group_of_slot_[slots[row]];
    if (group == kNone) {
      group = static_cast<uint32_t>(groups_.size());
      groups_.push_back({slots[row], 0, 0});
    }
    group_of_row_[row] = group;
    ++groups_[group].end;  // Holds a count until the end is known.
  }
  uint32_t begin = 0;
  for (Group& group : groups_) {
    const uint32_t rows = group.end;
    group.begin = group.end = begin;  // The next pass moves the end.
    begin += rows;
    group_of_slot_[group.slot] = kNone;
  }
  for (size_t row = 0; row < slots.size(); ++row) {
    order_[groups_[group_of_row_[row]].end++] = static_cast<uint32_t>(row);
  }
}

}  // namespace tickstack::aggengine
