#include "query/kernels/time_parts.h"

#include <array>
#include <utility>

#include "query/columns/errors.h"
#include "query/kernels/temporal.h"
#include "query/kernels/time_blocks.h"

namespace tickstack::query {
namespace {

constexpr std::array<std::pair<std::string_view, TimePart>, 7> kNames = {{
    {"year", TimePart::kYear},
    {"mm", TimePart::kMonth},
    {"dd", TimePart::kDay},
    {"week", TimePart::kWeek},
    {"hh", TimePart::kHour},
    {"uu", TimePart::kMinute},
    {"ss", TimePart::kSecond},
}};

std::string_view NameOfPart(TimePart part) {
  for (const auto& [name, named] : kNames) {
    if (named == part) return name;
  }
  return "";
}

bool HasPart(Type type, TimePart part) {
  switch (part) {
    case TimePart::kMonth:
      return IsInstant(type) || IsTimeOfDay(type);
    case TimePart::kYear:
      return IsInstant(type);
    case TimePart::kDay:
    case TimePart::kWeek:
      return IsInstant(type) && type != Type::kMonth;
    case TimePart::kHour:
    case TimePart::kMinute:
    case TimePart::kSecond:
      break;
  }
  return type == Type::kTimestamp || type == Type::kDatetime || IsTimeOfDay(type);
}

// Computes the calendar once a day and not once a row, because ticks come day by day.
class PartOfDay {
 public:
  explicit PartOfDay(TimePart part) : part_(part) {}

  int32_t operator()(int64_t ns) {
    const auto day = static_cast<int32_t>(FloorDivide(ns, kNsPerDay));
    if (day != day_) {
      day_ = day;
      value_ = Compute();
    }
    return value_;
  }

 private:
  int32_t Compute() const {
    // 2000.01.03 was a Monday.
    if (part_ == TimePart::kWeek) return static_cast<int32_t>(FloorDivide(day_ - 2, 7) * 7 + 2);
    const Civil civil = CivilFromDays(day_);
    if (part_ == TimePart::kYear) return civil.year;
    return part_ == TimePart::kMonth ? civil.month : civil.day;
  }

  TimePart part_;
  int32_t day_ = INT32_MIN;  // The day of the last time; none at first.
  int32_t value_ = 0;
};

template <typename F>
absl::StatusOr<Value> MapTimes(Type type, const Slice& slice, Budget& budget, F f) {
  TS_RETURN_IF_ERROR(budget.Charge(slice.count(), sizeof(int32_t)));
  VectorWriter<int32_t> out(type, slice.count());
  int32_t* at = out.data();
  TS_RETURN_IF_ERROR(ForEachTimeBlock(slice, budget, [&](std::span<const int64_t> times) {
    for (int64_t ns : times) *at++ = ns == kNullLong ? kNullInt : f(ns);
  }));
  return std::move(out).Finish();
}

}  // namespace

std::optional<TimePart> FindTimePart(std::string_view name) {
  for (const auto& [known, part] : kNames) {
    if (known == name) return part;
  }
  return std::nullopt;
}

absl::StatusOr<Value> PartOf(const Slice& slice, TimePart part, Budget& budget) {
  const Type type = slice.type();
  if (!HasPart(type, part)) return TypeError("{} of a {}", NameOfPart(part), NameOf(type));
  constexpr int64_t kMinuteNs = 60 * kNsPerSecond, kHourNs = 60 * kMinuteNs;
  const bool instant = IsInstant(type);
  // `mm` of a time of day is its minute, as in q.
  if (part == TimePart::kMonth && !instant) part = TimePart::kMinute;
  const auto clock = [&](int64_t ns) { return instant ? TimeOfDayNs(ns) : ns; };
  switch (part) {
    case TimePart::kHour:
      return MapTimes(Type::kInt, slice, budget, [&](int64_t ns) {
        return static_cast<int32_t>(FloorDivide(clock(ns), kHourNs));
      });
    case TimePart::kMinute:
      return MapTimes(Type::kInt, slice, budget,
                      [&](int64_t ns) { return static_cast<int32_t>(clock(ns) / kMinuteNs % 60); });
    case TimePart::kSecond:
      return MapTimes(Type::kInt, slice, budget, [&](int64_t ns) {
        return static_cast<int32_t>(clock(ns) / kNsPerSecond % 60);
      });
    case TimePart::kYear:
    case TimePart::kMonth:
    case TimePart::kDay:
    case TimePart::kWeek:
      break;
  }
  return MapTimes(part == TimePart::kWeek ? Type::kDate : Type::kInt, slice, budget,
                  PartOfDay(part));
}

}  // namespace tickstack::query
