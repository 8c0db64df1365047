#pragma once

// A hash table in scratch memory that gives keys the numbers 0, 1, 2... in order of first
// appearance. Grouping, joins, `in` and `distinct` use it.
//
// It uses open addressing with linear probing. A slot has a key and its number plus one; 0 marks an
// empty slot. At most two thirds of the slots are used. abseil's tables are not used, because they
// do not survive an allocator that throws (they change their capacity before the allocation), and a
// full scratch memory throws (base/scratch.h).

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/hash/hash.h"
#include "base/scratch.h"
#include "query/columns/elements.h"

namespace tickstack::query {

using GuidKey = std::array<uint64_t, 2>;

// Returns bits that are equal if and only if the elements are equal. All NaNs are one null.
template <typename T>
auto KeyOf(const T& element) {
  if constexpr (std::is_floating_point_v<T>) {
    const double wide = std::isnan(element) ? NullElement<double>(Type::kFloat) : element + 0.0;
    return std::bit_cast<uint64_t>(wide);
  } else if constexpr (std::is_same_v<T, Guid>) {
    return std::bit_cast<GuidKey>(element);
  } else {
    return static_cast<uint64_t>(element);
  }
}

// Key: uint64_t, GuidKey, or a string_view, whose text must live as long as the table.
template <typename Key>
class KeyTable {
 public:
  uint32_t size() const { return size_; }

  // Returns the key's number. A new key is added and gets the next number, which is size().
  uint32_t NumberOf(const Key& key) {
    if (size_t{size_} * 3 >= slots_.size() * 2) Grow();
    Slot& slot = slots_[Find(slots_, key)];
    if (slot.number_plus_one == 0) slot = {key, ++size_};
    return slot.number_plus_one - 1;
  }
  bool Contains(const Key& key) const {
    return size_ > 0 && slots_[Find(slots_, key)].number_plus_one != 0;
  }

 private:
  struct Slot {
    Key key{};
    uint32_t number_plus_one = 0;
  };
  using Slots = ScratchVector<Slot>;

  // Returns the slot of the key, or the empty slot where it belongs.
  static size_t Find(const Slots& slots, const Key& key) {
    const size_t mask = slots.size() - 1;
    size_t at = absl::HashOf(key) & mask;
    while (slots[at].number_plus_one != 0 && !(slots[at].key == key)) at = (at + 1) & mask;
    return at;
  }
  void Grow() {
    Slots larger(slots_.empty() ? 16 : 2 * slots_.size());
    for (const Slot& slot : slots_) {
      if (slot.number_plus_one != 0) larger[Find(larger, slot.key)] = slot;
    }
    slots_ = std::move(larger);
  }

  Slots slots_;  // Their number is a power of two, or 0.
  uint32_t size_ = 0;
};

}  // namespace tickstack::query
