#pragma once

// Time in kdb+'s units: nanoseconds, and days, since 2000-01-01 UTC. A name that ends in `_ns` is
// in nanoseconds: a point in time counts from that epoch, and one called `unix_ns` from 1970.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tickstack {

inline constexpr int64_t kUnixNsOfKdbEpoch = 946'684'800'000'000'000;
inline constexpr int64_t kNsPerSecond = 1'000'000'000;
inline constexpr int64_t kNsPerDay = 86'400 * kNsPerSecond;

// The source of "now", so that a test can stop time. Implementations may be called from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  // Returns ns since 2000-01-01 UTC, for timestamps.
  virtual int64_t NowNs() const = 0;
  // Returns ns since an arbitrary instant, for intervals and pacing.
  virtual int64_t MonotonicNs() const = 0;
};

// CLOCK_REALTIME and CLOCK_MONOTONIC, about 20 ns per call.
class SystemClock final : public Clock {
 public:
  int64_t NowNs() const override;
  int64_t MonotonicNs() const override;
  static const SystemClock& Instance();
};

// A clock that a test moves by hand.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(int64_t now_ns) : now_ns_(now_ns) {}
  int64_t NowNs() const override { return now_ns_; }
  int64_t MonotonicNs() const override { return monotonic_ns_; }
  // Simulates an administrator who sets the system's clock.
  void Set(int64_t now_ns) { now_ns_ = now_ns; }
  void Advance(int64_t ns) {
    now_ns_ += ns;
    monotonic_ns_ += ns;
  }

 private:
  int64_t now_ns_;
  int64_t monotonic_ns_ = 0;
};

// CLOCK_MONOTONIC in ns: for intervals and pacing, never for timestamps.
int64_t MonotonicNs();

// Returns the processor time of the calling thread, in ns. A system call of some 0.7 us.
int64_t ThreadProcessorNs();

// Convert between dates of the proleptic Gregorian calendar and days since 2000-01-01.
int32_t DaysFromCivil(int year, int month, int day);
struct Civil {
  int year;
  int month;
  int day;
};
Civil CivilFromDays(int32_t days);

// Returns the day, in days since 2000-01-01, of a time in ns. Rounds down: the last ns of 1999 is
// in day -1.
int32_t DayOf(int64_t ns);

// Formats a date as `2020.03.09`.
std::string FormatDate(int32_t days);
// Parses `2020.03.09`, `2020-03-09` or `20200309`; nullopt if the text is no date.
std::optional<int32_t> ParseDate(std::string_view text);

// Formats a time as `2020.03.09D15:30:00.123456789`.
std::string FormatTimestamp(int64_t ns);

}  // namespace tickstack
