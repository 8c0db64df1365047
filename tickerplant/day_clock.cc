#include "tickerplant/day_clock.h"

#include "absl/time/civil_time.h"
#include "base/status.h"
#include "base/time.h"

namespace tickstack::tickerplant {
namespace {

const absl::CivilDay kEpoch(2000, 1, 1);

absl::Time ToAbsl(int64_t ns) { return absl::FromUnixNanos(ns + kUnixNsOfKdbEpoch); }
int64_t FromAbsl(absl::Time time) { return absl::ToUnixNanos(time) - kUnixNsOfKdbEpoch; }

}  // namespace

absl::StatusOr<DayClock> DayClock::Create(const std::string& zone, int64_t offset_ns,
                                          std::optional<int32_t> fixed_date) {
  DayClock clock;
  if (!absl::LoadTimeZone(zone, &clock.zone_)) {
    return InvalidArgument(
        "time zone '{}': not in the system's database, expected a name such as America/New_York",
        zone);
  }
  if (offset_ns <= -kNsPerDay || offset_ns >= kNsPerDay) {
    return InvalidArgument("roll offset of {} s: expected less than a day",
                           offset_ns / kNsPerSecond);
  }
  clock.offset_ns_ = offset_ns;
  clock.fixed_date_ = fixed_date;
  return clock;
}

// By wall-clock time: on a day of 23 or 25 hours, 17:00 is still when the clock there shows it.
int64_t DayClock::BeginOf(int32_t date) const {
  int64_t seconds = offset_ns_ / kNsPerSecond, rest_ns = offset_ns_ % kNsPerSecond;
  if (rest_ns < 0) {
    --seconds;
    rest_ns += kNsPerSecond;
  }
  return FromAbsl(absl::FromCivil(absl::CivilSecond(kEpoch + date) + seconds, zone_)) + rest_ns;
}

// Returns the last date that has begun. An hour that occurs twice begins its date the first time,
// so dates never decrease as time passes.
int32_t DayClock::DateAt(int64_t now_ns) const {
  if (fixed_date_) return *fixed_date_;
  auto date = static_cast<int32_t>(absl::ToCivilDay(ToAbsl(now_ns), zone_) - kEpoch) + 2;
  while (BeginOf(date) > now_ns) --date;
  return date;
}

int64_t DayClock::NextRollAfter(int64_t now_ns) const {
  return fixed_date_ ? INT64_MAX : BeginOf(DateAt(now_ns) + 1);
}

int64_t DayClock::LocalTimespan(int64_t now_ns) const {
  const absl::Time now = ToAbsl(now_ns);
  const absl::CivilSecond second = absl::ToCivilSecond(now, zone_);
  const int64_t of_day = (second.hour() * 60 + second.minute()) * 60 + second.second();
  const int64_t fraction = ((now_ns % kNsPerSecond) + kNsPerSecond) % kNsPerSecond;
  return of_day * kNsPerSecond + fraction;
}

}  // namespace tickstack::tickerplant
