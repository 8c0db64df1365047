#pragma once

// The nulls and infinities of aggregates, by C++ type.

#include <limits>
#include <type_traits>

namespace tickstack::query {

template <typename T>
constexpr T PlusInfinity() {
  if constexpr (std::is_floating_point_v<T>)
    return std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::max();
}

// For a signed integer this is one above the null, which is the smallest number.
template <typename T>
constexpr T MinusInfinity() {
  if constexpr (std::is_floating_point_v<T>)
    return -std::numeric_limits<T>::infinity();
  else if constexpr (std::is_unsigned_v<T>)
    return 0;
  else
    return static_cast<T>(-std::numeric_limits<T>::max());
}

template <typename T>
constexpr bool IsNull(T element) {
  if constexpr (std::is_floating_point_v<T>)
    return element != element;
  else if constexpr (std::is_unsigned_v<T>)
    return false;
  else
    return element == std::numeric_limits<T>::min();
}

}  // namespace tickstack::query
