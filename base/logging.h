#pragma once

// One logger per process, on stderr. A line has a time (UTC), a level, the process and the event
// with its values: `2020-03-09T14:30:00.123456 I rdb1 subscribed tickerplant=127.0.0.1:5010
// seq=48211`. Or it is a JSON object (base/log_line.h).
//
// Info covers the life of a process: its flags at start, the log that it opened and the sequence
// number there, subscribers that connect and disconnect, the end of a day. A warning is worth a
// look, and an error needs a person. Nothing is logged per tick, and events that can repeat use a
// LogLimit. Threads: any. Cost: a lock and a write(2).

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.h"

namespace tickstack {

enum class LogLevel : int { kDebug, kInfo, kWarn, kError, kOff };

enum class LogFormat : int { kText, kJson };

std::optional<LogLevel> ParseLogLevel(
    std::string_view text);  // `debug`, `info`, `warn`, `error`, `off`.

// Sets the process's name in log lines and, if given, the lowest level that is written. Before this
// call, the name is `tickstack` and the level info.
void InitLogging(std::string_view process, std::optional<LogLevel> level = std::nullopt);

// Sets the format of all lines from now on. Before this call, it is text.
void SetLogFormat(LogFormat format);
LogFormat CurrentLogFormat();

namespace internal {
extern std::atomic<LogLevel> log_level;
// Writes one line, whatever the level is. Control characters, which may come from outside, are
// written as `\x0a`.
void WriteLog(LogLevel level, fmt::string_view format, fmt::format_args args);
}  // namespace internal

inline bool LogEnabled(LogLevel level) {
  return level >= internal::log_level.load(std::memory_order_relaxed);
}

#define TS_LOG_FUNCTION(Name, level)                                   \
  template <typename... Args>                                          \
  void Name(fmt::format_string<Args...> format, Args&&... args) {      \
    if (!LogEnabled(level)) return;                                    \
    internal::WriteLog(level, format, fmt::make_format_args(args...)); \
  }
TS_LOG_FUNCTION(LogDebug, LogLevel::kDebug)
TS_LOG_FUNCTION(LogInfo, LogLevel::kInfo)
TS_LOG_FUNCTION(LogWarn, LogLevel::kWarn)
TS_LOG_FUNCTION(LogError, LogLevel::kError)
#undef TS_LOG_FUNCTION

// Limits lines that outsiders can cause at will to one per interval:
//   static LogLimit limit;
//   if (const auto withheld = limit.Pass()) {
//     LogWarn("refused host={} withheld={}", host, *withheld);
//   }
// Threads: any.
class LogLimit {
 public:
  explicit LogLimit(int64_t interval_ns = kNsPerSecond) : interval_ns_(interval_ns) {}
  // Returns the number of lines withheld since the last one that was written; nullopt if the caller
  // must withhold this line, too.
  std::optional<uint64_t> Pass(int64_t now_ns = MonotonicNs());

 private:
  const int64_t interval_ns_;
  std::atomic<int64_t> next_ns_{INT64_MIN};
  std::atomic<uint64_t> withheld_{0};
};

}  // namespace tickstack
