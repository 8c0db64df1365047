#include "query/joins/max_age.h"

#include <cmath>
#include <optional>
#include <type_traits>

#include "base/time.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/kernels/ordered_times.h"
#include "query/kernels/type_rules.h"

namespace tickstack::query {
namespace {

bool IsIntegerNumber(Type type) {
  return type == Type::kByte || type == Type::kShort || type == Type::kInt || type == Type::kLong;
}
bool IsNumberType(Type type) {
  return IsIntegerNumber(type) || type == Type::kReal || type == Type::kFloat;
}

absl::Status NoAge(const Value& age, Type time) {
  return TypeError("a maximum age of {} for a time column of {}", NameOf(age.type()), NameOf(time));
}

// Returns an age as a number of its own units: nullopt for a null, infinity for q's.
template <typename T>
std::optional<double> AgeAsFloat(Type type, T age) {
  if (IsNullElement(type, age)) return std::nullopt;
  if (std::is_signed_v<T> && age == std::numeric_limits<T>::max()) return INFINITY;
  return static_cast<double>(age);
}

}  // namespace

absl::StatusOr<MaxAge> MaxAge::Of(const Value& age, Type time) {
  const Type type = age.type();
  if (!age.is_atom() || !IsFixedWidth(type) || type == Type::kGuid) return NoAge(age, time);
  // How many units of the column a unit of the age is, as a fraction.
  int64_t age_unit = 1, time_unit = 1;
  if (IsTimeOfDay(type)) {
    time_unit = time == Type::kDatetime ? kNsPerDay : UnitNs(time);
    age_unit = UnitNs(type);
    if (time_unit == 0) return NoAge(age, time);
  } else {
    const bool counts = !IsFloating(time) && time != Type::kTimestamp && time != Type::kTimespan;
    if (!(counts ? IsIntegerNumber(type) : IsFloating(time) && IsNumberType(type))) {
      return NoAge(age, time);
    }
  }
  MaxAge bound;
  bound.floating_ = IsFloating(time);
  bool null = false;
  VisitElementType(type, [&]<typename T>(std::type_identity<T>) {
    if constexpr (std::is_arithmetic_v<T>) {
      const T units = age.as<T>();
      const std::optional<double> number = AgeAsFloat(type, units);
      null = !number.has_value() || *number < 0;
      bound.limited_ = !null && !std::isinf(*number);
      if (!bound.limited_) return;
      bound.most_float_ = *number * static_cast<double>(age_unit) / static_cast<double>(time_unit);
      if constexpr (std::is_integral_v<T>) {
        // No time is as old as an age beyond 64 bits, so that is no limit.
        const auto most = static_cast<__int128>(units) * age_unit / time_unit;
        bound.limited_ = most < kInfinityLong;
        bound.most_ = static_cast<int64_t>(most);
      }
    }
  });
  if (null) {
    return QError(absl::StatusCode::kInvalidArgument, "domain", "a null or negative maximum age");
  }
  return bound;
}

bool MaxAge::Admits(int64_t now, int64_t then) const {
  if (!limited_ || now == then) return true;  // Two nulls are equal too, and two infinities.
  if (then == kNullLong) return false;
  if (floating_) return FloatOfOrdered(now) - FloatOfOrdered(then) <= most_float_;
  return static_cast<uint64_t>(now) - static_cast<uint64_t>(then) <= static_cast<uint64_t>(most_);
}

bool MaxAge::Admits(const PostingRun& now_run, size_t now, const PostingTimes& now_times,
                    const PostingRun& then_run, size_t then, const PostingTimes& then_times) const {
  if (!limited_) return true;
  if (now_times.SameClock(then_times)) {
    const auto apart = PostingTimes::ApartNs(now_run.coarse[now], then_run.coarse[then]);
    if (apart.has_value() && apart->less_than_ns <= most_) return true;
    if (apart.has_value() && apart->more_than_ns >= most_) return false;
  }
  return Admits(now_times.ExactNs(now_run.rows[now]), then_times.ExactNs(then_run.rows[then]));
}

}  // namespace tickstack::query
