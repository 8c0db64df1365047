#include "gateway/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "query/columns/elements.h"

namespace tickstack::gateway {
namespace {

// The time for the answers of one side.
constexpr std::chrono::milliseconds kAnswersWithin{50};
// In the first pass, which all requests wait for.
constexpr std::chrono::milliseconds kFirstAnswersWithin{1000};
// A connection is made anew if its question has had no answer for this time.
constexpr int64_t kGiveUpNs = 2'000'000'000;

// (whether it has read its log, whether it is live; days; columns by table). Before the first day
// ends, an hdb has no `date`.
constexpr std::string_view kLastQuestion =
    "(.rdb.stats[]`caught_up`live;.rdb.days[];{x!cols each x}tables[])";
constexpr std::string_view kPastQuestion = "(1 1;@[value;`date;0#0Nd];{x!cols each x}tables[])";

absl::Status Take(const Value& answer, ProcessContents& process, Health& health) {
  const bool list = answer.is_list() && answer.count() == 3;
  const Value states = list ? query::ItemAt(answer, 0) : Value();
  const Value days = list ? query::ItemAt(answer, 1) : Value();
  const Value tables = list ? query::ItemAt(answer, 2) : Value();
  const bool has_tables = tables.is_dict() && tables.values().is_array();
  const bool has_names = has_tables && tables.keys().is(Type::kSymbol);
  if (!states.is(Type::kLong) || states.count() != 2 || !days.is(Type::kDate) || !has_tables ||
      (!has_names && tables.count() > 0)) {
    return FailedPrecondition("its tables and days are not those of an rdb or hdb");
  }
  const auto state = states.span<int64_t>();
  health = state[0] != 1 ? Health::kBehind : state[1] != 1 ? Health::kDoubtful : Health::kLive;
  process.days.assign(days.span<int32_t>().begin(), days.span<int32_t>().end());
  std::ranges::sort(process.days);
  process.tables.clear();
  for (size_t i = 0; has_names && i < tables.keys().count(); ++i) {
    const Value columns = query::ItemAt(tables.values(), i);
    if (!columns.is(Type::kSymbol)) continue;
    std::vector<std::string>& names = process.tables[std::string(tables.keys().symbols()[i])];
    for (size_t k = 0; k < columns.count(); ++k) {
      if (columns.symbols()[k] != "date") names.emplace_back(columns.symbols()[k]);
    }
  }
  return absl::OkStatus();
}

// Collects the days and tables of all processes of a side.
void Collect(SideContents& side) {
  side.days.clear();
  side.tables.clear();
  for (const ProcessContents& process : side.processes) {
    side.days.insert(side.days.end(), process.days.begin(), process.days.end());
    side.tables.insert(process.tables.begin(), process.tables.end());
  }
  std::ranges::sort(side.days);
  side.days.erase(std::ranges::unique(side.days).begin(), side.days.end());
}

// Returns why a side has never answered.
absl::Status NeverAnswered(const Replicas* replicas, const SideContents& side) {
  if (replicas == nullptr) return absl::OkStatus();
  std::string failures;
  for (size_t i = 0; i < side.processes.size(); ++i) {
    if (side.processes[i].has_answered) return absl::OkStatus();
    failures += fmt::format("{}{}: {}", failures.empty() ? "" : "; ",
                            replicas->at(i).address.ToString(), side.processes[i].failure);
  }
  return Unavailable("{}: no answer: {}", replicas->name(), failures);
}

std::vector<std::unique_ptr<Link>> LinksOf(wire::EventLoop& loop, const Replicas* replicas) {
  std::vector<std::unique_ptr<Link>> links;
  if (replicas == nullptr) return links;
  LinkOptions options = replicas->options().link;
  options.ready_question.clear();  // The watch wants to hear from those that are not ready.
  for (size_t i = 0; i < replicas->size(); ++i) {
    links.push_back(std::make_unique<Link>(loop, replicas->at(i).address, options));
  }
  return links;
}

}  // namespace

Watch::Watch(Replicas* last, Replicas* past)
    : last_(last),
      past_(past),
      last_question_(Value::String(kLastQuestion)),
      past_question_(Value::String(kPastQuestion)),
      last_links_(LinksOf(loop_, last)),
      past_links_(LinksOf(loop_, past)),
      thread_([this] { Run(); }) {}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  loop_.Post([] {});  // Wakes it.
  thread_.join();
}

std::shared_ptr<const Contents> Watch::Get() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return contents_ != nullptr; });
  return contents_;
}

std::shared_ptr<const Contents> Watch::GetNewer() {
  std::unique_lock lock(mutex_);
  const uint64_t pass = begun_ + 1;  // The one under way may have asked before.
  wanted_ = true;
  loop_.Post([] {});
  changed_.wait(lock, [&] { return done_ >= pass; });
  return contents_;
}

void Watch::Run() {
  const auto is_called = [this] {
    const std::lock_guard lock(mutex_);
    return wanted_ || stop_;
  };
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
      wanted_ = false;
      ++begun_;
    }
    Pass();
    loop_.RunUntil(is_called, kPeriod);
  }
}

void Watch::AskSide(Replicas& replicas, std::vector<std::unique_ptr<Link>>& links,
                    SideContents& side) {
  const Value& question = &replicas == last_ ? last_question_ : past_question_;
  side.processes.resize(links.size());
  // An answer to the question of an earlier pass is too old for this one.
  std::vector<bool> sent(links.size(), false);
  for (size_t i = 0; i < links.size(); ++i) {
    Link& link = *links[i];
    if (link.asks() && SteadyNs() - link.sent_ns() > kGiveUpNs) {
      side.processes[i].failure = "no answer for 2 s";
      link.Stop();
    }
    if (link.asks()) continue;
    const bool late = link.has_answer() && !absl::IsUnavailable(link.TakeAnswer().status());
    Replica& replica = replicas.at(i);
    if (late || replica.waits_since_ns == 0) replica.waits_since_ns = SteadyNs();
    link.Send(question, nullptr);
    sent[i] = true;
  }
  const bool first = contents_ == nullptr;  // Only this thread writes it.
  loop_.RunUntil(
      [&] {
        for (size_t i = 0; i < links.size(); ++i) {
          if (sent[i] && !links[i]->has_answer()) return false;
        }
        return true;
      },
      first ? kFirstAnswersWithin : kAnswersWithin);
  for (size_t i = 0; i < links.size(); ++i) {
    ProcessContents& process = side.processes[i];
    if (process.failure.empty()) process.failure = "no answer yet";
    if (!sent[i] || !links[i]->has_answer()) continue;
    const absl::StatusOr<Value> answer = links[i]->TakeAnswer();
    Health health = Health::kUnknown;
    const absl::Status taken = answer.ok() ? Take(*answer, process, health) : answer.status();
    Replica& replica = replicas.at(i);
    if (absl::IsUnavailable(taken)) {
      process.failure = Message(taken);
      continue;  // waits_since_ns stays: it is silent from then on.
    }
    replica.waits_since_ns = 0;
    replica.health = health;
    process.failure = taken.ok() ? std::string() : std::string(Message(taken));
    process.has_answered |= taken.ok();
  }
}

void Watch::Pass() {
  std::shared_ptr<const Contents> before;
  {
    const std::lock_guard lock(mutex_);
    before = contents_;
  }
  SideContents last = before == nullptr ? SideContents() : before->last;
  SideContents past = before == nullptr ? SideContents() : before->past;
  if (last_ != nullptr) AskSide(*last_, last_links_, last);
  if (past_ != nullptr) AskSide(*past_, past_links_, past);
  Collect(last);
  Collect(past);
  const bool complete = std::ranges::all_of(
      past.processes, [](const ProcessContents& process) { return process.failure.empty(); });
  if (before != nullptr && !complete) {
    for (const int32_t day : before->last.days) {
      if (!std::ranges::binary_search(last.days, day)) {
        last.days.insert(std::ranges::lower_bound(last.days, day), day);
      }
    }
  }
  std::erase_if(last.days, [&](int32_t day) { return std::ranges::binary_search(past.days, day); });
  auto made = std::make_shared<Contents>();
  made->status = NeverAnswered(last_, last);
  made->status.Update(NeverAnswered(past_, past));
  made->last = std::move(last);
  made->past = std::move(past);
  if (before == nullptr && !made->status.ok()) LogWarn("{}", Message(made->status));
  const std::lock_guard lock(mutex_);
  contents_ = std::move(made);
  done_ = begun_;
  changed_.notify_all();
}

}  // namespace tickstack::gateway
