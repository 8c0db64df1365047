#include "gateway/asker.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/status.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"

namespace tickstack::gateway {
namespace {

using std::chrono::nanoseconds;

// The longest time until a deadline, or a client that is gone, is noticed.
constexpr nanoseconds kLook = std::chrono::milliseconds(20);
// The longest time for which a query polls for its answer before it sleeps. A question about a few
// rows takes an rdb less.
constexpr int64_t kPollNs = 100'000;
// Nobody polls for this time after two queries have asked at the same time.
constexpr int64_t kQuietNs = 10'000'000;

// With one core, polling would keep the other process from answering.
bool HasSpareCore() {
  static const bool has = std::thread::hardware_concurrency() > 1;
  return has;
}

}  // namespace

// What the questions of one call of Ask have in common.
struct Asker::Call {
  const query::Limits& limits;
  AnswerSink* const sink;  // nullptr: answers are received as a whole.
  size_t bytes = 0;        // Size of the answers that are there or arrive.
};

// Asks one question: the next replica after a failure, a second one if the first one hangs.
class Asker::Attempt {
 public:
  Attempt(Call& call, const Question& question, Links& links)
      : call_(call),
        question_(question),
        replicas_(*question.group),
        links_(links),
        tried_(links.size(), false),
        may_hedge_(question.only_reads && replicas_.options().hedge_ns > 0) {
    for (size_t i = 0; i < question.may.size(); ++i) tried_[i] = !question.may[i];
    if (!SendToNext()) answer_ = Unavailable("{}: none of them has this", replicas_.name());
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  // Forgets what still waits for an answer.
  ~Attempt() {
    for (const size_t replica : waiting_) Forget(replica);
    call_.bytes -= expected_bytes_;
  }

  // True if Step has something to do at once.
  bool HasAnswer() const {
    return answer_.has_value() || std::ranges::any_of(waiting_, [this](size_t replica) {
             return links_[replica]->has_answer();
           });
  }

  // Takes what has arrived, and asks further replicas if that is necessary. Returns the answer when
  // there is one, or no replica is left.
  std::optional<absl::StatusOr<Value>> Step() {
    if (answer_.has_value()) return std::move(answer_);
    if (begun_) ForgetOthers();
    for (size_t i = 0; i < waiting_.size();) {
      if (!links_[waiting_[i]]->has_answer()) {
        ++i;
        continue;
      }
      absl::StatusOr<Value> answer = Take(i);
      if (begun_ || !absl::IsUnavailable(answer.status())) return answer;
    }
    if (waiting_.empty() && (question_.only_reads || !was_sent_) && !SendToNext()) AskOthers();
    HedgeIfDue();
    if (!waiting_.empty()) return std::nullopt;
    return Unavailable("{}: no answer: {}", replicas_.name(), failures_);
  }

  // Returns the time after which Step has something to do without an answer.
  nanoseconds Pause() const {
    if (!may_hedge_ || waiting_.empty()) return kLook;
    const nanoseconds left(HedgeNs() - SteadyNs());
    return left <= nanoseconds(0) ? kLook : std::min(left, kLook);
  }

  bool expects_bytes() const { return expected_bytes_ > 0; }

  absl::Status LateError() const {
    return query::StopError("{}: no answer from {} in time", replicas_.name(),
                            replicas_.at(waiting_.front()).address.ToString());
  }

 private:
  bool SendToNext() {
    const std::optional<size_t> next = replicas_.Choose(tried_, call_.limits.user);
    if (!next) return false;
    tried_[*next] = true;
    // A new connection asks whether it has read its log. An rdb may begin again with another one.
    if (IsRefused(replicas_.at(*next).health)) links_[*next]->Stop();
    SendTo(*next);
    return true;
  }

  void SendTo(size_t replica) {
    waiting_.push_back(replica);
    ++replicas_.at(replica).under_way;
    links_[replica]->Send(*question_.request, &clients_.emplace_back(*this, replica));
  }

  // Asks once more over a new connection if the one that was used ended. The other process may have
  // ended it before it had this question, for example because it was restarted.
  bool SendAgain(size_t replica) {
    const bool may = question_.only_reads && !begun_ && links_[replica]->was_reused();
    if (!may) return false;
    links_[replica]->Stop();
    SendTo(replica);
    return true;
  }

  // None of the replicas that may be asked first has answered.
  void AskOthers() {
    if (!question_.only_reads || asks_others_) return;
    asks_others_ = true;
    for (size_t i = 0; i < question_.if_no_other.size(); ++i) {
      if (question_.if_no_other[i]) tried_[i] = false;
    }
    SendToNext();
  }

  // The client, as a replica sees it. The first one whose long answer begins is the only one from
  // then on: the client has a part of its answer.
  class Client final : public AnswerSink {
   public:
    Client(Attempt& attempt, size_t replica) : attempt_(attempt), replica_(replica) {}
    bool Begin(size_t bytes) override {
      AnswerSink* const sink = attempt_.call_.sink;
      if (sink == nullptr) {
        attempt_.Expect(bytes);
        return false;
      }
      if (attempt_.begun_ || bytes > attempt_.call_.limits.max_result_bytes) return false;
      if (!sink->Begin(bytes)) return false;
      attempt_.begun_ = replica_;
      return true;
    }
    void Add(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner) override {
      attempt_.call_.sink->Add(bytes, owner);
    }

   private:
    Attempt& attempt_;
    const size_t replica_;
  };

  // A replica sends an answer of this length. Another one that was asked, too, sends the same one.
  void Expect(size_t bytes) {
    if (bytes <= expected_bytes_) return;
    call_.bytes += bytes - expected_bytes_;
    expected_bytes_ = bytes;
  }

  void Forget(size_t replica) {
    --replicas_.at(replica).under_way;
    links_[replica]->Stop();
  }

  void ForgetOthers() {
    may_hedge_ = false;
    for (const size_t replica : std::exchange(waiting_, {*begun_})) {
      if (replica != *begun_) Forget(replica);
    }
  }

  int64_t HedgeNs() const {
    return links_[waiting_.front()]->sent_ns() + replicas_.options().hedge_ns;
  }

  // Takes the answer of waiting_[i], which waits no more, or asks that replica again.
  absl::StatusOr<Value> Take(size_t i) {
    const size_t at = waiting_[i];
    Link& link = *links_[at];
    Replica& replica = replicas_.at(at);
    waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(i));
    --replica.under_way;
    absl::StatusOr<Value> answer = link.TakeAnswer();
    if (!absl::IsUnavailable(answer.status())) {
      ++replica.answers;
      return answer;
    }
    if (SendAgain(at)) return answer;
    ++replica.failures;
    was_sent_ |= link.was_sent();
    replica.rests_until_ns = SteadyNs() + replicas_.options().rest_ns;
    failures_ += fmt::format("{}{}: {}", failures_.empty() ? "" : "; ", replica.address.ToString(),
                             Message(answer.status()));
    return answer;
  }

  void HedgeIfDue() {
    if (!may_hedge_ || waiting_.empty()) return;
    const int64_t now_ns = SteadyNs();
    if (now_ns < HedgeNs()) return;
    Replica& slow = replicas_.at(waiting_.front());
    if (!slow.IsSilent(now_ns)) return;
    if (SendToNext()) {
      may_hedge_ = false;
      ++slow.hedged;
    } else if (slow.IsLost(now_ns)) {
      may_hedge_ = false;
      AskOthers();
    }
  }

  Call& call_;
  const Question& question_;
  Replicas& replicas_;
  Links& links_;
  std::deque<Client> clients_;     // The client, for each replica that was asked.
  std::optional<size_t> begun_{};  // The replica whose answer the client is getting.
  std::vector<bool> tried_;
  std::vector<size_t> waiting_;  // Replicas that have the question, the first one first.
  bool may_hedge_;
  bool asks_others_ = false;   // Question::if_no_other, too.
  bool was_sent_ = false;      // A replica that failed may have evaluated it.
  size_t expected_bytes_ = 0;  // Size of the answer that arrives; in Call::bytes.
  std::string failures_;
  std::optional<absl::StatusOr<Value>> answer_{};  // Without any replica to ask.
};

// The questions to one group, one after the other.
class Asker::Lane {
 public:
  Lane(Call& call, const Replicas& group, Links& links)
      : call_(call), group_(group), links_(links) {}

  const Replicas& group() const { return group_; }
  void Add(size_t question) { questions_.push_back(question); }

  // Gives up the question that is under way if it is not among the first `wanted` ones. Begins the
  // next one of these if none is under way.
  void Begin(std::span<const Question> questions, size_t wanted) {
    if (attempt_.has_value() && current() >= wanted) attempt_.reset();
    if (attempt_.has_value() || next_ == questions_.size() || questions_[next_] >= wanted) return;
    attempt_.emplace(call_, questions[questions_[next_]], links_);
    ++next_;
  }
  bool asks() const { return attempt_.has_value(); }  // A question is under way.
  size_t current() const { return questions_[next_ - 1]; }
  Attempt& attempt() { return *attempt_; }
  const Attempt& attempt() const { return *attempt_; }
  void End() { attempt_.reset(); }

 private:
  Call& call_;
  const Replicas& group_;
  Links& links_;
  std::vector<size_t> questions_;  // Ascending.
  size_t next_ = 0;
  std::optional<Attempt> attempt_;
};

// One call of Ask.
class Asker::Round {
 public:
  Round(Asker& asker, std::span<const Question> questions, const query::Limits& limits)
      : loop_(asker.loop_),
        questions_(questions),
        call_{limits, questions.size() == 1 ? limits.sink : nullptr},
        answers_(questions.size()),
        wanted_(questions.size()) {
    for (size_t i = 0; i < questions.size(); ++i) {
      const Replicas* const group = questions[i].group;
      const auto of_group = [group](const Lane& lane) { return &lane.group() == group; };
      const auto found = std::ranges::find_if(lanes_, of_group);
      const bool is_new = found == lanes_.end();
      Lane& lane = is_new ? lanes_.emplace_back(call_, *group, asker.LinksTo(*group)) : *found;
      lane.Add(i);
    }
  }

  bool has_one_lane() const { return lanes_.size() == 1; }

  // With `under_way`, the number of calls, polls for a short time before it sleeps, if this is the
  // only one.
  std::vector<absl::StatusOr<Value>> Run(const std::atomic<size_t>* under_way) {
    absl::Status ending;
    while (ending.ok()) {
      bool asks = false;
      nanoseconds pause = kLook;
      for (Lane& lane : lanes_) {
        lane.Begin(questions_, wanted_);
        if (!lane.asks()) continue;
        asks = true;
        pause = std::min(pause, lane.attempt().Pause());
      }
      if (!asks) break;
      if (under_way != nullptr) Poll(*std::exchange(under_way, nullptr));
      loop_.RunUntil([this] { return HasWork(); }, pause);
      ending = Cancelled();
      if (!ending.ok()) break;
      Step();
      LimitBytes();
      ending = Late();
    }
    std::vector<absl::StatusOr<Value>> answers;
    for (std::optional<absl::StatusOr<Value>>& answer : answers_) {
      // Only an ending, or an earlier error, leaves a question without an answer.
      answers.push_back(answer.has_value() ? *std::move(answer) : absl::StatusOr<Value>(ending));
      if (!answers.back().ok()) break;
    }
    return answers;
  }

 private:
  bool HasTooMuch() const { return call_.bytes > call_.limits.max_result_bytes; }
  bool HasWork() const {
    return HasTooMuch() || std::ranges::any_of(lanes_, [](const Lane& lane) {
             return lane.asks() && lane.attempt().HasAnswer();
           });
  }

  void Poll(const std::atomic<size_t>& under_way) {
    const int64_t end_ns = SteadyNs() + kPollNs;
    while (!HasWork() && under_way.load(std::memory_order_relaxed) == 1 && SteadyNs() < end_ns) {
      loop_.RunReady();
    }
  }

  absl::Status Cancelled() const {
    const std::atomic<bool>* const cancelled = call_.limits.cancelled;
    const bool is_cancelled = cancelled != nullptr && cancelled->load(std::memory_order_relaxed);
    return is_cancelled ? query::StopError("the client is gone") : absl::OkStatus();
  }

  // `stop` if the time is over and a question waits for its answer: the first one says so.
  absl::Status Late() const {
    if (std::chrono::steady_clock::now() < call_.limits.deadline) return absl::OkStatus();
    const Lane* first = nullptr;
    for (const Lane& lane : lanes_) {
      const bool waits = lane.asks() && lane.current() < wanted_;
      if (waits && (first == nullptr || lane.current() < first->current())) first = &lane;
    }
    return first == nullptr ? absl::OkStatus() : first->attempt().LateError();
  }

  // Gives up questions from the last one on until the answers have no more bytes than they may. The
  // error belongs to the first of these: whether earlier ones fail does not depend on it.
  void LimitBytes() {
    while (HasTooMuch()) {
      std::optional<size_t> last;
      for (size_t i = 0; i < wanted_; ++i) {
        if (answers_[i].has_value() && answers_[i]->ok()) last = i;
      }
      for (const Lane& lane : lanes_) {
        if (lane.asks() && lane.attempt().expects_bytes()) {
          last = std::max(last.value_or(0), lane.current());
        }
      }
      if (!last.has_value()) return;
      for (Lane& lane : lanes_) {
        if (lane.asks() && lane.current() >= *last) lane.End();
      }
      Take(*last,
           query::LimitError("answers of more than {} bytes", call_.limits.max_result_bytes));
    }
  }

  void Step() {
    for (Lane& lane : lanes_) {
      if (!lane.asks()) continue;
      std::optional<absl::StatusOr<Value>> answer = lane.attempt().Step();
      if (!answer.has_value()) continue;
      lane.End();
      Take(lane.current(), *std::move(answer));
    }
  }

  void Take(size_t question, absl::StatusOr<Value> answer) {
    if (question >= wanted_) return;
    if (answer.ok()) {
      // A sink has the bytes, or has refused them: the caller looks at the size.
      if (call_.sink == nullptr) call_.bytes += query::ApproximateBytes(*answer);
    } else {
      wanted_ = question;
      for (size_t i = question; i < answers_.size(); ++i) Drop(answers_[i]);
    }
    answers_[question] = std::move(answer);
  }

  void Drop(std::optional<absl::StatusOr<Value>>& answer) {
    if (answer.has_value() && answer->ok()) call_.bytes -= query::ApproximateBytes(**answer);
    answer.reset();
  }

  wire::EventLoop& loop_;
  const std::span<const Question> questions_;
  Call call_;
  std::vector<std::optional<absl::StatusOr<Value>>> answers_;
  size_t wanted_;  // Questions from this one on are not wanted: an earlier one has failed.
  std::deque<Lane> lanes_;
};

Asker::Asker() = default;
Asker::~Asker() = default;

Asker::Links& Asker::LinksTo(const Replicas& group) {
  const auto [found, is_new] = links_.try_emplace(&group);
  for (size_t i = 0; is_new && i < group.size(); ++i) {
    found->second.push_back(
        std::make_unique<Link>(loop_, group.at(i).address, group.options().link));
  }
  return found->second;
}

std::vector<absl::StatusOr<Value>> Asker::Ask(std::span<const Question> questions,
                                              const query::Limits& limits,
                                              const std::atomic<size_t>* under_way) {
  // The loop notices here that an idle connection was closed.
  while (loop_.RunReady()) {
  }
  Round round(*this, questions, limits);
  // Several processes that answer need the core on which this would poll.
  const bool may_poll = under_way != nullptr && round.has_one_lane() && HasSpareCore();
  const int64_t began_ns = SteadyNs();
  std::vector<absl::StatusOr<Value>> answers =
      round.Run(may_poll && answers_soon_ ? under_way : nullptr);
  if (may_poll) answers_soon_ = SteadyNs() - began_ns < kPollNs;
  return answers;
}

std::vector<absl::StatusOr<Value>> AskerPool::Ask(std::span<const Question> questions,
                                                  const query::Limits& limits) {
  const int64_t now_ns = SteadyNs();
  const bool is_alone = under_way_.fetch_add(1, std::memory_order_relaxed) == 0;
  if (!is_alone) crowded_ns_.store(now_ns, std::memory_order_relaxed);
  const bool is_quiet = now_ns - crowded_ns_.load(std::memory_order_relaxed) > kQuietNs;
  std::unique_ptr<Asker> asker;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      asker = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (asker == nullptr) asker = std::make_unique<Asker>();
  std::vector<absl::StatusOr<Value>> answers =
      asker->Ask(questions, limits, is_quiet ? &under_way_ : nullptr);
  under_way_.fetch_sub(1, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(asker));
  return answers;
}

absl::StatusOr<Value> AskerPool::Ask(const Question& question, const query::Limits& limits) {
  return std::move(Ask(std::span(&question, 1), limits).front());
}

}  // namespace tickstack::gateway
