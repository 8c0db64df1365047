// The values `.u.i`, `.u.L`..., the counters of `.u.stats[]`, and `.u.activity[]`.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tickerplant/connection_outlet.h"
#include "tickerplant/verbs.h"
#include "wire/protocol.h"

namespace tickstack::tickerplant {

namespace protocol = wire::protocol;

namespace {

Value SymbolsOf(const std::vector<std::string>& names) {
  SymbolVector symbols;
  for (const std::string& name : names) symbols.push_back(name);
  return Value::Symbols(std::move(symbols));
}

Value LongsBy(SymbolVector names, const std::vector<int64_t>& values) {
  return Value::Dict(Value::Symbols(std::move(names)),
                     Value::Vector(Type::kLong, std::span<const int64_t>(values)));
}

}  // namespace

constexpr TickerplantService::Verbs::NamedValue TickerplantService::Verbs::kValues[] = {
    {protocol::kPublishedCount, &Verbs::PublishedCount},
    {protocol::kLoggedCount, &Verbs::LoggedCount},
    {protocol::kLogPath, &Verbs::LogPath},
    {protocol::kLogHandle, &Verbs::LogHandle},
    {protocol::kCuts, &Verbs::Cuts},
    {protocol::kDate, &Verbs::Date},
    {protocol::kTables, &Verbs::Tables},
    {protocol::kSubscriptions, &Verbs::Subscriptions},
    {protocol::kVersionValue, &Verbs::Version},
};

// `.u.w` tells what others subscribe to.
bool TickerplantService::Verbs::MaySee(std::string_view value) const {
  const security::Grants* const grants = access_.grants();
  return value != protocol::kSubscriptions || grants == nullptr || grants->administer;
}

absl::Status TickerplantService::Verbs::Refusal(std::string_view name) {
  return MaySee(name) ? absl::OkStatus() : access_.MayAdminister(name);
}

std::optional<Value> TickerplantService::Verbs::FindValue(std::string_view name) {
  if (!MaySee(name)) return std::nullopt;
  const auto value = std::ranges::find(kValues, name, &NamedValue::name);
  if (value != std::end(kValues)) return (this->*value->get)();
  if (const int table = plant().FindTable(name); table >= 0 && access_.Knows(name)) {
    return EmptyTable(plant().schemas()[static_cast<size_t>(table)]);
  }
  return std::nullopt;
}

std::vector<std::string> TickerplantService::Verbs::ValueNames() {
  std::vector<std::string> names;
  for (const NamedValue& value : kValues) {
    if (MaySee(value.name)) names.emplace_back(value.name);
  }
  return names;
}

std::vector<std::string> TickerplantService::Verbs::TableNames() {
  std::vector<std::string> names;
  for (const Schema& schema : plant().schemas()) {
    if (access_.Knows(schema.table)) names.push_back(schema.table);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Value TickerplantService::Verbs::PublishedCount() {
  // Clients ask for a position to subscribe there, and q evaluates (.u.sub[`;`];.u `i`L) from the
  // right: the subscription must not publish anything that is before the position.
  plant().Publish();
  return Value::Long(static_cast<int64_t>(plant().published_seq()));
}

Value TickerplantService::Verbs::LoggedCount() {
  return Value::Long(static_cast<int64_t>(plant().logged_seq()));
}

Value TickerplantService::Verbs::LogPath() { return Value::Symbol(":" + plant().log().path()); }

// There is always a log; kdb+ has the number of its handle here.
Value TickerplantService::Verbs::LogHandle() { return Value::Int(1); }

Value TickerplantService::Verbs::Date() { return Value::Date(plant().date()); }

Value TickerplantService::Verbs::Tables() { return SymbolsOf(TableNames()); }

Value TickerplantService::Verbs::Version() { return Value::Long(protocol::kVersion); }

// `.u.cuts`: for each power cut that shortened today's log, the number of messages that remained.
// A subscriber that had more of them starts over.
Value TickerplantService::Verbs::Cuts() {
  std::vector<int64_t> messages;
  for (const tplog::TplogState::Cut& cut : plant().log().state().cuts) {
    messages.push_back(static_cast<int64_t>(cut.messages));
  }
  return Value::Vector(Type::kLong, std::span<const int64_t>(messages));
}

// `.u.w`: table -> list of (handle; symbols).
Value TickerplantService::Verbs::Subscriptions() {
  SymbolVector tables;
  std::vector<Value> lists;
  for (size_t i = 0; i < plant().schemas().size(); ++i) {
    tables.push_back(plant().schemas()[i].table);
    std::vector<Value> pairs;
    for (const Subscription* subscription : plant().SubscriptionsOf(i)) {
      const auto* outlet = static_cast<const ConnectionOutlet*>(subscription->outlet);
      std::vector<std::string> symbols(subscription->symbols.begin(), subscription->symbols.end());
      std::sort(symbols.begin(), symbols.end());
      pairs.push_back(Value::List({Value::Int(static_cast<int32_t>(outlet->connection().id())),
                                   symbols.empty() ? Value::Symbol("") : SymbolsOf(symbols)}));
    }
    lists.push_back(Value::List(std::move(pairs)));
  }
  return Value::Dict(Value::Symbols(std::move(tables)), Value::List(std::move(lists)));
}

Value TickerplantService::Stats() const {
  const Tickerplant& plant = *tickerplant_;
  const TickerplantCounters& counters = plant.counters();
  SymbolVector names;
  std::vector<int64_t> values;
  const auto add = [&](std::string_view name, uint64_t value) {
    names.push_back(name);
    values.push_back(static_cast<int64_t>(value));
  };
  add("upds", counters.upds);
  add("rows", counters.rows);
  const FeedNames::Counters& feeds = feed_names_.counters();
  add("upds_refused", counters.upds_refused + feeds.upds_refused);
  add("rows_duplicated", counters.rows_duplicated);
  add("log_retries", counters.log_retries);
  add("logged_seq", plant.logged_seq());
  add("published_seq", plant.published_seq());
  add("published_messages", plant.publication().published_messages());
  add("log_bytes", plant.log().totals().log_bytes);
  add("connections", connections_.size());
  add("subscribers", plant.subscribers());
  add("subscribers_dropped", dropped_);
  size_t queued = 0, queued_max = 0;
  for (const auto& [id, outlet] : outlets_) {
    queued += outlet->connection().queued_bytes();
    queued_max = std::max(queued_max, outlet->connection().queued_bytes());
  }
  add("queued_bytes", queued);
  add("queued_bytes_max", queued_max);
  add("feeds", feed_names_.Names().size());
  add("feed_claims_refused", feeds.claims_refused);
  add("feed_takeovers", feeds.takeovers);
  add("feed_upds_refused", feeds.upds_refused);
  add("subscribers_behind", plant.catch_up().size());
  add("fell_behind", counters.fell_behind);
  const CatchUp::Lag furthest = plant.catch_up().LagOfFurthest();
  add("behind_rows", furthest.rows);
  add("behind_ms", static_cast<uint64_t>(furthest.ns / 1'000'000));
  add("feeds_waiting", feed_windows_.waiting());
  add("day_overdue_ms", static_cast<uint64_t>(plant.OverdueNs() / 1'000'000));
  return Value::Dict(Value::Symbols(std::move(names)),
                     Value::Vector(Type::kLong, std::span<const int64_t>(values)));
}

absl::StatusOr<Value> TickerplantService::UpstreamStats() const {
  if (upstream_ == nullptr) return absl::NotFoundError("upstream: this tickerplant has none");
  return upstream_->Stats();
}

// `.u.activity[]`: dictionaries. `rows`: table -> rows logged since the process started; `table_ms`
// and `feed_ms`: table or feed -> ms since its last rows were logged, without those that have had
// none. Feeds are those of today that number their rows. Leaves out tables that the client may not
// know, and feeds of others if there are such tables: a feed's name may say what it sends.
Value TickerplantService::ActivityOfToday(const security::Access& access) const {
  const Tickerplant& plant = *tickerplant_;
  const int64_t now_ns = clock_.MonotonicNs();
  SymbolVector tables, active_tables, feeds;
  std::vector<int64_t> rows, table_ms, feed_ms;
  for (size_t i = 0; i < plant.schemas().size(); ++i) {
    if (!access.Knows(plant.schemas()[i].table)) continue;
    tables.push_back(plant.schemas()[i].table);
    rows.push_back(static_cast<int64_t>(plant.rows_logged()[i]));
    if (plant.activity().table_ns(i) == Activity::kNever) continue;
    active_tables.push_back(plant.schemas()[i].table);
    table_ms.push_back((now_ns - plant.activity().table_ns(i)) / 1'000'000);
  }
  for (const auto& [feed, ns] : plant.activity().feed_ns()) {
    if (!access.KnowsAllTables() && plant.OwnerOf(feed) != access.user()) continue;
    feeds.push_back(feed);
    feed_ms.push_back((now_ns - ns) / 1'000'000);
  }
  return Value::Dict(
      Value::Symbols({"rows", "table_ms", "feed_ms"}),
      Value::List({LongsBy(std::move(tables), rows), LongsBy(std::move(active_tables), table_ms),
                   LongsBy(std::move(feeds), feed_ms)}));
}

}  // namespace tickstack::tickerplant
