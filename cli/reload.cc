#include "cli/reload.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <thread>
#include <utility>

#include "base/config.h"
#include "base/logging.h"
#include "base/status.h"

namespace tickstack::cli {
namespace {

// True if a running stack takes the key's new value.
bool TakesEffect(std::string_view key) {
  constexpr std::array<std::string_view, 2> kOfStack = {"stack.log_level", "stack.log_format"};
  constexpr std::array<std::string_view, 2> kOfQueries = {"query_timeout_s", "query_slow_ms"};
  if (key.starts_with("health.")) return true;
  if (std::ranges::find(kOfStack, key) != kOfStack.end()) return true;
  const size_t dot = key.find('.');
  if (!key.starts_with("rdb") && !key.starts_with("hdb")) return false;
  return dot != std::string_view::npos &&
         std::ranges::find(kOfQueries, key.substr(dot + 1)) != kOfQueries.end();
}

void LogChange(const std::string& key, std::string_view was, std::string_view is) {
  if (TakesEffect(key)) {
    LogInfo("configuration changed key={} was=\"{}\" is=\"{}\"", key, was, is);
  } else {
    LogWarn("configuration changed, needs a restart key={} was=\"{}\" is=\"{}\"", key, was, is);
  }
}

}  // namespace

absl::StatusOr<ConfigKeys> ConfigKeysOf(const std::string& path) {
  TS_ASSIGN_OR_RETURN(const Config file, Config::Load(path));
  return file.Values();
}

void LogConfigChanges(const ConfigKeys& was, const ConfigKeys& is) {
  for (const auto& [key, value] : is) {
    const auto before = was.find(key);
    if (before == was.end()) {
      LogChange(key, "", value);
    } else if (before->second != value) {
      LogChange(key, before->second, value);
    }
  }
  for (const auto& [key, value] : was) {
    if (!is.contains(key)) LogChange(key, value, "");
  }
}

void ReloadOnSighup(std::function<void()> reload) {
  if (isatty(STDERR_FILENO) == 1) return;
  sigset_t hang_up;
  sigemptyset(&hang_up);
  sigaddset(&hang_up, SIGHUP);
  signal(SIGHUP, SIG_DFL);  // A program such as nohup may have had it ignored.
  pthread_sigmask(SIG_BLOCK, &hang_up, nullptr);
  std::thread([hang_up, reload = std::move(reload)] {
    // Other signals are for the other threads.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    int number = 0;
    while (sigwait(&hang_up, &number) == 0) reload();
  }).detach();
}

}  // namespace tickstack::cli
