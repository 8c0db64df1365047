#include "disk/column_cast.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>

#include "base/check.h"
#include "base/status.h"
#include "table/codec.h"
#include "table/encoded.h"
#include "table/format_value.h"
#include "table/value.h"

namespace tickstack::disk {
namespace {

constexpr size_t kShownTextMax = 80;  // Bytes of a value in an error.

bool IsNumber(Type type) {
  return type == Type::kShort || type == Type::kInt || type == Type::kLong || type == Type::kReal ||
         type == Type::kFloat;
}

// Calls f(T()) with the type of a column's elements.
template <typename F>
absl::Status WithElement(Type type, F f) {
  if (type == Type::kShort) return f(int16_t{});
  if (type == Type::kLong) return f(int64_t{});
  if (type == Type::kReal) return f(float{});
  if (type == Type::kFloat) return f(double{});
  if (WidthOf(type) == 1) return f(uint8_t{});
  TS_CHECK(WidthOf(type) == sizeof(int32_t));
  return f(int32_t{});
}

// q's null of an integer is the smallest number, and its infinities are the largest and the
// negative of that.
template <typename T>
constexpr T kNullOf = std::numeric_limits<T>::min();
template <>
constexpr float kNullOf<float> = std::bit_cast<float>(kNullRealBits);
template <>
constexpr double kNullOf<double> = std::bit_cast<double>(kNullFloatBits);
template <typename T>
constexpr T kInfinityOf = std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity()
                                                      : std::numeric_limits<T>::max();

template <typename T>
bool IsNull(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(value);
  return std::is_signed_v<T> && value == kNullOf<T>;
}

// Returns the same number as another type; false if that has no such number.
template <typename From, typename To>
bool CastNumber(From from, To& to) {
  if (IsNull(from)) {
    to = kNullOf<To>;
    return true;
  }
  if constexpr (std::is_signed_v<From>) {
    if (from == kInfinityOf<From> || from == -kInfinityOf<From>) {
      to = from > 0 ? kInfinityOf<To> : static_cast<To>(-kInfinityOf<To>);
      return true;
    }
  }
  if constexpr (std::is_floating_point_v<From> && !std::is_floating_point_v<To>) {
    // The bounds are powers of two, which both types have exactly, or nearly so.
    const double bound = std::ldexp(1.0, std::numeric_limits<To>::digits);
    if (!(from > -bound && from < bound) || std::trunc(from) != from) return false;
  } else if constexpr (!std::is_floating_point_v<From> && !std::is_floating_point_v<To>) {
    const auto wide = static_cast<int64_t>(from);
    if (wide <= std::numeric_limits<To>::min() || wide >= std::numeric_limits<To>::max()) {
      return false;
    }
  }
  to = static_cast<To>(from);
  if constexpr (!std::is_floating_point_v<To>) {
    // Neither null nor an infinity of the new type.
    return to != kNullOf<To> && to != kInfinityOf<To> && to != -kInfinityOf<To>;
  } else if constexpr (std::is_floating_point_v<From>) {
    return static_cast<From>(to) == from;
  } else {
    // Beyond this bound, neighbouring integers would become one float.
    constexpr int64_t kExact = int64_t{1} << std::numeric_limits<To>::digits;
    const auto wide = static_cast<int64_t>(from);
    return wide >= -kExact && wide <= kExact;
  }
}

absl::Status CastNumbers(const ColumnView& from, uint64_t first_row, Type to, ByteBuffer& out) {
  return WithElement(from.type, [&]<typename From>(From) {
    return WithElement(to, [&]<typename To>(To) -> absl::Status {
      if constexpr (std::is_same_v<To, uint8_t>) {
        return InvalidArgument("no cast to {}", NameOf(to));
      } else {
        for (size_t row = 0; row < from.rows; ++row) {
          const auto value = LoadLittle<From>(from.data.data() + row * sizeof(From));
          To number{};
          if (!CastNumber(value, number)) {
            return InvalidArgument("row {}: {} is no {}", first_row + row, value, NameOf(to));
          }
          out.AppendLittle(number);
        }
        return absl::OkStatus();
      }
    });
  });
}

absl::Status CastTimes(const ColumnView& from, uint64_t first_row, int64_t unit_ns,
                       ByteBuffer& out) {
  for (size_t row = 0; row < from.rows; ++row) {
    const auto value = LoadLittle<int32_t>(from.data.data() + row * sizeof(int32_t));
    int64_t ns = 0;
    if (value == kNullInt) {
      ns = kNullLong;
    } else if (value == kInfinityInt || value == -kInfinityInt) {
      ns = value > 0 ? kInfinityLong : -kInfinityLong;
    } else if (__builtin_mul_overflow(int64_t{value}, unit_ns, &ns)) {
      return InvalidArgument("row {}: {} {}s are no timespan", first_row + row, value,
                             NameOf(from.type));
    }
    out.AppendLittle(ns);
  }
  return absl::OkStatus();
}

void CastSymbols(const ColumnView& from, ByteBuffer& out) {
  std::string_view rest = AsText(from.data);
  for (size_t row = 0; row < from.rows; ++row) {
    const size_t end = rest.find('\0');
    Encode(Value::String(rest.substr(0, end)), out);
    rest.remove_prefix(end + 1);
  }
}

absl::Status CastStrings(const ColumnView& from, uint64_t first_row, ByteBuffer& out) {
  std::span<const std::byte> rest = from.data;
  for (size_t row = 0; row < from.rows; ++row) {
    const std::optional<size_t> bytes = EncodedBytes(rest);
    if (!bytes) return InvalidArgument("row {}: no value", first_row + row);
    TS_ASSIGN_OR_RETURN(const Value item, Decode(rest.first(*bytes)));
    const bool is_text = item.is_string() || item.is_atom_of(Type::kChar);
    const bool is_empty = item.is_list() && item.count() == 0;
    if (!is_empty && (!is_text || item.text().find('\0') != std::string_view::npos)) {
      return InvalidArgument("row {}: {}, expected a string without a zero byte", first_row + row,
                             FormatJson(item).substr(0, kShownTextMax));
    }
    if (!is_empty) out.Append(item.text());
    out.AppendLittle(uint8_t{0});
    rest = rest.subspan(*bytes);
  }
  return absl::OkStatus();
}

int64_t UnitNs(Type type) {
  constexpr int64_t kMillisecond = 1'000'000, kSecond = 1000 * kMillisecond;
  if (type == Type::kTime) return kMillisecond;
  return type == Type::kSecond ? kSecond : 60 * kSecond;
}

}  // namespace

bool CanCast(Type from, Type to) {
  const bool is_time = from == Type::kSecond || from == Type::kMinute || from == Type::kTime;
  if (is_time) return to == Type::kTimespan;
  if (from == Type::kSymbol) return to == Type::kList;
  if (from == Type::kList) return to == Type::kSymbol;
  return IsNumber(to) && (IsNumber(from) || from == Type::kBoolean || from == Type::kByte);
}

absl::Status CastColumn(const ColumnView& from, uint64_t first_row, Type to, ByteBuffer& out) {
  TS_CHECK(CanCast(from.type, to));
  if (to == Type::kTimespan) return CastTimes(from, first_row, UnitNs(from.type), out);
  if (from.type == Type::kList) return CastStrings(from, first_row, out);
  if (from.type != Type::kSymbol) return CastNumbers(from, first_row, to, out);
  CastSymbols(from, out);
  return absl::OkStatus();
}

}  // namespace tickstack::disk
