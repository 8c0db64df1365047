#include "wire/event_loop.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <utility>

namespace tickstack::wire {

namespace asio = boost::asio;

struct EventLoop::Impl {
  asio::io_context context{1};  // One thread runs it, so Asio omits the locks of its run queue.
  // A loop without work waits; only Stop ends it.
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  asio::signal_set signals{context};
  std::function<void(int)> on_signal;

  void WaitForSignal() {
    signals.async_wait([this](const boost::system::error_code& error, int number) {
      if (error) return;
      WaitForSignal();
      on_signal(number);
    });
  }
};

EventLoop::EventLoop() : impl_(std::make_unique<Impl>()) {}
EventLoop::~EventLoop() = default;

void EventLoop::Run() { impl_->context.run(); }

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
  explicit Impl(asio::io_context& context) : timer(context) {}

  void Wait() {
    // The weak pointer lets a timer be destroyed inside its own callback.
    timer.async_wait(
        [weak = weak_from_this(), expected = generation](const boost::system::error_code& error) {
          const std::shared_ptr<Impl> self = weak.lock();
          if (error || self == nullptr || self->generation != expected) return;
          self->Fire();
        });
  }

  void Fire() {
    if (period.count() == 0) {
      const std::function<void()> once = std::exchange(function, nullptr);
      once();
      return;
    }
    const auto now = std::chrono::steady_clock::now();
    auto next = timer.expiry() + period;
    if (next <= now) next += (now - next) / period * period + period;
    timer.expires_at(next);
    Wait();
    const std::function<void()> call = function;  // A copy: the call may restart this timer.
    call();
  }

  asio::steady_timer timer;
  std::function<void()> function;
  std::chrono::nanoseconds period{0};
  uint64_t generation = 0;
};

Timer::Timer(EventLoop& loop) : impl_(std::make_shared<Impl>(loop.context())) {}
Timer::~Timer() { Cancel(); }

void Timer::Once(std::chrono::nanoseconds delay, std::function<void()> function) {
  Cancel();
  impl_->period = std::chrono::nanoseconds(0);
  impl_->function = std::move(function);
  impl_->timer.expires_after(delay);
  impl_->Wait();
}

void Timer::Every(std::chrono::nanoseconds period, std::function<void()> function,
                  std::optional<std::chrono::nanoseconds> first) {
  Cancel();
  impl_->period = period;
  impl_->function = std::move(function);
  impl_->timer.expires_after(first.value_or(period));
  impl_->Wait();
}

void Timer::Cancel() {
  ++impl_->generation;
  impl_->timer.cancel();
}

}  // namespace tickstack::wire
