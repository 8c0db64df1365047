#include "cli/top_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/printable.h"
#include "base/status.h"
#include "base/time.h"
#include "wire/event_loop.h"
#include "wire/protocol.h"

namespace tickstack::cli {
namespace {

// A function, or the value of a name, that processes of a role are asked for.
struct Question {
  std::string_view role;
  std::string_view name;
  std::string_view source;  // Under which the answer is kept.
  bool is_function = true;
  bool names_role = false;  // True: only processes of this role have it.

  std::string Text() const { return fmt::format("{}{}", name, is_function ? "[]" : ""); }
};

// `.tier.stats` is kept under another name: functions that read facts expect that of a process,
// which has more columns. A chained tickerplant has the functions of a tickerplant, too, and a
// gateway those of its rdbs, so their own ones are asked later and decide. An rdb evaluates the
// questions of a connection one by one: `.rdb.stats` counts queries that wait, so it is the last.
constexpr Question kQuestions[] = {
    {"tickerplant", wire::protocol::kStats, wire::protocol::kStats, true, true},
    {"tickerplant", wire::protocol::kActivity, wire::protocol::kActivity},
    {"tickerplant", wire::protocol::kDate, wire::protocol::kDate, false},
    {"chained", wire::protocol::kUpstream, wire::protocol::kUpstream, true, true},
    {"chained", wire::protocol::kStats, wire::protocol::kStats},
    {"chained", wire::protocol::kActivity, wire::protocol::kActivity},
    {"chained", wire::protocol::kDate, wire::protocol::kDate, false},
    {"rdb", ".rdb.latency", ".rdb.latency"},
    {"rdb", ".rdb.stale", ".rdb.stale"},
    {"rdb", ".rdb.blocked", ".rdb.blocked"},
    {"rdb", ".tier.stats", "tiers"},
    {"rdb", ".rdb.stats", ".rdb.stats", true, true},
    {"feed", ".feed.stats", ".feed.stats", true, true},
    {"hdb", ".hdb.stats", ".hdb.stats", true, true},
    {"monitor", ".monitor.stats", ".monitor.stats", true, true},
    {"aggengine", ".agg.stats", ".agg.stats", true, true},
    {"bridge", ".bridge.stats", ".bridge.stats", true, true},
    {"gateway", ".gateway.stats", ".gateway.stats", true, true},
};

// One process, with a connection that reconnects.
class WatchedProcess final : public wire::ClientHandler {
 public:
  WatchedProcess(wire::EventLoop& loop, const TopTarget& target, const wire::ClientOptions& options)
      : target_(target), role_(target.role) {
    if (target.has_address) client_.emplace(loop, target.address, options, this);
  }

  void Ask() {
    wire::Connection* const connection = client_ ? client_->connection() : nullptr;
    if (pending_ > 0 || is_refused_ || connection == nullptr || !connection->is_open()) return;
    facts_ = {};
    error_.clear();
    const bool knows_role = !role_.empty();
    for (const Question& question : kQuestions) {
      if (knows_role ? question.role != role_ : !question.names_role) continue;
      ++pending_;
      // The callback may come after this object's end: by then the connection is closed.
      connection->Call(
          Value::String(question.Text()),
          [this, &question, alive = std::weak_ptr(alive_)](const absl::StatusOr<Value>& answer) {
            if (!alive.expired()) Take(question, answer);
          });
    }
  }

  // True if neither an answer nor the first connection is pending.
  bool IsSettled() const { return !client_ || (has_tried_ && pending_ == 0); }

  TopAnswer Answer() const {
    TopAnswer answer{target_.name, role_, "", facts_, time_ns_};
    if (!client_) {
      answer.error = "the kernel chooses its port; set `port` in its section to watch it";
    } else if (client_->connection() == nullptr) {
      answer.error = failed_.empty() ? "no connection yet" : failed_;
    } else if (pending_ > 0) {
      answer.error = "no answer";
    } else if (time_ns_ == 0) {
      answer.error = error_.empty() ? "no answer yet" : error_;
    }
    if (!answer.error.empty()) answer.facts = {};
    return answer;
  }

  // wire::ClientHandler
  void OnConnected(wire::Connection& /*connection*/) override {
    has_tried_ = true;
    is_refused_ = false;
    failed_.clear();
    Ask();
  }
  void OnConnectFailed(const absl::Status& why, std::chrono::milliseconds /*pause*/) override {
    has_tried_ = true;
    failed_ = Printable(Message(why));
  }
  void OnMessage(wire::Connection& /*connection*/,
                 const wire::ReceivedMessage& /*message*/) override {}
  void OnClosed(wire::Connection& /*connection*/, const absl::Status& why) override {
    failed_ = why.ok() ? "the connection was closed" : Printable(Message(why));
    // Another process may answer at this address next.
    role_ = target_.role;
    time_ns_ = 0;
  }

 private:
  void Take(const Question& question, const absl::StatusOr<Value>& answer) {
    --pending_;
    if (answer.ok()) {
      facts_.answers.push_back({question.source, *answer});
      if (question.names_role) {
        role_ = question.role;
        time_ns_ = MonotonicNs();
      }
      return;
    }
    if (!question.names_role) return;
    const std::string text = Printable(Message(answer.status()));
    if (role_ == question.role) {
      error_ = text;
      time_ns_ = 0;
      // Each refusal is a line in the audit log of the process, so it is not asked again.
      is_refused_ = text.starts_with("access");
    } else if (role_.empty()) {
      error_ = "it has no statistics of a tickstack process";
    }
  }

  const TopTarget target_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
  std::string role_;
  serve::StatusFacts facts_;  // Answers to the last questions.
  int64_t time_ns_ = 0;       // When they were answered; 0: never.
  std::string error_;         // The error that answered them.
  std::string failed_;        // Why there is no connection.
  int pending_ = 0;           // Questions without an answer.
  bool has_tried_ = false;    // True after the first attempt to connect.
  bool is_refused_ = false;   // True if the user may not ask.
  std::optional<wire::Client> client_;
};

}  // namespace

struct TopWatch::Impl {
  wire::EventLoop loop;
  std::vector<std::unique_ptr<WatchedProcess>> processes;
  bool stopped = false;
};

TopWatch::TopWatch(const std::vector<TopTarget>& targets, const wire::ClientOptions& options)
    : impl_(std::make_unique<Impl>()) {
  for (const TopTarget& target : targets) {
    impl_->processes.push_back(std::make_unique<WatchedProcess>(impl_->loop, target, options));
  }
  impl_->loop.OnStopSignal([impl = impl_.get()](int) { impl->stopped = true; });
}

TopWatch::~TopWatch() = default;

void TopWatch::Begin() {
  for (const auto& process : impl_->processes) process->Ask();
}

bool TopWatch::Done() const {
  return std::ranges::all_of(impl_->processes,
                             [](const auto& process) { return process->IsSettled(); });
}

void TopWatch::Run(std::chrono::nanoseconds at_most) {
  impl_->loop.RunUntil([this] { return impl_->stopped || Done(); }, at_most);
}

void TopWatch::RunFor(std::chrono::nanoseconds time) {
  impl_->loop.RunUntil([this] { return impl_->stopped; }, time);
}

std::vector<TopAnswer> TopWatch::Take() const {
  std::vector<TopAnswer> answers;
  for (const auto& process : impl_->processes) answers.push_back(process->Answer());
  return answers;
}

bool TopWatch::stopped() const { return impl_->stopped; }

}  // namespace tickstack::cli
