#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace tickstack::tickerplant {

// Computes the trading day. Days begin at midnight of a time zone plus an offset: with 17 hours, a
// day begins when the clock there shows 17:00, and has the date of its beginning. Threads: any;
// immutable.
class DayClock {
 public:
  // `zone` is a name in the system's time zone database, such as `America/New_York`, or `UTC`. With
  // a fixed date the day never ends: for replays.
  static absl::StatusOr<DayClock> Create(const std::string& zone, int64_t offset_ns,
                                         std::optional<int32_t> fixed_date);

  bool is_fixed() const { return fixed_date_.has_value(); }
  int32_t DateAt(int64_t now_ns) const;  // Days since 2000-01-01.
  // Returns the first instant after `now_ns` that has another date; INT64_MAX if there is none.
  int64_t NextRollAfter(int64_t now_ns) const;
  // Returns the instant at which `date` ends; INT64_MAX if the day never ends.
  int64_t EndOf(int32_t date) const { return fixed_date_ ? INT64_MAX : BeginOf(date + 1); }
  // Returns the time of day in the zone, which kdb+tick stamps into a timespan column.
  int64_t LocalTimespan(int64_t now_ns) const;

 private:
  int64_t BeginOf(int32_t date) const;

  absl::TimeZone zone_;
  int64_t offset_ns_ = 0;
  std::optional<int32_t> fixed_date_;
};

}  // namespace tickstack::tickerplant
