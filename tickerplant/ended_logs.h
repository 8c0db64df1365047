#pragma once

// Closes the logs of ended days on a thread of its own. Each is synced first, whatever the fsync
// policy: feeds do not send rows of an ended day again, so a power cut must not shorten its log. A
// sync takes as long as the disk needs for what it does not have yet, and the rows of the new day
// do not wait for that.
//
// A log whose sync fails is reported by name and not synced again: the kernel regards the pages
// that it could not write as clean, so a second sync would succeed without having written them. Its
// state stays that of a log whose writer did not close it. So the first start after a reboot
// compares all of it with its index, and cuts off a tail that did not reach the disk.
//
// Threads: one owner.

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "tplog/tplog_writer.h"

namespace tickstack::tickerplant {

class EndedLogs {
 public:
  EndedLogs() = default;
  ~EndedLogs();  // Waits until all logs are closed.
  EndedLogs(const EndedLogs&) = delete;
  EndedLogs& operator=(const EndedLogs&) = delete;

  // Takes a log to which nobody appends any more. Does not wait for the disk.
  void Close(std::unique_ptr<tplog::TplogWriter> log);
  // Waits until all logs are closed.
  void Wait();
  bool is_idle();  // True if all logs are closed.

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_. The first one is being closed; it is removed when that is done.
  std::deque<std::unique_ptr<tplog::TplogWriter>> logs_;
  bool stop_ = false;   // Guarded by mutex_.
  std::thread thread_;  // Started by the first Close. Last: it uses everything above.
};

}  // namespace tickstack::tickerplant
