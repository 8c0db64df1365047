#pragma once

// The elements of vectors: the C++ type behind each q type, its null, and single items of values.

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/byte_buffer.h"
#include "base/scratch.h"
#include "table/types.h"
#include "table/value.h"

namespace tickstack::query {

using Guid = std::array<std::byte, 16>;

// Limit on the nesting of lists that functions descend into.
inline constexpr int kMaxListDepth = 100;

inline bool IsSequence(const Value& value) { return value.is_vector() || value.is_list(); }
inline bool IsAtomOrVector(const Value& value) { return value.is_atom() || value.is_vector(); }

// Calls f(std::type_identity<T>()) with the C++ type of a fixed-width type's elements: uint8_t,
// int16_t, int32_t, int64_t, float, double or Guid.
template <typename F>
decltype(auto) VisitElementType(Type type, F&& f) {
  switch (WidthOf(type)) {
    case 1:
      return f(std::type_identity<uint8_t>());
    case 2:
      return f(std::type_identity<int16_t>());
    case 4:
      if (type == Type::kReal) return f(std::type_identity<float>());
      return f(std::type_identity<int32_t>());
    case 16:
      return f(std::type_identity<Guid>());
    default:
      TS_CHECK(WidthOf(type) == 8);
      if (IsFloating(type)) return f(std::type_identity<double>());
      return f(std::type_identity<int64_t>());
  }
}

template <typename T>
T NullElement(Type type) {
  if constexpr (std::is_same_v<T, Guid>) {
    return Guid{};
  } else if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<float>(kNullRealBits);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<double>(kNullFloatBits);
  } else if constexpr (std::is_same_v<T, uint8_t>) {
    return type == Type::kChar ? uint8_t{' '} : uint8_t{0};
  } else {
    return std::numeric_limits<T>::min();
  }
}

// Booleans and bytes have no null.
template <typename T>
bool IsNullElement(Type type, const T& element) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::isnan(element);
  } else if constexpr (std::is_same_v<T, uint8_t>) {
    return type == Type::kChar && element == ' ';
  } else {
    return element == NullElement<T>(type);
  }
}

// A vector that is written in place. It has room for `count` elements, and the caller writes all of
// them.
template <typename T>
class VectorWriter {
 public:
  VectorWriter(Type type, size_t count) : type_(type), count_(count) {
    bytes_.reserve(count * sizeof(T));
    bytes_.resize(count * sizeof(T));
  }
  T* data() { return reinterpret_cast<T*>(bytes_.data()); }
  std::span<T> span() { return {data(), count_}; }
  Value Finish() && { return Value::Vector(type_, std::move(bytes_)); }

 private:
  Type type_;
  size_t count_;
  ByteBuffer bytes_;
};

// Returns the null of a type: an atom, or the empty list for kList.
Value NullOf(Type type);
Value EmptyVector(Type type);
// Returns what q gives for a position outside a list. It depends on the list's first item: the null
// of its type for an atom, else an empty vector, list or table of the same kind.
Value MissingItem(const std::vector<Value>& list);

// Returns item `i` of a vector or list: an atom, or whatever the list holds. i < count().
Value ItemAt(const Value& list, size_t i);

// Returns a list as q keeps it: atoms of one type become a vector, anything else stays a list.
Value Collapse(std::vector<Value> items);
Value Collapse(ScratchVector<Value> items);  // A result that stays a list moves into DRAM.

// Returns the bytes of a fixed-width vector for writing. The vector must have no other owner.
inline std::span<std::byte> MutableElements(Value& vector) {
  TS_CHECK(vector.is_vector());
  const std::span<const std::byte> bytes = vector.elements();
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};  // They are the vector's own.
}

// Returns a vector of one item; for a value that is not an atom, a list of one item.
Value Enlist(Value item);

// Returns `count` copies of the item as a vector or list.
Value Repeat(const Value& item, size_t count);

// Returns the items of a vector or list at the positions, in their order. Positions may repeat;
// kNoItem gives the type's null.
inline constexpr uint32_t kNoItem = UINT32_MAX;
Value TakeItems(const Value& list, std::span<const uint32_t> positions);

// Compares two items of one vector and returns -1, 0 or 1. Nulls come first, and names are compared
// by their bytes. Returns 0 for a list.
int CompareItems(const Value& vector, size_t a, size_t b);

// True if a and b match as in q's `~`: they have the same type and items. Floats are compared with
// tolerance, and attributes are ignored.
bool Match(const Value& a, const Value& b);

// True if |a-b| <= 2^-43 * max(|a|, |b|), or both are null (code.kx.com/q/basics/precision).
bool TolerantlyEqual(double a, double b);

// Returns the approximate number of bytes that a value holds.
size_t ApproximateBytes(const Value& value);

}  // namespace tickstack::query
