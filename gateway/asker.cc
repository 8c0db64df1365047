#include "gateway/asker.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "base/status.h"
#include "query/columns/errors.h"

namespace tickstack::gateway {
namespace {

using std::chrono::nanoseconds;

// The longest time until a deadline, or a client that is gone, is noticed.
constexpr nanoseconds kLook = std::chrono::milliseconds(20);

}  // namespace

class Asker::Question {
 public:
  Question(Asker& asker, const Value& request, bool only_reads, const query::Limits& limits,
           const std::vector<bool>& may)
      : asker_(asker),
        replicas_(asker.replicas_),
        request_(request),
        only_reads_(only_reads),
        limits_(limits),
        tried_(asker.links_.size(), false),
        may_hedge_(only_reads && asker.replicas_.options_.hedge_ns > 0) {
    for (size_t i = 0; i < may.size(); ++i) tried_[i] = !may[i];
  }

  // Forgets what still waits for an answer.
  ~Question() {
    for (const size_t replica : waiting_) Forget(replica);
  }

  absl::StatusOr<Value> Run() {
    if (!SendToNext()) return Unavailable("{}: none of them has this", replicas_.name_);
    while (!waiting_.empty()) {
      const bool answered = asker_.loop_.RunUntil([this] { return HasAnswer(); }, Pause());
      if (begun_) ForgetOthers();
      if (limits_.cancelled != nullptr && limits_.cancelled->load(std::memory_order_relaxed)) {
        return query::StopError("the client is gone");
      }
      if (!answered && std::chrono::steady_clock::now() >= limits_.deadline) {
        return query::StopError("{}: no answer from {} in time", replicas_.name_,
                                replicas_.at(waiting_.front()).address.ToString());
      }
      for (size_t i = 0; i < waiting_.size();) {
        if (!asker_.links_[waiting_[i]]->has_answer()) {
          ++i;
          continue;
        }
        absl::StatusOr<Value> answer = Take(i);
        if (begun_ || !absl::IsUnavailable(answer.status())) return answer;
      }
      if (waiting_.empty() && (only_reads_ || !was_sent_)) SendToNext();
      HedgeIfDue();
    }
    return Unavailable("{}: no answer: {}", replicas_.name_, failures_);
  }

 private:
  bool SendToNext() {
    const std::optional<size_t> next = replicas_.Choose(tried_, limits_.user);
    if (!next) return false;
    tried_[*next] = true;
    waiting_.push_back(*next);
    ++replicas_.at(*next).under_way;
    // A new connection asks whether it has read its log. An rdb may begin again with another one.
    if (IsRefused(replicas_.at(*next).health)) asker_.links_[*next]->Stop();
    asker_.links_[*next]->Send(
        request_, limits_.sink == nullptr ? nullptr : &clients_.emplace_back(*this, *next));
    return true;
  }

  // The client, as a replica sees it. The first one whose long answer begins is the only one from
  // then on: the client has a part of its answer.
  class Client final : public AnswerSink {
   public:
    Client(Question& question, size_t replica) : question_(question), replica_(replica) {}
    bool Begin(size_t bytes) override {
      if (question_.begun_ || bytes > question_.limits_.max_result_bytes) return false;
      if (!question_.limits_.sink->Begin(bytes)) return false;
      question_.begun_ = replica_;
      return true;
    }
    void Add(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner) override {
      question_.limits_.sink->Add(bytes, owner);
    }

   private:
    Question& question_;
    const size_t replica_;
  };

  void Forget(size_t replica) {
    --replicas_.at(replica).under_way;
    asker_.links_[replica]->Stop();
  }

  void ForgetOthers() {
    may_hedge_ = false;
    for (const size_t replica : std::exchange(waiting_, {*begun_})) {
      if (replica != *begun_) Forget(replica);
    }
  }

  bool HasAnswer() const {
    return std::ranges::any_of(waiting_,
                               [this](size_t i) { return asker_.links_[i]->has_answer(); });
  }

  int64_t HedgeNs() const {
    return asker_.links_[waiting_.front()]->sent_ns() + replicas_.options_.hedge_ns;
  }

  nanoseconds Pause() const {
    if (!may_hedge_) return kLook;
    const nanoseconds left(HedgeNs() - SteadyNs());
    return left <= nanoseconds(0) ? kLook : std::min(left, kLook);
  }

  // Takes the answer of waiting_[i], which waits no more.
  absl::StatusOr<Value> Take(size_t i) {
    Link& link = *asker_.links_[waiting_[i]];
    Replica& replica = replicas_.at(waiting_[i]);
    waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(i));
    --replica.under_way;
    absl::StatusOr<Value> answer = link.TakeAnswer();
    if (!absl::IsUnavailable(answer.status())) {
      ++replica.answers;
      return answer;
    }
    ++replica.failures;
    was_sent_ |= link.was_sent();
    replica.rests_until_ns = SteadyNs() + replicas_.options_.rest_ns;
    failures_ += fmt::format("{}{}: {}", failures_.empty() ? "" : "; ", replica.address.ToString(),
                             Message(answer.status()));
    return answer;
  }

  void HedgeIfDue() {
    const int64_t now_ns = SteadyNs();
    if (!may_hedge_ || waiting_.empty() || now_ns < HedgeNs()) return;
    Replica& slow = replicas_.at(waiting_.front());
    if (!slow.IsSilent(now_ns)) return;
    may_hedge_ = false;
    if (SendToNext()) ++slow.hedged;
  }

  Asker& asker_;
  Replicas& replicas_;
  const Value& request_;
  const bool only_reads_;
  const query::Limits& limits_;
  std::deque<Client> clients_;     // The client, for each replica that was asked.
  std::optional<size_t> begun_{};  // The replica whose answer the client is getting.
  std::vector<bool> tried_;
  std::vector<size_t> waiting_;  // Replicas that have the question, the first one first.
  bool may_hedge_;
  bool was_sent_ = false;  // A replica that failed may have evaluated it.
  std::string failures_;
};

Asker::Asker(Replicas& replicas) : replicas_(replicas) {
  for (const auto& replica : replicas_.replicas_) {
    links_.push_back(std::make_unique<Link>(loop_, replica->address, replicas_.options_.link));
  }
}

Asker::~Asker() = default;

absl::StatusOr<Value> Asker::Ask(const Value& request, bool only_reads, const query::Limits& limits,
                                 const std::vector<bool>& may) {
  // The loop notices here that an idle connection was closed.
  while (loop_.RunReady()) {
  }
  return Question(*this, request, only_reads, limits, may).Run();
}

}  // namespace tickstack::gateway
