#include "gateway/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "query/columns/elements.h"

namespace tickstack::gateway {
namespace {

using namespace std::chrono_literals;

// The time for the answers of one side. More for a process whose last answer took long, since it
// may be far away: an answer that is always late would never count.
constexpr std::chrono::nanoseconds kAnswersWithin = 50ms, kLateAnswersWithin = 1s;
// In the first pass, which all requests wait for.
constexpr std::chrono::nanoseconds kFirstAnswersWithin = 1s;
// A connection is made anew if its question has had no answer for this time.
constexpr int64_t kGiveUpNs = 2'000'000'000;

// (whether it has read its log, whether it is live; days; columns by table; number of key columns
// by table; symbol column by table; shard; why a day is not written; whether it had read its log
// before all this). The last argument is evaluated first. An rdb that reads its log meanwhile
// answers 1 to one of both questions only. The names of the tables are asked once, so that all
// dictionaries have the same tables: an rdb may get one meanwhile. Before the first day ends, an
// hdb has no `date`.
// The arguments have names that no table has: a table `x` would be hidden by an argument x.
constexpr std::string_view kLastQuestion =
    "{{[askedTables;wasReady](.rdb.stats[]`caught_up`live;.rdb.days[];"
    "askedTables!cols each askedTables;askedTables!count each keys each askedTables;"
    "{};{};@[value;\".rdb.blocked[]\";\"\"];wasReady)}}[tables[];.rdb.stats[]`caught_up]";
// An hdb may load its database again meanwhile. Its days are asked first: a day that is not known
// yet is one of the last side, but one whose tables are not known would have no rows.
constexpr std::string_view kPastQuestion =
    "{{[askedTables;askedDays](1 1;askedDays;askedTables!cols each askedTables;();{};();\"\";1)}}"
    "[tables[];@[value;`date;0#0Nd]]";
// Only shards need this: the column by which symbols are spread. Null if a day of the table cannot
// be read: that does not keep the other tables.
constexpr std::string_view kSymbolColumns =
    "askedTables!{[askedTable]@[{[askedTable]askedNames:exec c from meta askedTable "
    "where t=\"s\";$[`sym in askedNames;`sym;first askedNames]};askedTable;`]}each askedTables";
// An rdb of an earlier version does not know it, nor .rdb.blocked.
constexpr std::string_view kShard = ".u.shard[]", kShardIfAny = "@[value;\".u.shard[]\";()]";

Value QuestionOf(Side side, bool shards) {
  const std::string_view symbol_columns = shards ? kSymbolColumns : "()";
  const std::string_view shard = shards ? kShard : kShardIfAny;
  return Value::String(side == Side::kLast ? fmt::format(kLastQuestion, symbol_columns, shard)
                                           : fmt::format(kPastQuestion, symbol_columns));
}

constexpr std::string_view kNotReady = "it has not read its whole log yet";

// Takes what a process has. An rdb that still reads its log has not all of it: nothing is taken.
// `shard`: of an rdb; nullptr: of an hdb, which may have days of any map.
absl::Status Take(const Value& answer, const ShardId* shard, ProcessContents& process,
                  Health& health) {
  constexpr size_t kItems = 8;
  if (!answer.is_list() || answer.count() != kItems) {
    return FailedPrecondition("it answers as neither an rdb nor an hdb");
  }
  Value items[kItems];
  for (size_t i = 0; i < kItems; ++i) items[i] = query::ItemAt(answer, i);
  const auto& [states, days, tables, keys, symbol_columns, of_shard, blocked, was_ready] = items;
  const bool has_tables = tables.is_dict() && tables.values().is_array();
  const bool has_names = has_tables && tables.keys().is(Type::kSymbol);
  if (!states.is(Type::kLong) || states.count() != 2 || !days.is(Type::kDate) || !has_tables ||
      (!has_names && tables.count() > 0) || !was_ready.is_atom_of(Type::kLong)) {
    return FailedPrecondition("its tables and days are not those of an rdb or hdb");
  }
  const auto state = states.span<int64_t>();
  if (state[0] != 1 || was_ready.as<int64_t>() != 1) {
    health = Health::kBehind;
    return FailedPrecondition("{}", kNotReady);
  }
  const ShardId found = ParseShardId(of_shard).value_or(ShardId());
  if (shard != nullptr && found != *shard) {
    health = Health::kOther;
    return FailedPrecondition("it is {}, expected {}", Describe(found), Describe(*shard));
  }
  health = state[1] != 1 ? Health::kDoubtful : Health::kLive;
  process.days.assign(days.span<int32_t>().begin(), days.span<int32_t>().end());
  std::ranges::sort(process.days);
  process.blocked = blocked.is(Type::kChar) ? std::string(blocked.text()) : std::string();
  process.tables.clear();
  process.shapes.clear();
  for (size_t i = 0; has_names && i < tables.keys().count(); ++i) {
    const Value columns = query::ItemAt(tables.values(), i);
    if (!columns.is(Type::kSymbol)) continue;
    const std::string table(tables.keys().symbols()[i]);
    std::vector<std::string>& names = process.tables[table];
    TableShape& shape = process.shapes[table];
    for (size_t k = 0; k < columns.count(); ++k) {
      shape.columns.emplace_back(columns.symbols()[k]);
      if (columns.symbols()[k] != query::kDateColumn) names.emplace_back(columns.symbols()[k]);
    }
    const bool has_keys = keys.is_dict() && keys.values().is(Type::kLong) && i < keys.count();
    if (has_keys) shape.key_columns = static_cast<size_t>(keys.values().span<int64_t>()[i]);
  }
  process.symbol_columns.clear();
  if (!symbol_columns.is_dict() || !symbol_columns.values().is(Type::kSymbol)) {
    return absl::OkStatus();
  }
  for (size_t i = 0; i < symbol_columns.keys().count(); ++i) {
    const std::string_view column = symbol_columns.values().symbols()[i];
    if (column.empty()) continue;
    process.symbol_columns.emplace(symbol_columns.keys().symbols()[i], column);
  }
  return absl::OkStatus();
}

// Collects the days and tables of all processes of a side.
void Collect(SideContents& side) {
  side.days.clear();
  side.tables.clear();
  side.shapes.clear();
  side.symbol_columns.clear();
  for (const ProcessContents& process : side.processes) {
    side.days.insert(side.days.end(), process.days.begin(), process.days.end());
    side.tables.insert(process.tables.begin(), process.tables.end());
    side.shapes.insert(process.shapes.begin(), process.shapes.end());
    side.symbol_columns.insert(process.symbol_columns.begin(), process.symbol_columns.end());
  }
  std::ranges::sort(side.days);
  side.days.erase(std::ranges::unique(side.days).begin(), side.days.end());
}

// Returns why a side has not answered: not once, or not in the last pass (`now`).
absl::Status NotAnswered(const Replicas* replicas, const SideContents& side, bool now) {
  if (replicas == nullptr) return absl::OkStatus();
  std::string failures;
  for (size_t i = 0; i < side.processes.size(); ++i) {
    const ProcessContents& process = side.processes[i];
    if (now ? process.failure.empty() : process.has_answered) return absl::OkStatus();
    failures += fmt::format("{}{}: {}", failures.empty() ? "" : "; ",
                            replicas->at(i).address.ToString(), process.failure);
  }
  return Unavailable("{}: no answer: {}", replicas->name(), failures);
}

}  // namespace

Watch::Watch(std::span<const ShardReplicas> shards)
    : shards_(shards),
      last_question_(QuestionOf(Side::kLast, shards.size() > 1)),
      past_question_(QuestionOf(Side::kPast, shards.size() > 1)),
      last_links_(LinksOf(Side::kLast)),
      past_links_(LinksOf(Side::kPast)),
      thread_([this] { Run(); }) {}

std::vector<Watch::Asked> Watch::LinksOf(Side side) {
  std::vector<Asked> links;
  for (size_t shard = 0; shard < shards_.size(); ++shard) {
    const Replicas* const replicas = shards_[shard].On(side);
    if (replicas == nullptr) continue;
    LinkOptions options = replicas->options().link;
    options.ready_question.reset();  // The watch wants to hear from those that are not ready.
    for (size_t i = 0; i < replicas->size(); ++i) {
      links.push_back({shard, i, std::make_unique<Link>(loop_, replicas->at(i).address, options)});
    }
  }
  return links;
}

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

void Watch::AskSide(Side side, std::vector<ShardContents>& shards) {
  std::vector<Asked>& links = side == Side::kLast ? last_links_ : past_links_;
  const Value& question = side == Side::kLast ? last_question_ : past_question_;
  const auto contents_of = [&](const Asked& asked) -> ProcessContents& {
    ShardContents& shard = shards[asked.shard];
    return (side == Side::kLast ? shard.last : shard.past).processes[asked.process];
  };
  std::chrono::nanoseconds patience = kAnswersWithin;
  for (Asked& asked : links) {
    Link& link = *asked.link;
    asked.sent = false;  // An answer to the question of an earlier pass is too old for this one.
    if (link.asks() && SteadyNs() - link.sent_ns() > kGiveUpNs) {
      contents_of(asked).failure = "no answer for 2 s";
      link.Stop();
    }
    if (link.asks()) continue;
    const bool late = link.has_answer() && !absl::IsUnavailable(link.TakeAnswer().status());
    Replica& replica = shards_[asked.shard].On(side)->at(asked.process);
    const auto may_take = std::clamp(2 * std::chrono::nanoseconds(link.round_trip_ns()),
                                     kAnswersWithin, kLateAnswersWithin);
    patience = std::max(patience, may_take);
    replica.silent_after_ns = std::max(Replica::kSilentNs, int64_t{may_take.count()});
    if (late || replica.waits_since_ns == 0) replica.waits_since_ns = SteadyNs();
    link.Send(question, nullptr);
    asked.sent = true;
  }
  const auto shard_of = [&](const Asked& asked) {
    return side == Side::kLast ? &shards_[asked.shard].id : nullptr;
  };
  const bool first = contents_ == nullptr;  // Only this thread writes it.
  const auto is_done = [](const Asked& asked) { return !asked.sent || asked.link->has_answer(); };
  loop_.RunUntil([&] { return std::ranges::all_of(links, is_done); },
                 first ? kFirstAnswersWithin : patience);
  for (Asked& asked : links) {
    ProcessContents& process = contents_of(asked);
    if (process.failure.empty()) process.failure = "no answer yet";
    if (!asked.sent || !asked.link->has_answer()) continue;
    const absl::StatusOr<Value> answer = asked.link->TakeAnswer();
    Health health = Health::kUnknown;
    const absl::Status taken =
        answer.ok() ? Take(*answer, shard_of(asked), process, health) : answer.status();
    Replica& replica = shards_[asked.shard].On(side)->at(asked.process);
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

// Says what a shard has after a pass. `before`: the pass before; nullptr: this is the first.
static void Conclude(const ShardReplicas& replicas, const ShardContents* before,
                     ShardContents& shard) {
  SideContents &last = shard.last, &past = shard.past;
  Collect(last);
  Collect(past);
  if (before != nullptr && replicas.past != nullptr) {
    const bool knows_newest = !last.days.empty();
    for (const int32_t day : before->last.days) {
      if (knows_newest && day > last.days.back()) break;
      if (std::ranges::binary_search(last.days, day)) continue;
      last.days.insert(std::ranges::lower_bound(last.days, day), day);
    }
  }
  std::erase_if(last.days, [&](int32_t day) { return std::ranges::binary_search(past.days, day); });
  shard.status = NotAnswered(replicas.last.get(), last, /*now=*/false);
  shard.status.Update(NotAnswered(replicas.past.get(), past, /*now=*/false));
  shard.now = NotAnswered(replicas.last.get(), last, /*now=*/true);
  shard.now.Update(NotAnswered(replicas.past.get(), past, /*now=*/true));
}

void Watch::Pass() {
  std::shared_ptr<const Contents> before;
  {
    const std::lock_guard lock(mutex_);
    before = contents_;
  }
  auto made = std::make_shared<Contents>();
  made->shards = before == nullptr ? std::vector<ShardContents>(shards_.size()) : before->shards;
  for (size_t i = 0; before == nullptr && i < shards_.size(); ++i) {
    const auto size_of = [](const Replicas* side) { return side == nullptr ? 0 : side->size(); };
    made->shards[i].last.processes.resize(size_of(shards_[i].last.get()));
    made->shards[i].past.processes.resize(size_of(shards_[i].past.get()));
  }
  AskSide(Side::kLast, made->shards);
  AskSide(Side::kPast, made->shards);
  for (size_t i = 0; i < shards_.size(); ++i) {
    Conclude(shards_[i], before == nullptr ? nullptr : &before->shards[i], made->shards[i]);
    made->status.Update(made->shards[i].status);
    for (const SideContents* const side : {&made->shards[i].past, &made->shards[i].last}) {
      made->days.insert(made->days.end(), side->days.begin(), side->days.end());
    }
  }
  std::ranges::sort(made->days);
  made->days.erase(std::ranges::unique(made->days).begin(), made->days.end());
  if (before == nullptr && !made->status.ok()) LogWarn("{}", Message(made->status));
  const std::lock_guard lock(mutex_);
  contents_ = std::move(made);
  done_ = begun_;
  changed_.notify_all();
}

}  // namespace tickstack::gateway
