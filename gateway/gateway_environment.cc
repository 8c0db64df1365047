#include "gateway/gateway_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "base/status.h"
#include "gateway/whole_request.h"
#include "query/columns/errors.h"

namespace tickstack::gateway {
namespace {

// Evaluates a tree if the hdb has all days, before and after that: it may load its database again
// meanwhile. It is sent as a text, as clients of kdb+ do. The names are none that a table has, and
// the result is an argument: a variable would count its bytes twice.
constexpr std::string_view kIfItHasTheDays =
    "{[askedDays;askedTree]$[all askedDays in @[value;`date;0#0Nd];"
    "{[askedDays;answered]$[all askedDays in @[value;`date;0#0Nd];answered;'\"no longer here\"]}"
    "[askedDays;eval askedTree];'\"no longer here\"]}";
constexpr std::string_view kNotHere = "no longer here";

bool IsNothing(std::span<const Value> args) {
  return args.empty() || (args.size() == 1 && args[0].is_null());
}

std::string_view NameOf(Health health) {
  switch (health) {
    case Health::kUnknown:
      return "silent";
    case Health::kLive:
      return "live";
    case Health::kDoubtful:
      return "doubtful";
    case Health::kBehind:
      return "behind";
    case Health::kOther:
      return "other";
  }
  return "";
}

bool HaveTheSameDays(const SideContents& side) {
  return std::ranges::all_of(side.processes, [&](const ProcessContents& process) {
    return process.days == side.processes.front().days;
  });
}

// Adds days to others; both ascend.
void AddDays(std::span<const int32_t> more, std::vector<int32_t>& days) {
  std::vector<int32_t> both;
  both.reserve(more.size() + days.size());
  std::ranges::set_union(days, more, std::back_inserter(both));
  days = std::move(both);
}

Value Longs(const std::vector<int64_t>& longs) {
  return Value::Vector(Type::kLong, std::span<const int64_t>(longs));
}

}  // namespace

// What the processes have, for one request. Threads: that of the request.
struct GatewayEnvironment::Moment {
  explicit Moment(std::shared_ptr<const Contents> now) : first(std::move(now)), contents(first) {}

  // The request has the days of these. Others have begun since: if they counted, one mention of a
  // table could be about other days than the mention before it.
  const std::shared_ptr<const Contents> first;
  // The newest contents that the request knows: read when a day has moved to the other side.
  std::shared_ptr<const Contents> contents;
};

// A table of one shard, as of the contents of a moment.
class GatewayEnvironment::Table final : public query::RemoteTable {
 public:
  Table(std::string name, std::shared_ptr<Moment> moment, size_t shard, GatewayEnvironment& of)
      : name_(std::move(name)),
        moment_(std::move(moment)),
        all_(moment_->contents),
        shard_(shard),
        of_(of) {
    if (is_first_) return;
    const std::vector<int32_t>& days = moment_->first->days;
    std::ranges::set_intersection(contents_.last.days, days, std::back_inserter(last_));
    std::ranges::set_intersection(contents_.past.days, days, std::back_inserter(past_));
  }

  const std::string& name() const override { return name_; }
  absl::Status status() const override { return contents_.status; }
  absl::Status StatusOf(int32_t day) const override {
    for (const Side side : {Side::kLast, Side::kPast}) {
      const std::vector<int32_t>& days = contents_.Of(side).days;
      if (!days.empty() && days.back() >= day) return absl::OkStatus();
    }
    return contents_.now;
  }
  std::string_view shard() const override { return replicas_.id.shard; }
  bool IsOn(Side side) const override { return contents_.Of(side).tables.contains(name_); }
  std::vector<std::string> Columns(Side side) const override {
    const auto found = contents_.Of(side).tables.find(name_);
    return found == contents_.Of(side).tables.end() ? std::vector<std::string>() : found->second;
  }
  std::vector<std::string> LastColumns() const override { return LastShape().columns; }
  size_t KeyColumns() const override { return LastShape().key_columns; }
  std::span<const int32_t> Days(Side side) const override {
    if (!IsOn(side)) return {};
    if (is_first_) return contents_.Of(side).days;
    return side == Side::kPast ? past_ : last_;
  }

  size_t DaysOfOne(Side side, std::span<const int32_t> days) const override {
    size_t most = 1;
    for (const ProcessContents& process : contents_.Of(side).processes) {
      if (!process.tables.contains(name_)) continue;
      size_t n = 0;
      while (n < days.size() && std::ranges::binary_search(process.days, days[n])) ++n;
      most = std::max(most, n);
    }
    return most;
  }

  absl::StatusOr<Value> Ask(Side side, std::span<const int32_t> days, Value tree,
                            const query::Limits& limits) const override {
    std::vector<Part> parts;
    parts.push_back({this, side, days, std::move(tree)});
    return std::move(of_.AskParts(std::move(parts), limits).front());
  }
  std::vector<absl::StatusOr<Value>> AskAll(std::vector<Part> parts,
                                            const query::Limits& limits) const override {
    return of_.AskParts(std::move(parts), limits);
  }

  // Returns the request for a tree: it evaluates the tree only if the process has all of the days.
  static Value RequestOf(Side side, std::span<const int32_t> days, Value tree) {
    std::vector<Value> request;
    if (side == Side::kPast && !days.empty()) {
      request.push_back(Value::String(kIfItHasTheDays));
      request.push_back(Value::Vector(Type::kDate, days));
    } else {
      request.push_back(Value::String("eval"));
    }
    request.push_back(std::move(tree));
    return Value::List(std::move(request));
  }

  // Returns the question about days of one side; nullopt if no process has all of them.
  std::optional<Question> QuestionFor(Side side, std::span<const int32_t> days,
                                      const Value& request) const {
    std::vector<bool> may;
    const bool all_days = side == Side::kPast && days.empty();
    for (const ProcessContents& process : contents_.Of(side).processes) {
      may.push_back(process.tables.contains(name_) &&
                    (!all_days || process.days == contents_.past.days) &&
                    std::ranges::all_of(days, [&](int32_t day) {
                      return std::ranges::binary_search(process.days, day);
                    }));
    }
    if (std::ranges::find(may, true) == may.end()) return std::nullopt;
    if (side == Side::kLast && days.empty()) {
      return ForLast(*replicas_.last, contents_.last, request, /*only_reads=*/true, std::move(may));
    }
    return Question{replicas_.On(side), &request, /*only_reads=*/true, std::move(may)};
  }

  // Reads anew what the processes have, for this table and for what the request names after it.
  std::shared_ptr<const Contents> ReadAnew() const {
    moment_->contents = of_.watch_.GetNewer();
    return moment_->contents;
  }

  // True if the hdbs have these days of the rdbs now. The days are read anew.
  bool HaveMoved(std::span<const int32_t> days) const {
    const std::shared_ptr<const Contents> now = ReadAnew();
    const std::vector<int32_t>& past = now->shards[shard_].past.days;
    const bool moved = std::ranges::includes(past, days);
    if (moved) of_.counters_.moved.fetch_add(1, std::memory_order_relaxed);
    return moved;
  }

  // Returns an answer, or the error of a day that has moved. The process that had it may be gone,
  // too.
  absl::StatusOr<Value> Settle(Side side, std::span<const int32_t> days,
                               absl::StatusOr<Value> answer) const {
    if (answer.ok() || days.empty()) return answer;
    if (absl::IsUnavailable(answer.status()) && side == Side::kLast && HaveMoved(days)) {
      return absl::AbortedError(answer.status().message());
    }
    if (!absl::IsUnknown(answer.status())) return answer;
    const std::string_view error = Message(answer.status());
    const std::string day = FormatDate(days.front());
    const bool moved = side == Side::kPast ? error.starts_with(kNotHere)
                                           : error == name_ + std::string(1, query::kOfDay) + day;
    return moved ? absl::StatusOr<Value>(Gone(days)) : answer;
  }

  // The error of days that the processes do not have any more. The days are read anew.
  absl::Status Gone(std::span<const int32_t> days) const {
    of_.counters_.moved.fetch_add(1, std::memory_order_relaxed);
    const std::shared_ptr<const Contents> now = ReadAnew();
    const std::string day = days.empty() ? std::string() : FormatDate(days.front());
    std::string failures;
    for (const Side side : {Side::kLast, Side::kPast}) {
      const std::vector<ProcessContents>& processes = now->shards[shard_].Of(side).processes;
      for (size_t i = 0; i < processes.size(); ++i) {
        const bool is_blocked = std::ranges::any_of(
            days, [&](int32_t each) { return processes[i].blocked.starts_with(FormatDate(each)); });
        const std::string why = !processes[i].failure.empty() ? processes[i].failure
                                : is_blocked ? "the day is not written: " + processes[i].blocked
                                             : std::string();
        if (why.empty()) continue;
        failures += fmt::format("; {} {}: {}", replicas_.On(side)->name(),
                                replicas_.On(side)->at(i).address.ToString(), why);
      }
    }
    return absl::AbortedError(
        AbslView(fmt::format("unavailable: no process has {} of {} now{}", name_, day, failures)));
  }

 private:
  const TableShape& LastShape() const {
    static const TableShape kNone;
    const auto found = contents_.last.shapes.find(name_);
    return found == contents_.last.shapes.end() ? kNone : found->second;
  }

  const std::string name_;
  const std::shared_ptr<Moment> moment_;
  const std::shared_ptr<const Contents> all_;
  const size_t shard_;
  GatewayEnvironment& of_;
  const ShardContents& contents_ = all_->shards[shard_];
  const bool is_first_ = all_ == moment_->first;
  std::vector<int32_t> last_, past_;  // Days of the request, unless these are those of `contents_`.
  const ShardReplicas& replicas_ = of_.shards_[shard_];
};

// A table of several shards, one of which at least has it.
class GatewayEnvironment::SpreadTable final : public query::RemoteTable {
 public:
  SpreadTable(std::string name, std::string symbol_column, const std::shared_ptr<Moment>& moment,
              GatewayEnvironment& of)
      : name_(std::move(name)), symbol_column_(std::move(symbol_column)), of_(of) {
    for (size_t i = 0; i < of.shards_.size(); ++i) tables_.emplace_back(name_, moment, i, of);
    for (const Table& table : tables_) {
      AddDays(table.Days(Side::kPast), past_);
      AddDays(table.Days(Side::kLast), last_);
    }
  }

  const std::string& name() const override { return name_; }
  bool IsOn(Side side) const override {
    return std::ranges::any_of(tables_, [&](const Table& table) { return table.IsOn(side); });
  }
  std::vector<std::string> Columns(Side side) const override {
    for (const Table& table : tables_) {
      if (table.IsOn(side)) return table.Columns(side);
    }
    return {};
  }
  std::vector<std::string> LastColumns() const override {
    const Table* const first = FirstOnLast();
    return first == nullptr ? std::vector<std::string>() : first->LastColumns();
  }
  size_t KeyColumns() const override {
    const Table* const first = FirstOnLast();
    return first == nullptr ? 0 : first->KeyColumns();
  }
  std::span<const int32_t> Days(Side side) const override {
    return side == Side::kPast ? past_ : last_;
  }
  size_t DaysOfOne(Side, std::span<const int32_t>) const override { return 1; }
  absl::StatusOr<Value> Ask(Side, std::span<const int32_t>, Value,
                            const query::Limits&) const override {
    return absl::InternalError("no shard of a table was asked");
  }
  std::vector<absl::StatusOr<Value>> AskAll(std::vector<Part> parts,
                                            const query::Limits& limits) const override {
    return of_.AskParts(std::move(parts), limits);
  }
  std::vector<const RemoteTable*> Shards() const override {
    std::vector<const RemoteTable*> shards;
    for (const Table& table : tables_) shards.push_back(&table);
    return shards;
  }
  std::string_view ShardColumn() const override { return symbol_column_; }
  std::optional<size_t> ShardOf(std::string_view symbol) const override {
    return of_.map_->ShardOf(symbol);
  }

 private:
  // Returns the table of the first shard that has it on the last side; nullptr if none has.
  const Table* FirstOnLast() const {
    const auto found =
        std::ranges::find_if(tables_, [](const Table& table) { return table.IsOn(Side::kLast); });
    return found == tables_.end() ? nullptr : &*found;
  }

  const std::string name_, symbol_column_;
  GatewayEnvironment& of_;
  std::deque<Table> tables_;
  std::vector<int32_t> past_, last_;
};

Question GatewayEnvironment::ForLast(Replicas& replicas, const SideContents& contents,
                                     const Value& request, bool only_reads, std::vector<bool> may) {
  const std::vector<ProcessContents>& processes = contents.processes;
  if (may.empty()) may.assign(processes.size(), true);
  const int64_t now_ns = SteadyNs();
  // The lowest rank is asked: of the rdbs with the newest day, those with the fewest other days.
  const auto rank = [](const ProcessContents& process) {
    const int32_t newest = process.days.empty() ? kNullInt : process.days.back();
    return std::pair{-int64_t{newest}, process.days.size()};
  };
  std::optional<std::pair<int64_t, size_t>> lowest;
  for (size_t i = 0; i < processes.size(); ++i) {
    const Replica& replica = replicas.at(i);
    const bool live = replica.health == Health::kLive && !replica.IsLost(now_ns);
    if (may[i] && live) lowest = std::min(lowest.value_or(rank(processes[i])), rank(processes[i]));
  }
  Question question{&replicas, &request, only_reads, may, std::vector<bool>(may.size(), false)};
  for (size_t i = 0; i < processes.size(); ++i) {
    if (!may[i] || !lowest || rank(processes[i]) <= *lowest) continue;
    question.may[i] = false;
    question.if_no_other[i] = true;
  }
  return question;
}

// All parts are asked at the same time, those of rdbs beside those of hdbs, although a day may move
// between the two meanwhile. No row is missed or counted twice, because each answer is checked on
// its own: one about days is evaluated only by a process that has these days at that moment
// (RequestOf), and then has all of their rows. Which side answers for a day was decided before, for
// all parts alike, from one pass of the watch. If the day has left that side, the part fails, and
// the query begins again. A query without days is about one side only.
std::vector<absl::StatusOr<Value>> GatewayEnvironment::AskParts(
    std::vector<query::RemoteTable::Part> parts, const query::Limits& limits) {
  counters_.parts.fetch_add(parts.size(), std::memory_order_relaxed);
  const auto table_of = [](const query::RemoteTable::Part& part) {
    return static_cast<const Table*>(part.shard);  // AskAll takes no others.
  };
  std::deque<Value> requests;
  std::vector<Question> questions;
  for (query::RemoteTable::Part& part : parts) {
    requests.push_back(Table::RequestOf(part.side, part.days, std::move(part.tree)));
    std::optional<Question> question =
        table_of(part)->QuestionFor(part.side, part.days, requests.back());
    // The parts before it may have another error, which comes first.
    if (!question.has_value()) break;
    questions.push_back(*std::move(question));
  }
  std::vector<absl::StatusOr<Value>> answers;
  if (!questions.empty()) answers = askers_.Ask(questions, limits);
  for (size_t i = 0; i < answers.size(); ++i) {
    answers[i] = table_of(parts[i])->Settle(parts[i].side, parts[i].days, std::move(answers[i]));
  }
  const bool all_ok = std::ranges::all_of(answers, [](const auto& answer) { return answer.ok(); });
  if (all_ok && answers.size() < parts.size()) {
    answers.emplace_back(table_of(parts[answers.size()])->Gone(parts[answers.size()].days));
  }
  return answers;
}

std::shared_ptr<GatewayEnvironment::Moment> GatewayEnvironment::Now() {
  return std::make_shared<Moment>(watch_.Get());
}

std::shared_ptr<const query::RemoteTable> GatewayEnvironment::FindRemoteAt(
    const std::shared_ptr<Moment>& moment, std::string_view name) {
  std::string symbol_column;
  bool known = false;
  for (const ShardContents& shard : moment->contents->shards) {
    const bool has = shard.last.tables.contains(name) || shard.past.tables.contains(name);
    known |= has && shard.status.ok();
    for (const Side side : {Side::kLast, Side::kPast}) {
      const auto found = shard.Of(side).symbol_columns.find(name);
      if (symbol_column.empty() && found != shard.Of(side).symbol_columns.end()) {
        symbol_column = found->second;
      }
    }
  }
  // If a shard has not answered, Refusal says why.
  if (!known) return nullptr;
  if (shards_.size() == 1) {
    return std::make_shared<const Table>(std::string(name), moment, 0, *this);
  }
  return std::make_shared<const SpreadTable>(std::string(name), std::move(symbol_column), moment,
                                             *this);
}

// The environment of one request.
class GatewayEnvironment::OfRequest final : public query::Environment {
 public:
  explicit OfRequest(GatewayEnvironment& gateway) : gateway_(gateway) {}

  std::optional<Snapshot> FindTable(std::string_view) override { return std::nullopt; }
  std::shared_ptr<const query::RemoteTable> FindRemote(std::string_view name) override {
    return gateway_.FindRemoteAt(moment(), name);
  }
  std::vector<std::string> TableNames() override {
    std::set<std::string> names;
    for (const ShardContents& shard : moment()->contents->shards) {
      for (const Side side : {Side::kLast, Side::kPast}) {
        for (const auto& [name, columns] : shard.Of(side).tables) names.insert(name);
      }
    }
    return {names.begin(), names.end()};
  }
  int64_t NowNs() override { return gateway_.NowNs(); }
  std::optional<Value> FindValue(std::string_view name) override {
    if (name != "date") return std::nullopt;
    const Contents& first = *moment()->first;
    if (!first.status.ok()) return std::nullopt;
    return Value::Vector(Type::kDate, std::span<const int32_t>(first.days));
  }
  std::optional<absl::StatusOr<Value>> Call(std::string_view name,
                                            std::span<const Value> args) override {
    return gateway_.Call(name, args);
  }
  bool Changes(std::string_view name, std::span<const Value> args) override {
    return gateway_.Changes(name, args);
  }
  absl::Status Refusal(std::string_view) override { return moment()->contents->status; }
  std::vector<std::string> FunctionNames() override { return gateway_.FunctionNames(); }
  std::vector<std::string> ValueNames() override { return gateway_.ValueNames(); }
  query::ProcessFacts Facts() override { return gateway_.Facts(); }

 private:
  // Begins when the request first needs it: a gateway that was just started would have to wait.
  const std::shared_ptr<Moment>& moment() {
    if (moment_ == nullptr) moment_ = gateway_.Now();
    return moment_;
  }

  GatewayEnvironment& gateway_;
  std::shared_ptr<Moment> moment_;
};

std::unique_ptr<query::Environment> GatewayEnvironment::ForRequest() {
  return std::make_unique<OfRequest>(*this);
}

std::shared_ptr<const query::RemoteTable> GatewayEnvironment::FindRemote(std::string_view name) {
  return FindRemoteAt(Now(), name);
}

absl::Status GatewayEnvironment::Refusal(std::string_view name) {
  return OfRequest(*this).Refusal(name);
}

std::vector<std::string> GatewayEnvironment::TableNames() { return OfRequest(*this).TableNames(); }

std::optional<Value> GatewayEnvironment::FindValue(std::string_view name) {
  return OfRequest(*this).FindValue(name);
}

std::vector<std::string> GatewayEnvironment::FunctionNames() {
  return {".gateway.stats", ".gateway.replicas"};
}

std::optional<absl::StatusOr<Value>> GatewayEnvironment::Call(std::string_view name,
                                                              std::span<const Value> args) {
  if (name != ".gateway.stats" && name != ".gateway.replicas") return std::nullopt;
  if (!IsNothing(args)) return InvalidArgument("type: {} does not take that", name);
  return name == ".gateway.stats" ? Stats() : ReplicaTable();
}

std::optional<absl::StatusOr<Value>> GatewayEnvironment::AnswerWhole(
    const Value& request, const query::Limits& limits, const query::KeptNames* names) {
  // No process has the rows of several shards.
  if (shards_.size() > 1) return std::nullopt;
  const std::shared_ptr<const Contents> all = watch_.Get();
  const ShardContents& contents = all->shards.front();
  const ShardReplicas& replicas = shards_.front();
  // Without rdbs, an hdb has all days, if the others do not have different ones.
  const bool only_past = replicas.last == nullptr;
  if (only_past && !HaveTheSameDays(contents.past)) return std::nullopt;
  const auto is_own = [&](std::string_view name) {
    if (names != nullptr && names->Has(name)) return true;
    return !only_past && contents.past.tables.contains(name) &&
           !contents.last.tables.contains(name);
  };
  bool only_reads = false;
  if (!IsForOneProcess(request, is_own, only_past, &only_reads)) return std::nullopt;
  counters_.whole.fetch_add(1, std::memory_order_relaxed);
  absl::StatusOr<Value> answer =
      askers_.Ask(only_past ? Question{replicas.past.get(), &request, only_reads}
                            : ForLast(*replicas.last, contents.last, request, only_reads, {}),
                  limits);
  if (answer.ok() && query::ApproximateBytes(*answer) > limits.max_result_bytes) {
    return query::LimitError("an answer of more than {} bytes", limits.max_result_bytes);
  }
  return answer;
}

Value GatewayEnvironment::Stats() const {
  SymbolVector names;
  std::vector<int64_t> values;
  const auto add = [&](std::string_view name, uint64_t value) {
    names.push_back(name);
    values.push_back(static_cast<int64_t>(value));
  };
  add("whole", counters_.whole.load(std::memory_order_relaxed));
  add("parts", counters_.parts.load(std::memory_order_relaxed));
  add("moved", counters_.moved.load(std::memory_order_relaxed));
  const int64_t now_ns = SteadyNs();
  uint64_t failures = 0, hedged = 0, shards_live = 0;
  uint64_t count[2] = {}, live[2] = {};  // By side.
  for (const ShardReplicas& shard : shards_) {
    bool answers = true;
    for (const Side side : {Side::kPast, Side::kLast}) {
      const Replicas* const replicas = shard.On(side);
      if (replicas == nullptr) continue;
      uint64_t answering = 0;
      for (size_t i = 0; i < replicas->size(); ++i) {
        const Replica& replica = replicas->at(i);
        answering += replica.health == Health::kLive && !replica.IsSilent(now_ns) ? 1 : 0;
        failures += replica.failures.load(std::memory_order_relaxed);
        hedged += replica.hedged.load(std::memory_order_relaxed);
      }
      count[static_cast<size_t>(side)] += replicas->size();
      live[static_cast<size_t>(side)] += answering;
      answers &= answering > 0;
    }
    shards_live += answers ? 1 : 0;
  }
  constexpr auto kLast = static_cast<size_t>(Side::kLast), kPast = static_cast<size_t>(Side::kPast);
  add("rdbs", count[kLast]);
  add("rdbs_live", live[kLast]);
  add("hdbs", count[kPast]);
  add("hdbs_live", live[kPast]);
  add("shards", shards_.size());
  add("shards_live", shards_live);
  add("failures", failures);
  add("hedged", hedged);
  for (const auto& [name, value] : serve::NamedCounts(queries_)) add(name, value);
  return Value::Dict(Value::Symbols(std::move(names)), Longs(values));
}

Value GatewayEnvironment::ReplicaTable() const {
  SymbolVector shards, sides, addresses, states;
  std::vector<uint8_t> urgent;
  std::vector<int64_t> under_way, answers, failures, hedged;
  const int64_t now_ns = SteadyNs();
  const auto add = [&](const ShardReplicas& shard, Side side, const Replica& replica) {
    shards.push_back(shard.id.shard);
    sides.push_back(side == Side::kLast ? "rdb" : "hdb");
    addresses.push_back(replica.address.ToString());
    urgent.push_back(replica.urgent ? 1 : 0);
    const Health health = replica.health.load(std::memory_order_relaxed);
    states.push_back(replica.IsSilent(now_ns) ? "silent" : NameOf(health));
    under_way.push_back(replica.under_way.load(std::memory_order_relaxed));
    answers.push_back(static_cast<int64_t>(replica.answers.load(std::memory_order_relaxed)));
    failures.push_back(static_cast<int64_t>(replica.failures.load(std::memory_order_relaxed)));
    hedged.push_back(static_cast<int64_t>(replica.hedged.load(std::memory_order_relaxed)));
  };
  for (const ShardReplicas& shard : shards_) {
    for (const Side side : {Side::kLast, Side::kPast}) {
      const Replicas* const replicas = shard.On(side);
      for (size_t i = 0; replicas != nullptr && i < replicas->size(); ++i) {
        add(shard, side, replicas->at(i));
      }
    }
  }
  return Value::Table(
      {"shard", "side", "address", "urgent", "state", "under_way", "answers", "failures", "hedged"},
      {Value::Symbols(std::move(shards)), Value::Symbols(std::move(sides)),
       Value::Symbols(std::move(addresses)),
       Value::Vector(Type::kBoolean, std::span<const uint8_t>(urgent)),
       Value::Symbols(std::move(states)), Longs(under_way), Longs(answers), Longs(failures),
       Longs(hedged)});
}

}  // namespace tickstack::gateway
