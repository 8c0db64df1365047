#pragma once

// Converts temporal values to nanoseconds; instants are counted from 2000.01.01. Nulls stay null,
// and values out of range become an infinity.

#include <cmath>
#include <cstdint>

#include "base/time.h"
#include "query/kernels/type_rules.h"
#include "table/types.h"

namespace tickstack::query {

inline int64_t SaturatingMultiply(int64_t value, int64_t factor) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(value, factor, &product)) return product;
  return value < 0 ? -kInfinityLong : kInfinityLong;
}

// Returns the nearest integer; kNullLong for NaN, and an infinity for a value out of range.
inline int64_t LongOf(double value) {
  if (std::isnan(value)) return kNullLong;
  if (value >= 0x1p63) return kInfinityLong;
  if (value <= -0x1p63) return -kInfinityLong;
  return std::llrint(value);
}

// Returns the quotient, rounded down. `divisor` must be above 0.
inline int64_t FloorDivide(int64_t value, int64_t divisor) {
  return value / divisor - (value % divisor < 0 ? 1 : 0);
}

// Returns the nanoseconds since midnight of an instant.
inline int64_t TimeOfDayNs(int64_t ns) {
  const int64_t of_day = ns % kNsPerDay;
  return of_day < 0 ? of_day + kNsPerDay : of_day;
}

// Returns the first nanosecond of a month. Months are counted from 2000.01.
int64_t NsOfMonth(int64_t month);

// Returns the nanoseconds of a value of a temporal type other than datetime.
inline int64_t ToNs(Type type, int64_t value) {
  if (value == kNullLong) return value;
  if (type == Type::kMonth) return NsOfMonth(value);
  return SaturatingMultiply(value, UnitNs(type));
}

}  // namespace tickstack::query
