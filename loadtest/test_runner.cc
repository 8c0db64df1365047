#include "loadtest/test_runner.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "base/status.h"
#include "base/time.h"
#include "loadtest/bare_relay.h"
#include "loadtest/live_stack.h"

namespace tickstack::loadtest {
namespace {

using namespace std::chrono_literals;

constexpr int64_t kLookNs = kNsPerSecond;  // Interval between two full polls of a running stack.
constexpr auto kPause = 50ms;              // Interval at which the end of a feed is polled.
// Time that the rdbs have after the end of the feed.
constexpr int64_t kDrainNs = 30 * kNsPerSecond;
constexpr int64_t kLiveNs = 120 * kNsPerSecond;  // Time for all processes to subscribe.

double Seconds(int64_t ns) { return static_cast<double>(ns) / static_cast<double>(kNsPerSecond); }

class TestRun {
 public:
  TestRun(const TestSpec& spec, const RunContext& context) : spec_(spec), context_(context) {}

  TestResult Run() {
    TestResult result;
    result.spec = spec_;
    absl::Status status = Start();
    if (status.ok()) status = Load();
    if (status.ok()) status = WaitUntilLive();
    if (status.ok()) status = EachStack([](LiveStack& stack) { return stack.TakeShares(); });
    if (status.ok()) status = StartRelay();
    if (status.ok()) status = Begin();
    result.begin_ns = begin_wall_ns_;
    if (status.ok()) status = Watch();
    if (relay_ != nullptr) result.relay = relay_->Stop();
    relay_.reset();
    if (status.ok()) status = EndClients();
    if (status.ok()) status = PollAll();
    const absl::Status stopped = Stop();
    if (status.ok()) status = stopped;
    if (begin_wall_ns_ > 0) CollectMonitors(status);
    if (status.ok() && !context_.is_probe) status = CountLogs();
    for (LiveStack& stack : stacks_) stack.FillRows();
    if (status.ok()) status = Compare();
    result.failure = status.ok() ? "" : std::string(Message(status));
    for (LiveStack& stack : stacks_) {
      stack.FillRates();
      result.seconds = std::max(result.seconds, stack.seconds());
      if (!status.ok() && stack.result().failure.empty()) {
        stack.result().failure = "stopped because another stack failed";
      }
      result.stacks.push_back(std::move(stack.result()));
    }
    return result;
  }

 private:
  bool interrupted() const { return context_.interrupted != nullptr && *context_.interrupted; }

  // Calls step(stack) for each stack until one fails.
  absl::Status EachStack(const std::function<absl::Status(LiveStack&)>& step) {
    for (LiveStack& stack : stacks_) {
      if (interrupted()) return absl::CancelledError("interrupted");
      if (absl::Status status = step(stack); !status.ok()) return stack.Failed(std::move(status));
    }
    return absl::OkStatus();
  }

  // Repeats until `done` returns true for every stack.
  absl::Status Until(int64_t at_most_ns, std::string_view what,
                     const std::function<absl::StatusOr<bool>(LiveStack&)>& done) {
    const int64_t begin_ns = MonotonicNs();
    while (true) {
      bool all = true;
      const absl::Status each = EachStack([&](LiveStack& stack) -> absl::Status {
        TS_ASSIGN_OR_RETURN(const bool is_done, done(stack));
        all = all && is_done;
        return absl::OkStatus();
      });
      TS_RETURN_IF_ERROR(each);
      if (all) return absl::OkStatus();
      if (MonotonicNs() - begin_ns > at_most_ns) {
        return Unavailable("stacks not {} within {:.0f} s; see their logs in the work directory",
                           what, Seconds(at_most_ns));
      }
      std::this_thread::sleep_for(kPause);
    }
  }

  absl::Status Start() {
    for (const StackSpec& spec : spec_.stacks) stacks_.emplace_back(spec, spec_, context_);
    return EachStack([](LiveStack& stack) { return stack.Start(); });
  }

  // Waits until all processes of all stacks answer, which means that the rdbs have their
  // prestress.
  absl::Status Load() {
    const int64_t begin_ns = MonotonicNs();
    return Until(INT64_MAX, "loaded", [&](LiveStack& stack) {
      absl::StatusOr<bool> loaded = stack.IsLoaded(Seconds(MonotonicNs() - begin_ns));
      if (loaded.ok()) Show();
      return loaded;
    });
  }

  absl::Status WaitUntilLive() {
    return Until(kLiveNs, "subscribed", [](LiveStack& stack) { return stack.IsLive(); });
  }

  absl::Status StartRelay() {
    if (spec_.search) return absl::OkStatus();
    TS_ASSIGN_OR_RETURN(relay_, BareRelay::Start(context_.work + "/bare_relay"));
    return absl::OkStatus();
  }

  absl::Status Begin() {
    TS_RETURN_IF_ERROR(EachStack([](LiveStack& stack) { return stack.BeginMonitors(); }));
    begin_wall_ns_ = SystemClock::Instance().NowNs();
    begin_ns_ = MonotonicNs();
    return EachStack([this](LiveStack& stack) { return stack.StartFeeds(begin_ns_); });
  }

  // Waits until every feed is done and every rdb has all of its rows, or a deadline passes.
  absl::Status Watch() {
    const double slack_s =
        context_.is_probe ? 0.25 * spec_.profile.seconds + 2 : spec_.profile.seconds + 120;
    const int64_t late_ns =
        begin_ns_ + static_cast<int64_t>((spec_.profile.seconds + slack_s) * 1e9);
    int64_t look_ns = 0, done_ns = 0;
    bool warm = spec_.warm_up_s == 0;
    while (true) {
      const int64_t now_ns = MonotonicNs();
      const bool look = now_ns >= look_ns;
      const bool near_end = Seconds(now_ns - begin_ns_) > spec_.profile.seconds - 0.2;
      if (look) look_ns = now_ns + kLookNs;
      if (look || near_end) {
        TS_RETURN_IF_ERROR(EachStack([&](LiveStack& stack) { return stack.Poll(look); }));
      }
      if (look) Show();
      if (interrupted()) return absl::CancelledError("interrupted");
      if (!warm && Seconds(now_ns - begin_ns_) >= spec_.warm_up_s) {
        warm = true;
        TS_RETURN_IF_ERROR(EachStack([](LiveStack& stack) { return stack.ResetMeasurements(); }));
      }
      const bool done = std::all_of(stacks_.begin(), stacks_.end(),
                                    [](const LiveStack& stack) { return stack.feed_done(); });
      if (done && done_ns == 0) done_ns = now_ns;
      const bool captured =
          done && std::all_of(stacks_.begin(), stacks_.end(),
                              [](const LiveStack& stack) { return stack.is_captured(); });
      // The comparison reports missing rows: do not wait for them any longer.
      if (captured || (done && now_ns > done_ns + kDrainNs)) return absl::OkStatus();
      if (!done && now_ns > late_ns) return Late();
      std::this_thread::sleep_for(kPause);
    }
  }

  absl::Status Late() {
    const auto late = std::find_if(stacks_.begin(), stacks_.end(),
                                   [](const LiveStack& stack) { return !stack.feed_done(); });
    return late == stacks_.end() ? absl::OkStatus() : late->Late();
  }

  // Waits for pending answers within a bound. A question without an answer by then counts with
  // the time that it has waited.
  absl::Status EndClients() {
    if (spec_.queries.file.empty()) return absl::OkStatus();
    TS_RETURN_IF_ERROR(EachStack([](LiveStack& stack) { return stack.EndClients(); }));
    const int64_t give_up_ns = MonotonicNs() + kDrainNs;
    bool idle = false;
    while (!idle && MonotonicNs() < give_up_ns) {
      idle = true;
      TS_RETURN_IF_ERROR(EachStack([&idle](LiveStack& stack) -> absl::Status {
        TS_ASSIGN_OR_RETURN(const bool are_idle, stack.AreClientsIdle());
        idle = idle && are_idle;
        return absl::OkStatus();
      }));
      if (!idle) std::this_thread::sleep_for(kPause);
    }
    return absl::OkStatus();
  }

  absl::Status PollAll() {
    return EachStack([](LiveStack& stack) { return stack.PollAll(); });
  }

  absl::Status Stop() {
    if (context_.progress != nullptr) context_.progress->EndLive();
    for (LiveStack& stack : stacks_) stack.Stop();
    absl::Status all;
    for (LiveStack& stack : stacks_) {
      const absl::Status stopped = stack.Wait();
      if (all.ok()) all = stopped;
    }
    return all;
  }

  // Also runs for a failed test, and collects as much as there is.
  void CollectMonitors(absl::Status& status) {
    for (LiveStack& stack : stacks_) {
      absl::Status read = stack.CollectMonitors(begin_wall_ns_);
      if (!read.ok() && status.ok()) status = stack.Failed(std::move(read));
    }
  }

  absl::Status CountLogs() {
    if (context_.progress != nullptr) context_.progress->Note("  reading the logs");
    return EachStack([](LiveStack& stack) { return stack.CountLog(); });
  }

  // Checks that the rows offered, logged and captured are equal, and the same in all stacks.
  absl::Status Compare() {
    absl::Status all;
    for (LiveStack& stack : stacks_) {
      const absl::Status compared = stack.CompareRows();
      if (all.ok()) all = compared;
    }
    TS_RETURN_IF_ERROR(all);
    for (LiveStack& stack : stacks_) {
      TS_RETURN_IF_ERROR(stack.CompareSums(stacks_.front().result()));
    }
    return absl::OkStatus();
  }

  void Show() {
    if (context_.progress == nullptr) return;
    std::vector<std::string> lines;
    for (const LiveStack& stack : stacks_) lines.push_back(stack.line());
    context_.progress->Show(lines);
  }

  const TestSpec& spec_;
  const RunContext& context_;
  std::vector<LiveStack> stacks_;
  std::unique_ptr<BareRelay> relay_;
  int64_t begin_ns_ = 0;       // Monotonic; 0: not started.
  int64_t begin_wall_ns_ = 0;  // The same moment on the clock of the rows' times.
};

}  // namespace

TestResult RunTest(const TestSpec& spec, const RunContext& context) {
  return TestRun(spec, context).Run();
}

}  // namespace tickstack::loadtest
