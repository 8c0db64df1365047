#pragma once

// Messages that give their time since midnight at the exchange need its date and time zone.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace tickstack::feed::market {

// Returns midnight of `date`, such as `2019.12.30`, in a time zone such as `America/New_York`, in
// ns since 2000-01-01 UTC. kInvalidArgument for other texts; kNotFound if the system does not know
// the time zone.
absl::StatusOr<int64_t> MidnightNs(std::string_view date, const std::string& time_zone);

// Returns midnight UTC of the day that a number such as 20191230 names, in ns since 2000; kNullLong
// if it names none from 1970 to 2199.
int64_t DayNs(uint32_t yyyymmdd);

// Returns ns since 1970 as ns since 2000; nullopt outside of 1970 to 2200.
std::optional<int64_t> UnixTimeNs(int64_t unix_ns);

// The days of an exchange whose messages are received live. Threads: one owner.
class ExchangeDays {
 public:
  // kNotFound if the system does not know the time zone.
  static absl::StatusOr<ExchangeDays> Create(const std::string& time_zone);

  // Returns the last midnight in the time zone up to `time_ns`; both are in ns since 2000 UTC.
  // Cost: two comparisons, but for the first time of a day.
  int64_t MidnightBefore(int64_t time_ns) {
    if (time_ns < begin_ns_ || time_ns >= end_ns_) SetDay(time_ns);
    return begin_ns_;
  }

 private:
  explicit ExchangeDays(absl::TimeZone zone) : zone_(zone) {}
  void SetDay(int64_t time_ns);

  absl::TimeZone zone_;
  int64_t begin_ns_ = 0, end_ns_ = 0;  // The day of the last call.
};

}  // namespace tickstack::feed::market
