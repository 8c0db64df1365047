#include "wire/event_loop.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <utility>

#include "wire/socket_network.h"

namespace tickstack::wire {

namespace asio = boost::asio;

namespace {

// An alarm of the system's monotonic clock, which is std::chrono::steady_clock.
class SystemAlarm final : public Alarm {
 public:
  SystemAlarm(asio::io_context& context, std::function<void()> function)
      : state_(std::make_shared<State>(context, std::move(function))) {}
  ~SystemAlarm() override { Cancel(); }

  void Set(int64_t due_ns) override {
    state_->timer.expires_at(
        std::chrono::steady_clock::time_point(std::chrono::nanoseconds(due_ns)));
    // A call that is on its way when the alarm is set anew or destroyed is recognised and dropped.
    state_->timer.async_wait(
        [weak = std::weak_ptr<State>(state_), expected = ++state_->generation](const auto& error) {
          const std::shared_ptr<State> state = weak.lock();
          if (!error && state != nullptr && state->generation == expected) state->function();
        });
  }
  void Cancel() override {
    ++state_->generation;
    state_->timer.cancel();
  }

 private:
  struct State {
    State(asio::io_context& context, std::function<void()> call)
        : timer(context), function(std::move(call)) {}
    asio::steady_timer timer;
    const std::function<void()> function;
    uint64_t generation = 0;
  };
  std::shared_ptr<State> state_;
};

class SystemTime final : public TimeSource {
 public:
  explicit SystemTime(asio::io_context& context) : context_(context) {}
  const Clock& clock() const override { return SystemClock::Instance(); }
  std::unique_ptr<Alarm> MakeAlarm(std::function<void()> function) override {
    return std::make_unique<SystemAlarm>(context_, std::move(function));
  }

 private:
  asio::io_context& context_;
};

Surroundings* the_surroundings = nullptr;

}  // namespace

struct EventLoop::Impl {
  asio::io_context context{1};  // One thread runs it, so Asio omits the locks of its run queue.
  // A loop without work waits; only Stop ends it.
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  asio::signal_set signals{context};
  std::function<void(int)> on_signal;
  SystemTime system_time{context};

  void WaitForSignal() {
    signals.async_wait([this](const boost::system::error_code& error, int number) {
      if (error) return;
      WaitForSignal();
      on_signal(number);
    });
  }
};

EventLoop::EventLoop()
    : impl_(std::make_unique<Impl>()),
      time_(&impl_->system_time),
      network_(&SocketNetwork::Instance()) {
  if (the_surroundings == nullptr) return;
  own_time_ = the_surroundings->MakeTime(*this);
  if (own_time_ == nullptr) return;
  time_ = own_time_.get();
  network_ = &the_surroundings->NetworkOf(*this);
}
EventLoop::EventLoop(TimeSource& time, Network& network)
    : impl_(std::make_unique<Impl>()), time_(&time), network_(&network) {}
EventLoop::~EventLoop() = default;

void EventLoop::SetSurroundings(Surroundings* surroundings) { the_surroundings = surroundings; }

void EventLoop::Run() { impl_->context.run(); }

bool EventLoop::RunReady() { return impl_->context.poll_one() > 0; }

void EventLoop::RunUntil(const std::function<bool()>& done, bool busy_poll) {
  while (!done() && !impl_->context.stopped()) {
    if (busy_poll) {
      impl_->context.poll();
    } else {
      impl_->context.run_one();
    }
  }
}

bool EventLoop::RunUntil(const std::function<bool()>& done, std::chrono::nanoseconds at_most) {
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  while (!done()) {
    if (impl_->context.stopped()) return false;
    if (impl_->context.run_one_until(deadline) == 0) return done();
  }
  return true;
}

void EventLoop::Stop() { impl_->context.stop(); }

void EventLoop::Post(std::function<void()> function) {
  asio::post(impl_->context, std::move(function));
}

void EventLoop::OnStopSignal(std::function<void(int)> function) {
  impl_->on_signal = std::move(function);
  impl_->signals.add(SIGINT);
  impl_->signals.add(SIGTERM);
  impl_->WaitForSignal();
}

boost::asio::io_context& EventLoop::context() { return impl_->context; }

struct Timer::Impl : std::enable_shared_from_this<Timer::Impl> {
  explicit Impl(const Clock& time) : clock(time) {}

  void Set(int64_t at_ns) {
    due_ns = at_ns;
    alarm->Set(due_ns);
  }

  void Fire() {
    if (period_ns == 0) {
      const std::function<void()> once = std::exchange(function, nullptr);
      once();
      return;
    }
    const int64_t now_ns = clock.MonotonicNs();
    int64_t next_ns = due_ns + period_ns;
    if (next_ns <= now_ns) next_ns += ((now_ns - next_ns) / period_ns + 1) * period_ns;
    Set(next_ns);
    const std::function<void()> call = function;  // A copy: the call may restart this timer.
    call();
  }

  const Clock& clock;
  std::unique_ptr<Alarm> alarm;
  std::function<void()> function;
  int64_t period_ns = 0;
  int64_t due_ns = 0;
};

Timer::Timer(EventLoop& loop) : impl_(std::make_shared<Impl>(loop.clock())) {
  // The weak pointer lets a timer be destroyed inside its own callback.
  impl_->alarm = loop.time().MakeAlarm([weak = std::weak_ptr<Impl>(impl_)] {
    if (const std::shared_ptr<Impl> self = weak.lock()) self->Fire();
  });
}

Timer::~Timer() { Cancel(); }

void Timer::Once(std::chrono::nanoseconds delay, std::function<void()> function) {
  impl_->period_ns = 0;
  impl_->function = std::move(function);
  impl_->Set(impl_->clock.MonotonicNs() + delay.count());
}

void Timer::Every(std::chrono::nanoseconds period, std::function<void()> function,
                  std::optional<std::chrono::nanoseconds> first) {
  impl_->period_ns = period.count();
  impl_->function = std::move(function);
  impl_->Set(impl_->clock.MonotonicNs() + first.value_or(period).count());
}

void Timer::Cancel() { impl_->alarm->Cancel(); }

}  // namespace tickstack::wire
