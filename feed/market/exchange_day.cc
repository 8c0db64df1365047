#include "feed/market/exchange_day.h"

#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "base/time.h"
#include "table/types.h"

namespace tickstack::feed::market {

namespace {

absl::StatusOr<absl::TimeZone> LoadZone(const std::string& time_zone) {
  absl::TimeZone zone;
  if (absl::LoadTimeZone(time_zone, &zone)) return zone;
  return NotFound("time zone {}: the system does not know it (package tzdata)", time_zone);
}

int64_t MidnightOf(const absl::CivilDay& day, absl::TimeZone zone) {
  return absl::ToUnixNanos(absl::FromCivil(day, zone)) - kUnixNsOfKdbEpoch;
}

}  // namespace

absl::StatusOr<int64_t> MidnightNs(std::string_view date, const std::string& time_zone) {
  if (date.empty()) {
    return InvalidArgument(
        "--date is missing (in a configuration: date): expected such as 2019.12.30");
  }
  const std::optional<int32_t> day = ParseDate(date);
  if (!day) return InvalidArgument("date '{}': expected such as 2019.12.30", date);
  TS_ASSIGN_OR_RETURN(const absl::TimeZone zone, LoadZone(time_zone));
  const Civil civil = CivilFromDays(*day);
  return MidnightOf(absl::CivilDay(civil.year, civil.month, civil.day), zone);
}

absl::StatusOr<ExchangeDays> ExchangeDays::Create(const std::string& time_zone) {
  TS_ASSIGN_OR_RETURN(const absl::TimeZone zone, LoadZone(time_zone));
  return ExchangeDays(zone);
}

void ExchangeDays::SetDay(int64_t time_ns) {
  const absl::Time time = absl::FromUnixNanos(time_ns + kUnixNsOfKdbEpoch);
  const auto day = absl::CivilDay(absl::ToCivilSecond(time, zone_));
  begin_ns_ = MidnightOf(day, zone_);
  end_ns_ = MidnightOf(day + 1, zone_);
}

int64_t DayNs(uint32_t yyyymmdd) {
  const absl::CivilDay day(yyyymmdd / 10'000, yyyymmdd / 100 % 100, yyyymmdd % 100);
  const bool is_day = day.month() == static_cast<int>(yyyymmdd / 100 % 100) &&
                      day.day() == static_cast<int>(yyyymmdd % 100);
  if (!is_day || day.year() < 1970 || day.year() >= 2200) return kNullLong;
  return (day - absl::CivilDay(2000, 1, 1)) * kNsPerDay;
}

std::optional<int64_t> UnixTimeNs(int64_t unix_ns) {
  constexpr int64_t kUnixNsMax = 7'258'118'400'000'000'000;
  if (unix_ns < 0 || unix_ns > kUnixNsMax) return std::nullopt;
  return unix_ns - kUnixNsOfKdbEpoch;
}

}  // namespace tickstack::feed::market
