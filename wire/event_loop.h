#pragma once

// The loop that owns a thread's connections and timers: Boost.Asio's io_context behind a small
// interface, so that only wire/ compiles Asio. Objects that are created on a loop are used on the
// thread that runs it; only Post and Stop may be called from other threads.
//
// Code that runs on a loop takes its time, timers and connections from the loop, so that a test can
// replace them: see wire/simulation.h.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/time.h"

namespace boost::asio {
class io_context;
}

namespace tickstack::wire {

class Network;

// Calls a function when it is due; made by a TimeSource. Destroying it cancels. Threads: the
// loop's.
class Alarm {
 public:
  virtual ~Alarm() = default;
  // Calls the function once, at `due_ns` of the clock's MonotonicNs; forgets an earlier due time.
  virtual void Set(int64_t due_ns) = 0;
  virtual void Cancel() = 0;
};

// The time of a loop.
class TimeSource {
 public:
  virtual ~TimeSource() = default;
  virtual const Clock& clock() const = 0;
  // The function may destroy the alarm.
  virtual std::unique_ptr<Alarm> MakeAlarm(std::function<void()> function) = 0;
};

class EventLoop;

// Gives loops their time and network, in place of the system's, in a simulation of whole processes
// with loops of their own threads.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  // nullptr: the loop gets the system's time and network.
  virtual std::unique_ptr<TimeSource> MakeTime(EventLoop& loop) = 0;
  virtual Network& NetworkOf(EventLoop& loop) = 0;
};

class EventLoop {
 public:
  EventLoop();  // The system's time and sockets, or those of the surroundings.
  // `time` and `network` must outlive the loop.
  EventLoop(TimeSource& time, Network& network);
  ~EventLoop();
  // Sets the surroundings of loops that are made from now on without time and network; nullptr:
  // there are none. They must outlive these loops. Call it before there are other threads.
  static void SetSurroundings(Surroundings* surroundings);
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Runs handlers until Stop.
  void Run();
  // Runs one handler that is ready, without waiting. False if there is none.
  bool RunReady();
  // Runs handlers until `done()`, which is asked after each, returns true, or until Stop. With
  // `busy_poll` it never sleeps: it occupies a core and saves a wake-up, some 5 to 50 us per
  // message.
  void RunUntil(const std::function<bool()>& done, bool busy_poll);
  // Runs until `done()` returns true, Stop is called or `at_most` has passed on the system's clock.
  // True if `done()` did.
  bool RunUntil(const std::function<bool()>& done, std::chrono::nanoseconds at_most);
  void Stop();                                // Any thread, including one that handles signals.
  void Post(std::function<void()> function);  // Any thread.
  // Calls `function(signal_number)` on the loop at each SIGINT and SIGTERM from now on.
  void OnStopSignal(std::function<void(int)> function);

  const Clock& clock() const { return time_->clock(); }
  TimeSource& time() { return *time_; }
  Network& network() { return *network_; }
  boost::asio::io_context& context();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::unique_ptr<TimeSource> own_time_;  // That of the surroundings, if there are any.
  TimeSource* time_;
  Network* network_;
};

// A timer of a loop. Destroying or restarting it cancels a pending call. Threads: the loop's.
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
