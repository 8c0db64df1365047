#pragma once

// Threads that simulated processes start. They are real threads, of which at most one runs, and
// only while the world's own thread waits for it. Another one gets its turn when the running one
// waits for a condition, a mutex, another thread or the events of its loop, and sometimes when it
// changes a file or its loop goes on. The world's seed determines the order. Time limits are in
// simulated time.

#include <pthread.h>

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <set>
#include <vector>

namespace tickstack::simulate {

class Process;
class World;

class Threads {
 public:
  explicit Threads(World& world);
  ~Threads();

  // Lets one runnable thread run until it waits. False if there is none. Threads of stalled
  // processes run only with `even_stalled`, for a caller that waits for a thread.
  bool RunOne(bool even_stalled = false);
  int64_t NextDeadlineNs() const;  // INT64_MAX: no thread waits for a time.
  // If a simulated thread calls it, lets other threads run, at random.
  void MaybeYield();
  static bool IsCaller();  // True if a simulated thread calls it, not the world's.
  // Sleeps in simulated time. If a simulated thread calls it, others run meanwhile.
  void Sleep(int64_t ns);

  // ---- For system_calls.cc. Each may be called by the world's thread as well, inside of an event.
  int Create(pthread_t* handle, const pthread_attr_t* attributes, void* (*function)(void*),
             void* argument);
  // Returns false if `handle` is not a simulated thread.
  bool Join(pthread_t handle, void** result);
  int Lock(pthread_mutex_t* mutex);
  // Returns 0, or ETIMEDOUT once the monotonic time is `deadline_ns`.
  int Wait(pthread_cond_t* condition, pthread_mutex_t* mutex, int64_t deadline_ns);
  void Wake(pthread_cond_t* condition, bool all);
  // Waits until NoteEvents was called for the epoll descriptor, or the monotonic time is
  // `deadline_ns`. Threads post to the loops of others; connections and alarms do so as well.
  void WaitForEvents(int epoll_fd, int64_t deadline_ns);
  void NoteEvents(int epoll_fd) { with_events_.insert(epoll_fd); }

 private:
  struct Thread;
  struct Waiter;
  static void* Main(void* thread);
  void Switch(Thread& thread);
  void Yield();
  void BlockUntil(const std::function<bool()>& done);
  void RunOneOrWait();
  bool CanRun(const Thread& thread) const;
  bool RunOneOf(const std::function<bool(const Thread&)>& may_run);

  World& world_;
  std::vector<std::unique_ptr<Thread>> threads_;  // In order of creation.
  std::list<Waiter*> waiters_;                    // In the order in which they began to wait.
  std::set<int> with_events_;                     // Epoll descriptors.
};

}  // namespace tickstack::simulate
