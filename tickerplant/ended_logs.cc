#include "tickerplant/ended_logs.h"

#include <utility>

#include "base/logging.h"
#include "base/status.h"

namespace tickstack::tickerplant {

EndedLogs::~EndedLogs() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void EndedLogs::Close(std::unique_ptr<tplog::TplogWriter> log) {
  {
    const std::lock_guard lock(mutex_);
    logs_.push_back(std::move(log));
  }
  changed_.notify_all();
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
}

void EndedLogs::Wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return logs_.empty(); });
}

bool EndedLogs::is_idle() {
  const std::lock_guard lock(mutex_);
  return logs_.empty();
}

void EndedLogs::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || !logs_.empty(); });
    if (logs_.empty()) return;
    tplog::TplogWriter& log = *logs_.front();
    lock.unlock();
    if (const absl::Status closed = log.CloseDurably(); closed.ok()) {
      LogInfo("log of an ended day is durable path={}", log.path());
    } else {
      LogError(
          "log of an ended day may not be durable: a power cut could shorten it path={} "
          "error=\"{}\"",
          log.path(), Message(closed));
    }
    lock.lock();
    logs_.pop_front();
    changed_.notify_all();
  }
}

}  // namespace tickstack::tickerplant
