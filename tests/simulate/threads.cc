#include "tests/simulate/threads.h"

#include <semaphore.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "tests/simulate/system_calls.h"
#include "tests/simulate/world.h"

namespace tickstack::simulate {

struct Threads::Waiter {
  pthread_cond_t* condition;  // nullptr: none.
  int64_t deadline_ns;
  const Process* process;
  bool woken = false;
};

struct Threads::Thread {
  explicit Thread(Threads& of) : threads(of) { sem_init(&turn, 0, 0); }
  ~Thread() { sem_destroy(&turn); }

  Threads& threads;
  pthread_t handle{};
  sem_t turn;
  void* (*function)(void*) = nullptr;
  void* argument = nullptr;
  void* result = nullptr;
  Process* process = nullptr;
  const std::function<bool()>* blocked = nullptr;  // nullptr, or it can run once this holds.
  bool ended = false;
};

namespace {

constexpr int64_t kBuriedTurnNs = 10'000;  // Processor time of a turn, while a process is buried.

// The running thread; nullptr: the world's own.
thread_local void* running_thread = nullptr;

void Take(sem_t* semaphore) {
  while (sem_wait(semaphore) != 0) TS_CHECK(errno == EINTR);
}

sem_t* WorldsTurn() {
  static sem_t turn;
  static const bool made = sem_init(&turn, 0, 0) == 0;
  TS_CHECK(made);
  return &turn;
}

}  // namespace

Threads::Threads(World& world) : world_(world) {}
Threads::~Threads() = default;

void* Threads::Main(void* argument) {
  auto* const thread = static_cast<Thread*>(argument);
  running_thread = thread;
  Take(&thread->turn);
  thread->result = thread->function(thread->argument);
  thread->ended = true;
  sem_post(WorldsTurn());
  return nullptr;
}

int Threads::Create(pthread_t* handle, const pthread_attr_t* attributes, void* (*function)(void*),
                    void* argument) {
  auto thread = std::make_unique<Thread>(*this);
  thread->function = function;
  thread->argument = argument;
  thread->process = world_.current();
  const int error = real::CreateThread(&thread->handle, attributes, &Threads::Main, thread.get());
  if (error != 0) return error;
  // Not the real one, which may be reused as soon as the thread has ended.
  *handle = reinterpret_cast<pthread_t>(thread.get());
  threads_.push_back(std::move(thread));
  return 0;
}

bool Threads::CanRun(const Thread& thread) const {
  return !thread.ended && (thread.blocked == nullptr || (*thread.blocked)());
}

void Threads::Switch(Thread& thread) {
  Process* const before = world_.current();
  world_.set_current(thread.process);
  sem_post(&thread.turn);
  Take(WorldsTurn());
  world_.set_current(before);
  // An ended thread frees its memory while it exits: waits for that, because the order in which
  // memory is reused is a part of the life.
  if (thread.ended) real::JoinThread(thread.handle);
}

bool Threads::RunOne(bool even_stalled) {
  return RunOneOf([even_stalled](const Thread& thread) {
    return even_stalled || !thread.process->is_stalled();
  });
}

bool Threads::RunOneOf(const std::function<bool(const Thread&)>& may_run) {
  TS_CHECK(running_thread == nullptr);
  std::vector<Thread*> ready;
  for (const std::unique_ptr<Thread>& thread : threads_) {
    if (may_run(*thread) && CanRun(*thread)) ready.push_back(thread.get());
  }
  if (ready.empty()) return false;
  Switch(*ready[world_.random().Below(ready.size())]);
  return true;
}

int64_t Threads::NextDeadlineNs() const {
  int64_t next_ns = INT64_MAX;
  const Process* const buried = world_.buried();
  for (const Waiter* const waiter : waiters_) {
    if (buried != nullptr && waiter->process != buried) continue;
    if (waiter->deadline_ns > world_.MonotonicNs())
      next_ns = std::min(next_ns, waiter->deadline_ns);
  }
  return next_ns;
}

void Threads::Yield() {
  sem_post(WorldsTurn());
  Take(&static_cast<Thread*>(running_thread)->turn);
}

void Threads::MaybeYield() {
  if (running_thread != nullptr && world_.random().OneIn(2)) Yield();
}

bool Threads::IsCaller() { return running_thread != nullptr; }

void Threads::Sleep(int64_t ns) {
  const int64_t until_ns = world_.MonotonicNs() + ns;
  if (running_thread == nullptr) return world_.AdvanceTo(until_ns);
  Waiter waiter{nullptr, until_ns, world_.current()};
  waiters_.push_back(&waiter);
  BlockUntil([&] { return world_.MonotonicNs() >= until_ns; });
  std::erase(waiters_, &waiter);
}

void Threads::BlockUntil(const std::function<bool()>& done) {
  if (auto* const self = static_cast<Thread*>(running_thread); self != nullptr) {
    self->blocked = &done;
    while (!done()) Yield();
    self->blocked = nullptr;
    return;
  }
  while (!done()) RunOneOrWait();
}

// For the world's thread, which waits for another one. A process that is being buried has a time of
// its own, in which only its threads run.
void Threads::RunOneOrWait() {
  const Process* const buried = world_.buried();
  if (buried == nullptr) {
    if (RunOne(true)) return;
  } else if (RunOneOf([buried](const Thread& thread) { return thread.process == buried; })) {
    return world_.AdvanceTo(world_.MonotonicNs() + kBuriedTurnNs);
  }
  const int64_t next_ns = NextDeadlineNs();
  TS_CHECK(next_ns != INT64_MAX);  // A deadlock.
  world_.AdvanceTo(next_ns);
}

bool Threads::Join(pthread_t handle, void** result) {
  const auto found = std::ranges::find_if(threads_, [&](const std::unique_ptr<Thread>& thread) {
    return reinterpret_cast<pthread_t>(thread.get()) == handle;
  });
  if (found == threads_.end()) return false;
  Thread* const thread = found->get();
  BlockUntil([thread] { return thread->ended; });
  if (result != nullptr) *result = thread->result;
  std::erase_if(threads_, [thread](const auto& each) { return each.get() == thread; });
  return true;
}

int Threads::Lock(pthread_mutex_t* mutex) {
  while (true) {
    const int error = real::TryLock(mutex);
    if (error != EBUSY) return error;
    if (running_thread != nullptr) {
      Yield();
    } else {
      RunOneOrWait();
    }
  }
}

int Threads::Wait(pthread_cond_t* condition, pthread_mutex_t* mutex, int64_t deadline_ns) {
  Waiter waiter{condition, deadline_ns, world_.current()};
  waiters_.push_back(&waiter);
  real::Unlock(mutex);
  BlockUntil([&] { return waiter.woken || world_.MonotonicNs() >= deadline_ns; });
  std::erase(waiters_, &waiter);
  const int error = Lock(mutex);
  if (error != 0) return error;
  return waiter.woken ? 0 : ETIMEDOUT;
}

void Threads::WaitForEvents(int epoll_fd, int64_t deadline_ns) {
  Waiter waiter{nullptr, deadline_ns, world_.current()};
  waiters_.push_back(&waiter);
  BlockUntil(
      [&] { return with_events_.contains(epoll_fd) || world_.MonotonicNs() >= deadline_ns; });
  std::erase(waiters_, &waiter);
  with_events_.erase(epoll_fd);
}

void Threads::Wake(pthread_cond_t* condition, bool all) {
  std::vector<Waiter*> waiting;
  for (Waiter* const waiter : waiters_) {
    if (waiter->condition == condition && !waiter->woken) waiting.push_back(waiter);
  }
  if (waiting.empty()) return;
  if (!all) waiting = {waiting[world_.random().Below(waiting.size())]};
  for (Waiter* const waiter : waiting) waiter->woken = true;
}

}  // namespace tickstack::simulate
