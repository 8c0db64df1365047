#pragma once

// One logger per process, on stderr. A line has a time (UTC), a level, the process and the event
// with its facts: `2020-03-09T14:30:00.123456 I rdb1 subscribed tickerplant=127.0.0.1:5010
// seq=48211`.
//
// Info tells a life: started with which flags, log opened at which seq, subscriber came and went,
// day ended. Warn is worth a look, error needs a person. Nothing per tick; what can repeat goes
// through a LogLimit. Threads: any. Cost: a lock and a write(2).

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/time.h"

namespace tickstack {

enum class LogLevel : int { kDebug, kInfo, kWarn, kError, kOff };

std::optional<LogLevel> ParseLogLevel(
    std::string_view text);  // `debug`, `info`, `warn`, `error`, `off`.

// Names the process, and sets from which level on lines are written if `level` says so. Before it,
// lines are named `tickstack`, from info on.
void InitLogging(std::string_view process, std::optional<LogLevel> level = std::nullopt);

namespace internal {
extern std::atomic<LogLevel> log_level;
// One line: control characters, which may come from outside, are written as `\x0a`.
void WriteLog(LogLevel level, std::string_view text);
}  // namespace internal

inline bool LogEnabled(LogLevel level) {
  return level >= internal::log_level.load(std::memory_order_relaxed);
}

#define TS_LOG_FUNCTION(Name, level)                                             \
  template <typename... Args>                                                    \
  void Name(fmt::format_string<Args...> format, Args&&... args) {                \
    if (!LogEnabled(level)) return;                                              \
    internal::WriteLog(level, fmt::format(format, std::forward<Args>(args)...)); \
  }
TS_LOG_FUNCTION(LogDebug, LogLevel::kDebug)
TS_LOG_FUNCTION(LogInfo, LogLevel::kInfo)
TS_LOG_FUNCTION(LogWarn, LogLevel::kWarn)
TS_LOG_FUNCTION(LogError, LogLevel::kError)
#undef TS_LOG_FUNCTION

// Lets one line through per interval, for what outsiders can repeat at will:
//   static LogLimit limit;
//   if (const auto withheld = limit.Pass()) LogWarn("upd refused host={} withheld={}", host,
//   *withheld);
// Threads: any.
class LogLimit {
 public:
  explicit LogLimit(int64_t interval_ns = kNsPerSecond) : interval_ns_(interval_ns) {}
  // How many were withheld since the last that passed, or nullopt: withhold this one too.
  std::optional<uint64_t> Pass(int64_t now_ns = MonotonicNs());

 private:
  const int64_t interval_ns_;
  std::atomic<int64_t> next_ns_{INT64_MIN};
  std::atomic<uint64_t> withheld_{0};
};

}  // namespace tickstack
