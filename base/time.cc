#include "base/time.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <ctime>

namespace tickstack {
namespace {

int64_t ReadClock(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return int64_t{now.tv_sec} * kNsPerSecond + now.tv_nsec;
}

constexpr std::chrono::sys_days kEpoch{std::chrono::year{2000} / 1 / 1};

std::optional<int> ParseDigits(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty() || text[0] == '-') {
    return std::nullopt;
  }
  return value;
}

}  // namespace

int64_t SystemClock::NowNs() const { return ReadClock(CLOCK_REALTIME) - kUnixNsOfKdbEpoch; }

int64_t SystemClock::MonotonicNs() const { return ReadClock(CLOCK_MONOTONIC); }

const SystemClock& SystemClock::Instance() {
  static const SystemClock clock;
  return clock;
}

int64_t MonotonicNs() { return ReadClock(CLOCK_MONOTONIC); }

int64_t ThreadProcessorNs() { return ReadClock(CLOCK_THREAD_CPUTIME_ID); }

int32_t DaysFromCivil(int year, int month, int day) {
  const std::chrono::sys_days days{std::chrono::year{year} / month / day};
  return static_cast<int32_t>((days - kEpoch).count());
}

Civil CivilFromDays(int32_t days) {
  const std::chrono::year_month_day ymd{kEpoch + std::chrono::days{days}};
  return {int{ymd.year()}, static_cast<int>(unsigned{ymd.month()}),
          static_cast<int>(unsigned{ymd.day()})};
}

int32_t DayOf(int64_t ns) {
  int64_t day = ns / kNsPerDay;
  if (ns % kNsPerDay < 0) --day;
  return static_cast<int32_t>(day);
}

std::string FormatDate(int32_t days) {
  const Civil civil = CivilFromDays(days);
  return fmt::format("{:04}.{:02}.{:02}", civil.year, civil.month, civil.day);
}

std::optional<int32_t> ParseDate(std::string_view text) {
  std::string_view year, month, day;
  if (text.size() == 10 && (text[4] == '.' || text[4] == '-') && text[7] == text[4]) {
    year = text.substr(0, 4), month = text.substr(5, 2), day = text.substr(8, 2);
  } else if (text.size() == 8) {
    year = text.substr(0, 4), month = text.substr(4, 2), day = text.substr(6, 2);
  } else {
    return std::nullopt;
  }
  const std::optional<int> y = ParseDigits(year), m = ParseDigits(month), d = ParseDigits(day);
  if (!y || !m || !d) return std::nullopt;
  const std::chrono::year_month_day ymd{std::chrono::year{*y} / *m / *d};
  if (!ymd.ok()) return std::nullopt;
  return DaysFromCivil(*y, *m, *d);
}

std::string FormatTimestamp(int64_t ns) {
  const int32_t day = DayOf(ns);
  // Not ns less the days' ns: the first day that an int64 reaches begins before the earliest one.
  const int64_t of_day = (ns % kNsPerDay + kNsPerDay) % kNsPerDay;
  const int64_t seconds = of_day / kNsPerSecond;
  return fmt::format("{}D{:02}:{:02}:{:02}.{:09}", FormatDate(day), seconds / 3600,
                     seconds / 60 % 60, seconds % 60, of_day % kNsPerSecond);
}

}  // namespace tickstack
