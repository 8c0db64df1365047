#pragma once

// The types that functions can combine, and the types of their results, from the tables "range and
// domains" of the public reference (code.kx.com/q/ref: add, subtract, multiply, divide, less-than,
// lesser, div, mod, xbar, sum).

#include <cstdint>
#include <optional>
#include <variant>

#include "table/types.h"

namespace tickstack::query {

enum class Arithmetic {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,  // div
  kModulo,       // mod
  kRoundDown,    // xbar: y rounded down to a multiple of x
  kPower,        // xexp
  kLogarithm,    // xlog: logarithm of y to base x
  kLesser,
  kGreater,
  kFill,  // y, or x where y is null
};
enum class Comparison {
  kEqual,
  kNotEqual,
  kLess,
  kGreaterThan,
  kLessOrEqual,
  kGreaterOrEqual,
};
// An operator that works item by item.
using AtomicOp = std::variant<Arithmetic, Comparison>;

constexpr bool IsWholeDivision(Arithmetic op) {
  return op == Arithmetic::kFloorDivide || op == Arithmetic::kModulo ||
         op == Arithmetic::kRoundDown;
}

// Returns the type of `x op y` for elements of the vector types x and y; nullopt if q fails with
// the error `type`.
std::optional<Type> ResultType(AtomicOp op, Type x, Type y);

// Returns the type of `sum` over elements of a type; nullopt if q fails with the error `type`.
std::optional<Type> SumType(Type type);

// Returns the type of `deltas` over elements of a type; nullopt if q fails with the error `type`.
std::optional<Type> DeltasType(Type type);

// True for instants: timestamp, month, date and datetime.
constexpr bool IsInstant(Type type) {
  return type == Type::kTimestamp || type == Type::kMonth || type == Type::kDate ||
         type == Type::kDatetime;
}
// True for durations and times of day: timespan, minute, second and time.
constexpr bool IsTimeOfDay(Type type) {
  return type == Type::kTimespan || type == Type::kMinute || type == Type::kSecond ||
         type == Type::kTime;
}
constexpr bool IsTemporal(Type type) { return IsInstant(type) || IsTimeOfDay(type); }

// Returns the unit, in nanoseconds, of a temporal type that counts a fixed unit; 0 for months,
// datetimes and types that are not temporal.
int64_t UnitNs(Type type);

}  // namespace tickstack::query
