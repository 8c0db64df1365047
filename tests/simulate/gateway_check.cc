#include "tests/simulate/gateway_check.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/logging.h"
#include "base/status.h"

namespace tickstack::simulate {
namespace {

// A question is answered within the gateway's time limit and this.
constexpr int64_t kLateNsMax = 2 * kNsPerSecond;

}  // namespace

void GatewayCheck::Fail(std::string what) {
  if (!failure_.empty()) return;
  failure_ = std::move(what);
  LogError("{}", failure_);
}

std::string GatewayCheck::Describe(const Asked& asked) const {
  return fmt::format("{}, asked {} ms before, `{}`", asked.asker,
                     (world_.MonotonicNs() - asked.asked_ns) / 1'000'000, asked.question.Text());
}

std::vector<int32_t> GatewayCheck::DaysOf(const GatewayQuestion& question) const {
  std::vector<int32_t> days;
  if (!question.NamesDays()) return days;
  const bool of_all = question.kind == GatewayQuestion::Kind::kByDate;
  const int32_t first = of_all ? first_ : question.day, last = of_all ? last_ : question.last_day;
  for (int32_t day = first; day <= last; ++day) days.push_back(day);
  return days;
}

void GatewayCheck::AddRdb(const std::vector<LogPosition>& held, LeastRows& least) {
  if (held.empty()) return;
  least.rdbs.push_back(held.back());
  for (const LogPosition& position : held) {
    const auto [day, is_first] = least.days.try_emplace(position.day, position);
    if (is_first) continue;
    for (const auto& [table, rows] : position.rows) {
      day->second.rows[table] = std::min(day->second.rows[table], rows);
    }
  }
}

std::string GatewayCheck::Ask(const Process& asker, size_t* number) {
  Asked asked;
  // The last day has not begun at first.
  const auto day = static_cast<int32_t>(world_.random().Between(first_, last_));
  asked.question = DrawQuestion(world_.random(), day);
  asked.asker = asker.name();
  asked.asked_ns = world_.MonotonicNs();
  for (size_t rdb = 0; rdb < state_->rdbs(); ++rdb) AddRdb(state_->HeldBy(rdb), asked.least);
  for (const auto& [begun, since_ns] : state_->begun_ns()) {
    asked.least.begun[begun] = state_->IsKnown(begun);
    if (state_->HasEnded(begun)) asked.least.ended[begun] = !state_->IsExcused(begun);
  }
  asked.least.fresh = state_->Fresh();
  *number = asked_.size();
  waiting_.push_back(*number);
  asked_.push_back(std::move(asked));
  LogDebug("asked number={} text=\"{}\"", *number, asked_.back().question.Text());
  return asked_.back().question.Text();
}

void GatewayCheck::OnCaughtUp(size_t rdb) {
  const std::vector<LogPosition> held = state_->HeldBy(rdb);
  for (const size_t number : waiting_) AddRdb(held, asked_[number].least);
}

void GatewayCheck::OnLost(size_t number) {
  asked_[number].is_over = true;
  std::erase(waiting_, number);
}

void GatewayCheck::OnAnswer(size_t number, const absl::StatusOr<Value>& answer) {
  OnLost(number);
  Asked& asked = asked_[number];
  world_.Trace("answer", number);
  if (!answer.ok()) {
    ++errors_;
    LogInfo("error number={} error=\"{}\"", number, Message(answer.status()));
    if (state_->MayFail(asked.asked_ns, DaysOf(asked.question))) return;
    return Fail(fmt::format("an error without a reason: {}: {}", Describe(asked),
                            Message(answer.status())));
  }
  ++answers_;
  absl::StatusOr<GatewayAnswer> read = ReadAnswer(asked.question, *answer);
  if (!read.ok()) {
    return Fail(fmt::format("{}: {}", Describe(asked), Message(read.status())));
  }
  LogDebug("answered number={}", number);
  asked.answer = *std::move(read);
}

void GatewayCheck::Look() {
  const auto timeout_ns = static_cast<int64_t>(options_.query_timeout_s * 1e9);
  for (const size_t number : waiting_) {
    const Asked& asked = asked_[number];
    const int64_t since_ns = std::max(asked.asked_ns, state_->late_ns());
    if (world_.MonotonicNs() - since_ns < timeout_ns + kLateNsMax) continue;
    Fail(fmt::format("no answer: {}", Describe(asked)));
  }
}

bool GatewayCheck::HasEnd() const {
  if (!end_begins_) return false;
  std::set<GatewayQuestion::Kind> kinds;
  for (size_t number = *end_begins_; number < asked_.size(); ++number) {
    if (asked_[number].answer) kinds.insert(asked_[number].question.kind);
  }
  return kinds.size() == static_cast<size_t>(GatewayQuestion::Kind::kDates) + 1;
}

void GatewayCheck::CheckEnd(const GatewayTruth& truth) {
  for (size_t number = 0; number < asked_.size(); ++number) {
    Asked& asked = asked_[number];
    if (!asked.answer) continue;
    if (end_begins_ && number >= *end_begins_) {
      // Everything is known, and nothing more is published.
      for (int32_t day = first_; day < last_; ++day) asked.least.ended[day] = true;
      asked.least.ended[last_] = true;
      asked.least.fresh = LogPosition{last_, {}};
      for (const char* const table : {"trade", "quote"}) {
        asked.least.fresh->rows[table] = truth.RowsOf(table, last_);
      }
    }
    const std::string wrong = truth.FindWrong(asked.question, *asked.answer, asked.least);
    if (wrong.empty()) continue;
    return Fail(fmt::format("a wrong answer: number {}: {}: {}", number, Describe(asked), wrong));
  }
}

}  // namespace tickstack::simulate
