#include "base/logging.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <memory>
#include <mutex>
#include <string>

#include "base/log_line.h"

namespace tickstack {
namespace {

struct LevelName {
  LogLevel level;
  std::string_view name;
  spdlog::level::level_enum spdlog_level;
};
constexpr std::array kLevels = {
    LevelName{LogLevel::kDebug, "debug", spdlog::level::debug},
    LevelName{LogLevel::kInfo, "info", spdlog::level::info},
    LevelName{LogLevel::kWarn, "warn", spdlog::level::warn},
    LevelName{LogLevel::kError, "error", spdlog::level::err},
    LevelName{LogLevel::kOff, "off", spdlog::level::off},
};

std::shared_ptr<spdlog::logger> MakeLogger(std::string_view process, LogFormat format) {
  auto logger = std::make_shared<spdlog::logger>(std::string(process),
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_level(spdlog::level::trace);  // log_level is checked before.
  logger->set_pattern(format == LogFormat::kJson ? "%v" : "%Y-%m-%dT%H:%M:%S.%f %L %n %v",
                      spdlog::pattern_time_type::utc);
  logger->flush_on(spdlog::level::trace);
  return logger;
}

// Never destroyed: a detached thread or a static destructor may still log.
struct Holder {
  std::mutex mutex;
  LogFormat format = LogFormat::kText;                                       // Guarded by mutex.
  std::shared_ptr<spdlog::logger> logger = MakeLogger("tickstack", format);  // Guarded by mutex.
};
Holder& LoggerHolder() {
  static Holder* const holder = new Holder;
  return *holder;
}

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

std::string OneLine(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  for (const char c : text) {
    if (IsControl(c)) {
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      line += c;
    }
  }
  return line;
}

}  // namespace

namespace internal {

std::atomic<LogLevel> log_level{LogLevel::kInfo};

void WriteLog(LogLevel level, fmt::string_view format, fmt::format_args args) {
  std::shared_ptr<spdlog::logger> logger;
  LogFormat line_format{};
  {
    Holder& holder = LoggerHolder();
    const std::lock_guard lock(holder.mutex);
    logger = holder.logger;
    line_format = holder.format;
  }
  const LevelName& known = kLevels[static_cast<size_t>(level)];
  const std::string line = line_format == LogFormat::kJson
                               ? JsonLogLine({SystemClock::Instance().NowNs() + kUnixNsOfKdbEpoch,
                                              known.name, logger->name()},
                                             {format.data(), format.size()}, args)
                               : OneLine(fmt::vformat(format, args));
  // Does not use spdlog's own formatting, since the text may contain braces from outside.
  logger->log(known.spdlog_level, "{}", line);
}

}  // namespace internal

std::optional<LogLevel> ParseLogLevel(std::string_view text) {
  for (const LevelName& known : kLevels) {
    if (known.name == text) return known.level;
  }
  return std::nullopt;
}

void InitLogging(std::string_view process, std::optional<LogLevel> level) {
  Holder& holder = LoggerHolder();
  const std::lock_guard lock(holder.mutex);
  holder.logger = MakeLogger(process, holder.format);
  if (level) internal::log_level.store(*level, std::memory_order_relaxed);
}

void SetLogFormat(LogFormat format) {
  Holder& holder = LoggerHolder();
  const std::lock_guard lock(holder.mutex);
  holder.format = format;
  holder.logger = MakeLogger(holder.logger->name(), format);
}

LogFormat CurrentLogFormat() {
  Holder& holder = LoggerHolder();
  const std::lock_guard lock(holder.mutex);
  return holder.format;
}

std::optional<uint64_t> LogLimit::Pass(int64_t now_ns) {
  int64_t next = next_ns_.load(std::memory_order_relaxed);
  if (now_ns < next ||
      !next_ns_.compare_exchange_strong(next, now_ns + interval_ns_, std::memory_order_relaxed)) {
    withheld_.fetch_add(1, std::memory_order_relaxed);
    return std::nullopt;
  }
  return withheld_.exchange(0, std::memory_order_relaxed);
}

}  // namespace tickstack
