#include "query/kernels/order.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "query/columns/elements.h"
#include "query/kernels/sort_keys.h"

namespace tickstack::query {
namespace {

// The position of an item, and a number that has the item's place in the order.
struct Keyed {
  uint64_t key;
  uint32_t position;
};
using KeyedVector = ScratchVector<Keyed>;

template <typename T>
uint64_t BitsInOrder(T element) {
  constexpr uint64_t kSign = uint64_t{1} << 63;
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(element)) return 0;  // Is below minus infinity, which has at least one bit set.
    const auto bits = std::bit_cast<uint64_t>(double{element} + 0.0);
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<uint64_t>(int64_t{element}) ^ kSign;
  } else {
    return element;
  }
}

uint64_t FirstBytes(std::string_view name) {
  uint64_t word = 0;
  std::memcpy(&word, name.data(), std::min(name.size(), sizeof(word)));
  return __builtin_bswap64(word);
}

// Sorts by key, a byte at a time from the last one; leaves out bytes that all keys share.
void SortByKey(KeyedVector& items) {
  if (std::ranges::is_sorted(items, {}, &Keyed::key)) return;
  if (items.size() < 256) {
    std::ranges::stable_sort(items, {}, &Keyed::key);
    return;
  }
  uint64_t differing = 0;
  for (const Keyed& item : items) differing |= item.key ^ items.front().key;
  KeyedVector sorted(items.size());
  for (int shift = 0; shift < 64; shift += 8) {
    if ((differing >> shift & 0xff) == 0) continue;
    std::array<uint32_t, 256> begins{};
    for (const Keyed& item : items) ++begins[item.key >> shift & 0xff];
    std::exclusive_scan(begins.begin(), begins.end(), begins.begin(), 0u);
    for (const Keyed& item : items) sorted[begins[item.key >> shift & 0xff]++] = item;
    items.swap(sorted);
  }
}

KeyedVector KeyedNames(const SymbolVector& names) {
  KeyedVector items(names.size());
  for (uint32_t i = 0; i < items.size(); ++i) items[i] = {FirstBytes(names[i]), i};
  SortByKey(items);
  // The key holds all of a name of up to 8 bytes; longer names are compared here if their first
  // bytes are equal.
  for (auto begin = items.begin(); begin != items.end();) {
    const auto end =
        std::find_if(begin, items.end(), [&](const Keyed& item) { return item.key != begin->key; });
    if (end - begin > 1) {
      std::stable_sort(begin, end, [&](const Keyed& a, const Keyed& b) {
        return names[a.position] < names[b.position];
      });
    }
    begin = end;
  }
  return items;
}

ScratchVector<uint32_t> OrderByComparing(const Value& vector) {
  ScratchVector<uint32_t> order(vector.count());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order,
                           [&](uint32_t a, uint32_t b) { return CompareItems(vector, a, b) < 0; });
  return order;
}

ScratchVector<uint32_t> OrderOfList(const Value& list) {
  const std::vector<Value>& items = list.items();
  ScratchVector<uint32_t> order(items.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(
      order, [&](uint32_t a, uint32_t b) { return CompareValues(items[a], items[b]) < 0; });
  return order;
}

}  // namespace

ScratchVector<uint32_t> AscendingOrder(const Value& vector) {
  if (vector.is_list()) return OrderOfList(vector);
  KeyedVector items;
  if (vector.is(Type::kSymbol)) {
    items = KeyedNames(vector.symbols());
  } else if (!vector.is_vector() || vector.is(Type::kGuid)) {
    return OrderByComparing(vector);
  } else {
    VisitElementType(vector.type(), [&]<typename T>(std::type_identity<T>) {
      if constexpr (!std::is_same_v<T, Guid>) {
        const std::span<const T> elements = vector.span<T>();
        items.resize(elements.size());
        for (uint32_t i = 0; i < items.size(); ++i) items[i] = {BitsInOrder(elements[i]), i};
        SortByKey(items);
      }
    });
  }
  ScratchVector<uint32_t> order(items.size());
  std::ranges::transform(items, order.begin(), &Keyed::position);
  return order;
}

}  // namespace tickstack::query
