#pragma once

// Reads columns of numbers block by block, converted to one of two types, int64_t or double, which
// are called domains here. Also builds vectors of a type from such blocks. So a function of columns
// is written for two element types, not for 17.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "query/columns/elements.h"
#include "query/kernels/temporal.h"

namespace tickstack::query {

inline bool IsNullInDomain(int64_t value) { return value == kNullLong; }
inline bool IsNullInDomain(double value) { return std::isnan(value); }

// MinusInfinity and PlusInfinity return the bounds of a type's items, in its domain. A maximum
// starts with the lower bound, and a minimum with the upper one.
template <typename D>
D MinusInfinity(Type type) {
  if constexpr (std::is_same_v<D, double>) {
    return -std::numeric_limits<double>::infinity();
  } else {
    switch (WidthOf(type)) {
      case 1:
        return 0;
      case 2:
        return -kInfinityShort;
      case 4:
        return -kInfinityInt;
      default:
        return -kInfinityLong;
    }
  }
}
template <typename D>
D PlusInfinity(Type type) {
  if (WidthOf(type) == 1) return D{UINT8_MAX};
  return -MinusInfinity<D>(type);
}

// Stores values of a domain as elements of a type: a null as the type's null, an integer truncated
// to the type's width, a float rounded if the type is an integer type.
template <typename T, typename D>
void StoreBlock(Type type, const D* from, T* to, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    if (IsNullInDomain(from[i])) {
      to[i] = NullElement<T>(type);
    } else if constexpr (std::is_same_v<D, double> && !std::is_floating_point_v<T>) {
      to[i] = static_cast<T>(LongOf(from[i]));
    } else {
      to[i] = static_cast<T>(from[i]);
    }
  }
}

// Calls f with blocks of the slice's items, in order. f may change the block. D is int64_t or
// double. Booleans, bytes and chars are never null here. Does nothing for guids and types without a
// fixed width. Cost: a call per block of 1,024 items. (f is a FunctionRef, not a template
// parameter, because instances for all functions and pairs of types would take the compiler
// seconds.)
template <typename D>
absl::Status ForEachDomainBlock(const Slice& slice, Budget& budget,
                                absl::FunctionRef<void(std::span<D>)> f);

// Returns a vector of `type` with the items that f makes of a column. f changes blocks in place.
template <typename D>
absl::StatusOr<Value> MapInDomain(const Slice& slice, Type type, Budget& budget,
                                  absl::FunctionRef<void(std::span<D>)> f);

}  // namespace tickstack::query
