#include "query/kernels/sort_keys.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <vector>

#include "query/columns/errors.h"
#include "query/columns/gather.h"
#include "query/kernels/key_table.h"

namespace tickstack::query {
namespace {

constexpr uint64_t kSign = uint64_t{1} << 63;

template <typename T>
uint64_t OrderedBits(T item) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(item)) return 0;
    const auto bits = std::bit_cast<uint64_t>(double{item} + 0.0);  // A -0 becomes 0.
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
  } else if constexpr (std::is_signed_v<T>) {
    // The null is the smallest number already.
    return static_cast<uint64_t>(int64_t{item}) ^ kSign;
  } else {
    return item;
  }
}

// The bytes per item that RanksOf() needs beside its result.
constexpr size_t kRankBytes = sizeof(uint32_t);

// Returns the place of each of n things among the distinct ones in order; compare(a, b) is < 0, = 0
// or > 0.
template <typename F>
ScratchVector<uint64_t> RanksOf(size_t n, F compare) {
  ScratchVector<uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, [&](uint32_t a, uint32_t b) { return compare(a, b) < 0; });
  ScratchVector<uint64_t> ranks(n);
  uint64_t rank = 0;
  for (size_t i = 0; i < n; ++i) {
    if (i > 0 && compare(order[i - 1], order[i]) != 0) ++rank;
    ranks[order[i]] = rank;
  }
  return ranks;
}

ScratchVector<uint64_t> RanksOfNames(const ScratchVector<std::string_view>& names) {
  return RanksOf(names.size(), [&](uint32_t a, uint32_t b) { return names[a].compare(names[b]); });
}

// Numbers the names in order of appearance first, so that it compares only the distinct ones.
absl::StatusOr<ScratchVector<uint64_t>> KeysOfIds(const Slice& slice, Budget& budget) {
  const SymbolTable& symbols = slice.column.symbols();
  constexpr uint32_t kUnknown = UINT32_MAX;
  ScratchVector<uint32_t> number_of(static_cast<size_t>(symbols.size()) + 1, kUnknown);
  ScratchVector<std::string_view> names;
  ScratchVector<uint64_t> keys;
  keys.reserve(slice.count());
  TS_RETURN_IF_ERROR(ForEachBlock<SymbolId>(slice, budget, [&](const Block<SymbolId>& block) {
    for (SymbolId id : block.elements) {
      uint32_t& number = number_of[id < 0 ? 0 : static_cast<size_t>(id) + 1];
      if (number == kUnknown) {
        number = static_cast<uint32_t>(names.size());
        names.push_back(symbols.NameOf(id));
      }
      keys.push_back(number);
    }
  }));
  const ScratchVector<uint64_t> ranks = RanksOfNames(names);
  for (uint64_t& key : keys) key = ranks[key];
  return keys;
}

ScratchVector<uint64_t> KeysOfSymbols(const Slice& slice) {
  KeyTable<std::string_view> numbers;
  ScratchVector<std::string_view> names;
  ScratchVector<uint64_t> keys;
  keys.reserve(slice.count());
  for (uint32_t row : slice.rows->ToVector()) {
    const std::string_view name = slice.column.SymbolAt(row);
    const uint32_t number = numbers.NumberOf(name);
    if (number == names.size()) names.push_back(name);
    keys.push_back(number);
  }
  const ScratchVector<uint64_t> ranks = RanksOfNames(names);
  for (uint64_t& key : keys) key = ranks[key];
  return keys;
}

bool IsSortable(const Value& value) {
  if (value.is_list()) return std::ranges::all_of(value.items(), IsSortable);
  return value.is_atom() || value.is_vector();
}

// Returns ranks of lists, and checks the time in between: comparing two lists may take as long as
// they are.
absl::StatusOr<ScratchVector<uint64_t>> RanksOfLists(const std::vector<Value>& items,
                                                     Budget& budget) {
  constexpr size_t kRun = 16, kComparisonsBetweenLooks = 64;
  const size_t n = items.size();
  TS_RETURN_IF_ERROR(budget.Charge(n, kRankBytes));
  ScratchVector<uint32_t> order(n), merged(n);
  std::iota(order.begin(), order.end(), 0u);
  const auto compare = [&](uint32_t a, uint32_t b) { return CompareValues(items[a], items[b]); };
  for (size_t begin = 0; begin < n; begin += kRun) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    const auto first = order.begin() + static_cast<ptrdiff_t>(begin);
    std::sort(first, first + static_cast<ptrdiff_t>(std::min(kRun, n - begin)),
              [&](uint32_t a, uint32_t b) { return compare(a, b) < 0; });
  }
  size_t compared = 0;
  for (size_t run = kRun; run < n; run *= 2) {
    for (size_t begin = 0; begin < n; begin += 2 * run) {
      const size_t middle = std::min(begin + run, n), end = std::min(begin + 2 * run, n);
      size_t left = begin, right = middle;
      for (size_t out = begin; out < end; ++out) {
        if (++compared % kComparisonsBetweenLooks == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
        const bool takes_left =
            right == end || (left < middle && compare(order[left], order[right]) <= 0);
        merged[out] = takes_left ? order[left++] : order[right++];
      }
    }
    order.swap(merged);
  }
  ScratchVector<uint64_t> ranks(n);
  uint64_t rank = 0;
  for (size_t i = 0; i < n; ++i) {
    if (i % kComparisonsBetweenLooks == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
    if (i > 0 && compare(order[i - 1], order[i]) != 0) ++rank;
    ranks[order[i]] = rank;
  }
  return ranks;
}

absl::StatusOr<ScratchVector<uint64_t>> KeysOfList(const Slice& slice, Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(slice.count(), kRankBytes));
  TS_ASSIGN_OR_RETURN(const Value list, Materialise(slice, budget));
  const std::vector<Value>& items = list.items();
  if (!std::ranges::all_of(items, IsSortable)) {
    return NyiError("sort of a list that holds tables");
  }
  return RanksOfLists(items, budget);
}

absl::StatusOr<ScratchVector<uint64_t>> KeysOfGuids(const Slice& slice, Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(slice.count(), kRankBytes + sizeof(Guid)));
  ScratchVector<Guid> guids;
  guids.reserve(slice.count());
  TS_RETURN_IF_ERROR(ForEachBlock<Guid>(slice, budget, [&](const Block<Guid>& block) {
    guids.insert(guids.end(), block.elements.begin(), block.elements.end());
  }));
  return RanksOf(guids.size(), [&](uint32_t a, uint32_t b) {
    return guids[a] < guids[b] ? -1 : int{guids[b] < guids[a]};
  });
}

int Sign(int order) { return order < 0 ? -1 : int{order > 0}; }

int CompareAtoms(const Value& a, const Value& b) {
  if (a.type() == Type::kSymbol) return Sign(a.symbol().compare(b.symbol()));
  return VisitElementType(a.type(), [&]<typename T>(std::type_identity<T>) -> int {
    if constexpr (std::is_same_v<T, Guid>) {
      const auto x = a.as<Guid>(), y = b.as<Guid>();
      return x < y ? -1 : int{y < x};
    } else {
      const uint64_t x = OrderedBits(a.as<T>()), y = OrderedBits(b.as<T>());
      return x < y ? -1 : int{y < x};
    }
  });
}

}  // namespace

int CompareValues(const Value& a, const Value& b) {
  if (a.type() != b.type()) return Sign(static_cast<int>(a.type()) - static_cast<int>(b.type()));
  if (a.is_atom() && b.is_atom()) return CompareAtoms(a, b);
  const size_t common = std::min(a.count(), b.count());
  for (size_t i = 0; i < common; ++i) {
    const int order = CompareValues(ItemAt(a, i), ItemAt(b, i));
    if (order != 0) return order;
  }
  if (a.count() != b.count()) return a.count() < b.count() ? -1 : 1;
  return int{b.is_atom()} - int{a.is_atom()};
}

absl::StatusOr<ScratchVector<uint64_t>> SortKeys(const Slice& slice, Budget& budget) {
  const Type type = slice.type();
  TS_RETURN_IF_ERROR(budget.Charge(slice.count(), sizeof(uint64_t)));
  if (type == Type::kList) return KeysOfList(slice, budget);
  if (type == Type::kGuid) return KeysOfGuids(slice, budget);
  if (type == Type::kSymbol) {
    if (slice.column.has_ids()) return KeysOfIds(slice, budget);
    TS_RETURN_IF_ERROR(budget.Charge(slice.count(), sizeof(uint32_t)));
    return KeysOfSymbols(slice);
  }
  ScratchVector<uint64_t> keys;
  keys.reserve(slice.count());
  TS_RETURN_IF_ERROR(VisitElementType(type, [&]<typename T>(std::type_identity<T>) -> absl::Status {
    if constexpr (std::is_same_v<T, Guid>) {
      return absl::OkStatus();  // Handled above.
    } else {
      return ForEachBlock<T>(slice, budget, [&](const Block<T>& block) {
        for (T item : block.elements) keys.push_back(OrderedBits(item));
      });
    }
  }));
  return keys;
}

}  // namespace tickstack::query
