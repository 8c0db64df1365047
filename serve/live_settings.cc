#include "serve/live_settings.h"

#include <mutex>
#include <utility>

namespace tickstack::serve {
namespace {

// Never destroyed: a detached thread may still ask.
struct LiveHolder {
  std::mutex mutex;
  std::shared_ptr<const LiveSettings> settings;  // Guarded by mutex.
};
LiveHolder& TheLiveHolder() {
  static auto* const holder = new LiveHolder;
  return *holder;
}

}  // namespace

std::shared_ptr<const LiveSettings> CurrentLiveSettings() {
  LiveHolder& holder = TheLiveHolder();
  const std::lock_guard lock(holder.mutex);
  return holder.settings;
}

void SetLiveSettings(std::shared_ptr<const LiveSettings> settings) {
  LiveHolder& holder = TheLiveHolder();
  const std::lock_guard lock(holder.mutex);
  holder.settings = std::move(settings);
}

}  // namespace tickstack::serve
