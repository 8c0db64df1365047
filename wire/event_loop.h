#pragma once

// The loop that owns a thread's connections and timers: Boost.Asio's io_context behind a small
// interface, so that only wire/ compiles Asio. Whatever is created on a loop is used on the thread
// that runs it; only Post and Stop may be called from other threads.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace boost::asio {
class io_context;
}

namespace tickstack::wire {

class EventLoop {
 public:
  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Runs handlers until Stop.
  void Run();
  // Runs handlers until `done()`, which is asked after each, returns true, or until Stop. With
  // `busy_poll` it never sleeps: it occupies a core and saves a wake-up, some 5 to 50 us per
  // message.
  void RunUntil(const std::function<bool()>& done, bool busy_poll);
  // Runs until `done()` returns true, Stop is called or `at_most` has passed. True if `done()` did.
  bool RunUntil(const std::function<bool()>& done, std::chrono::nanoseconds at_most);
  void Stop();                                // Any thread, including one that handles signals.
  void Post(std::function<void()> function);  // Any thread.
  // Calls `function(signal_number)` on the loop at each SIGINT and SIGTERM from now on.
  void OnStopSignal(std::function<void(int)> function);

  boost::asio::io_context& context();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A timer of a loop. Destroying or restarting it cancels a pending call; do so on the loop's
// thread.
class Timer {
 public:
  explicit Timer(EventLoop& loop);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Calls `function` once, `delay` from now.
  void Once(std::chrono::nanoseconds delay, std::function<void()> function);
  // Calls `function` at every multiple of `period` from now, or `first` from now and at multiples
  // of `period` after that. Missed calls are skipped: after a stall the next call comes at the next
  // multiple.
  void Every(std::chrono::nanoseconds period, std::function<void()> function,
             std::optional<std::chrono::nanoseconds> first = std::nullopt);
  void Cancel();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace tickstack::wire
