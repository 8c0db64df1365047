#include "tickerplant/verbs.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/logging.h"
#include "base/printable.h"
#include "base/status.h"
#include "serve/guarded_environment.h"
#include "tickerplant/connection_outlet.h"
#include "wire/codec.h"
#include "wire/protocol.h"

namespace tickstack::tickerplant {

namespace protocol = wire::protocol;

namespace {

constexpr size_t kSymbolsMax = 100'000;  // Symbols of one subscription.
constexpr size_t kProcessNameBytesMax = 256;

bool IsName(const Value& value) { return value.is_atom_of(Type::kSymbol); }
bool IsName(const Value& value, std::string_view name) {
  return IsName(value) && value.symbol() == name;
}

// Returns a feed's instance: a symbol, or a guid, which is written as q shows it.
std::optional<std::string> InstanceOf(const Value& value) {
  if (IsName(value)) return std::string(value.symbol());
  if (!value.is_atom_of(Type::kGuid)) return std::nullopt;
  std::string text;
  for (const std::byte byte : value.elements()) {
    if (text.size() == 8 || text.size() == 13 || text.size() == 18 || text.size() == 23)
      text += '-';
    text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  }
  return text;
}

// How a feed claims its name.
struct ClaimHow {
  bool takeover = false;
  bool again = false;
};

// Reads the third item of `.u.feed`: a symbol or several. nullopt for anything else.
std::optional<ClaimHow> HowOf(std::span<const Value> args) {
  ClaimHow how;
  if (args.size() < 3) return how;
  const bool is_one = IsName(args[2]);
  if (!is_one && !args[2].is(Type::kSymbol)) return std::nullopt;
  for (size_t i = 0; i < (is_one ? 1 : args[2].symbols().size()); ++i) {
    const std::string_view word = is_one ? args[2].symbol() : args[2].symbols()[i];
    if (word != protocol::kTakeover && word != protocol::kAgain) return std::nullopt;
    (word == protocol::kTakeover ? how.takeover : how.again) = true;
  }
  return how;
}

// Returns a list of symbols as a vector, and anything else as it is. q makes a vector of such a
// list itself, but other clients, such as PyKX, send it as a list.
Value WithVectorOfSymbols(const Value& value) {
  const auto is_symbol = [](const Value& item) { return item.is_atom_of(Type::kSymbol); };
  if (!value.is_list() || value.count() == 0 || !std::ranges::all_of(value.items(), is_symbol)) {
    return value;
  }
  SymbolVector symbols;
  for (const Value& item : value.items()) symbols.push_back(item.symbol());
  return Value::Symbols(std::move(symbols));
}

// Says what was sent where symbols are expected, and for text how to write it.
std::string FoundText(const Value& value) {
  if (value.type() != Type::kChar) {
    return fmt::format(
        "found {} {}", value.is_atom() ? "the atom" : "a list",
        value.is_list() ? "of several types" : "of type " + std::string(NameOf(value.type())));
  }
  const std::string text = Printable(value.text().substr(0, 40));
  return fmt::format("found the text \"{}\", which is a symbol as `{}", text, text);
}

// Returns the symbols of a subscription; an empty set means all.
absl::StatusOr<StringSet> SymbolSet(const Value& given) {
  const Value value = WithVectorOfSymbols(given);
  StringSet set;
  if (value.is_null()) return set;
  if (value.is_atom_of(Type::kSymbol)) {
    if (!value.symbol().empty()) set.emplace(value.symbol());
    return set;
  }
  if (!value.is(Type::kSymbol))
    return InvalidArgument(
        "type: .u.sub[table;symbols]: symbols are a symbol, a list of symbols, or ` for all; {}",
        FoundText(value));
  if (value.symbols().size() > kSymbolsMax) {
    return InvalidArgument("limit: .u.sub[table;symbols]: {} symbols, at most {}",
                           value.symbols().size(), kSymbolsMax);
  }
  for (size_t i = 0; i < value.symbols().size(); ++i) set.emplace(value.symbols()[i]);
  // All of them are wanted if the empty name is among them, and none if the list is empty.
  if (set.contains("")) return StringSet();
  if (set.empty())
    return absl::InvalidArgumentError("length: .u.sub[table;symbols]: no symbols; ` is all");
  return set;
}

// Returns an error unless `name` can be the name of a process.
absl::Status CheckProcessName(std::string_view verb, const Value& name) {
  if (!IsName(name)) return InvalidArgument("type: {}[name] takes a symbol", verb);
  const size_t bytes = name.symbol().size();
  if (bytes <= kProcessNameBytesMax) return absl::OkStatus();
  return InvalidArgument("length: {}[name]: a name of {} bytes, at most {}", verb, bytes,
                         kProcessNameBytesMax);
}

}  // namespace

// The verbs with rows come first: FindRows looks at no others.
constexpr TickerplantService::Verb TickerplantService::Verbs::kVerbs[] = {
    {protocol::kUpd, "[table;x]", 2, 2, kLogged, kPublish, &Service::StagePlain},
    {protocol::kFeedUpd, "[table;x]", 2, 2, kLogged, kPublish, &Service::StagePlain},
    {protocol::kNumberedUpd, "[feed;row;table;x]", 4, 4, kLoggedOrRefused, kPublish,
     &Service::StageNumbered},
    {protocol::kSubscribe, "[table;symbols]", 2, 2, kResult, kSubscribe, nullptr,
     &Verbs::SubscribePlain},
    {protocol::kSubscribeNumbered, "[tables;symbols;how]", 2, 3, kResult, kSubscribe, nullptr,
     &Verbs::SubscribeNumbered},
    {protocol::kFeed, "[name;instance;how]", 1, 3, kResult, kPublish, nullptr, &Verbs::Feed},
    {protocol::kFeeds, "[]", 0, 1, kResult, kAdminister, nullptr, &Verbs::Feeds},
    {protocol::kWindow, "[rows]", 1, 1, kResult, kPublish, nullptr, &Verbs::Window},
    {protocol::kLog, "[from;bytes;path]", 2, 3, kResult, kSubscribe, nullptr, &Verbs::Log},
    {protocol::kLogs, "[]", 0, 1, kResult, kSubscribe, nullptr, &Verbs::Logs},
    {protocol::kChain, "[date;from;bytes]", 3, 3, kResult, kSubscribe, nullptr, &Verbs::Chain},
    {protocol::kEnd, "[date]", 0, 1, kResult, kAdminister, nullptr, &Verbs::EndDay},
    {protocol::kEndOfDay, "[date]", 0, 1, kResult, kAdminister, nullptr, &Verbs::EndDay},
    {protocol::kPublisher, "[name]", 1, 1, kResult, kAdminister, nullptr, &Verbs::AddPublisher},
    {protocol::kCloser, "[name]", 1, 1, kResult, kAdminister, nullptr, &Verbs::AddCloser},
    {protocol::kClosed, "[name;date]", 2, 2, kResult, kAdminister, nullptr, &Verbs::Closed},
    {protocol::kStats, "[]", 0, 1, kResult, kNothing, nullptr, &Verbs::Stats},
    {protocol::kActivity, "[]", 0, 1, kResult, kNothing, nullptr, &Verbs::ActivityOfToday},
    {protocol::kUpstream, "[]", 0, 1, kResult, kNothing, nullptr, &Verbs::UpstreamStats},
    {protocol::kReplica, "[]", 0, 1, kResult, kNothing, nullptr, &Verbs::ReplicaStats},
    {protocol::kShard, "[]", 0, 1, kResult, kNothing, nullptr, &Verbs::Shard},
    {protocol::kAlive, "[]", 0, 1, kResult, kNothing, nullptr, &Verbs::SayAlive},
    {protocol::kReplicate, "[name;epoch;date;seqs;digests;shard;clock;tables]", 5, 8, kResult,
     kAdminister, nullptr, &Verbs::Replicate},
    {protocol::kReplicaAcked, "[epoch;date;seq;clock]", 3, 4, kResult, kAdminister, nullptr,
     &Verbs::ReplicaAcked},
};

const TickerplantService::Verb* TickerplantService::Verbs::FindRows(std::string_view name) {
  static_assert(
      std::ranges::is_partitioned(kVerbs, [](const Verb& verb) { return verb.stage != nullptr; }));
  for (const Verb& verb : kVerbs) {
    if (verb.stage == nullptr) break;
    if (verb.name == name) return &verb;
  }
  return nullptr;
}

bool TickerplantService::Verbs::IsWithoutRows(std::string_view name) {
  return std::ranges::any_of(
      kVerbs, [&](const Verb& verb) { return verb.name == name && verb.stage == nullptr; });
}

std::optional<absl::StatusOr<Value>> TickerplantService::Verbs::Call(std::string_view name,
                                                                     Args args) {
  const auto verb = std::ranges::find(kVerbs, name, &Verb::name);
  if (verb == std::end(kVerbs)) return std::nullopt;
  if (args.size() < verb->arguments_min || args.size() > verb->arguments_max) {
    return InvalidArgument("rank: {}{}, found {} arguments", name, verb->arguments, args.size());
  }
  if (absl::Status may = CheckRight(*verb); !may.ok()) return may;
  return verb->stage != nullptr ? Stage(*verb, args) : (this->*verb->call)(args);
}

absl::Status TickerplantService::Verbs::CheckRight(const Verb& verb) const {
  switch (verb.needs) {
    case kNothing:
    case kSubscribe:  // The handlers know of which tables.
      return absl::OkStatus();
    case kPublish:
      return access_.PublishesAnything() ? absl::OkStatus()
                                         : access_.Deny(fmt::format("call {}", verb.name));
    case kAdminister:
      return access_.MayAdminister(verb.name);
  }
  return access_.Deny(fmt::format("call {}", verb.name));
}

// Errors of links may name tables that the client may not know.
absl::StatusOr<Value> TickerplantService::Verbs::Withheld(absl::StatusOr<Value> answer) const {
  if (!answer.ok() || access_.KnowsAllTables()) return answer;
  return serve::WithholdTexts(*std::move(answer));
}

std::vector<std::string> TickerplantService::Verbs::FunctionNames() {
  std::vector<std::string> names;
  for (const Verb& verb : kVerbs) names.emplace_back(verb.name);
  return names;
}

// Returns the names in `[table;symbols]`.
std::vector<std::string> TickerplantService::Verbs::ParametersOf(std::string_view name) {
  const auto verb = std::ranges::find(kVerbs, name, &Verb::name);
  if (verb == std::end(kVerbs)) return {};
  std::vector<std::string> names;
  std::string_view rest = verb->arguments;
  rest = rest.substr(1, rest.size() - 2);
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(';'), rest.size());
    names.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return names;
}

// Rows that a string contains, or that were not recognised by their bytes.
absl::StatusOr<Value> TickerplantService::Verbs::Stage(const Verb& verb, Args args) {
  std::vector<Value> call;
  call.push_back(Value::Symbol(verb.name));
  call.insert(call.end(), args.begin(), args.end());
  const auto body = std::make_shared<ByteBuffer>();
  wire::Encode(Value::List(std::move(call)), *body);
  absl::Status status = (service_.*verb.stage)(sender_, *body, body);
  if (!status.ok()) {
    if (verb.answer == kLoggedOrRefused) refused_ = status;
    return status;
  }
  service_.stager_ = sender_.id();
  has_staged_ = true;
  return Value();
}

// `.u.subx[tables;symbols]`, or with `ahead as a third item: numbered upds. Answers the schemas
// and the log's position; eager subscribers also get the publish interval and the time
// of the next publication.
absl::StatusOr<Value> TickerplantService::Verbs::SubscribeNumbered(Args args) {
  const bool eager = args.size() == 3;
  if (eager && !IsName(args[2], protocol::kAhead)) {
    return absl::InvalidArgumentError("type: .u.subx[tables;symbols;how]: how is `ahead");
  }
  TS_ASSIGN_OR_RETURN(Value schemas, Subscribe(args.first(2), {.numbered = true, .eager = eager}));
  std::vector<Value> answer;
  answer.push_back(std::move(schemas));
  answer.push_back(PublishedCount());
  answer.push_back(LogPath());
  if (eager) {
    const int64_t next_ns = service_.batches_.NextAfter(service_.clock_.NowNs());
    answer.push_back(
        Value::List({Value::Timespan(service_.batches_.interval_ns()), Value::Timestamp(next_ns)}));
  }
  return Value::List(std::move(answer));
}

// Sets the outlet and the symbols of `how`, and subscribes.
absl::StatusOr<Value> TickerplantService::Verbs::Subscribe(Args args, Subscription how) {
  std::vector<std::string> tables;
  bool single = false;
  const Value names = WithVectorOfSymbols(args[0]);
  if (names.is_atom_of(Type::kSymbol)) {
    single = !names.symbol().empty();
    if (single) tables.emplace_back(names.symbol());
  } else if (names.is(Type::kSymbol)) {
    for (size_t i = 0; i < names.symbols().size(); ++i) tables.emplace_back(names.symbols()[i]);
  } else {
    return InvalidArgument(
        "type: .u.sub[table;symbols]: table is a symbol, a list of symbols, or ` for all; {}",
        FoundText(args[0]));
  }
  if (tables.empty()) {
    for (const Schema& schema : plant().schemas()) tables.push_back(schema.table);
  }
  TS_ASSIGN_OR_RETURN(how.symbols, SymbolSet(args[1]));
  how.outlet = &service_.OutletOf(sender_);
  for (const std::string& table : tables) {
    if (plant().FindTable(table) < 0) return absl::NotFoundError(table);
    TS_RETURN_IF_ERROR(access_.MaySubscribe(table, how.symbols));
  }
  std::vector<Value> schemas;
  for (const std::string& table : tables) {
    TS_RETURN_IF_ERROR(plant().Subscribe(table, how));
    const auto index = static_cast<size_t>(plant().FindTable(table));
    schemas.push_back(Value::List({Value::Symbol(table), EmptyTable(plant().schemas()[index])}));
  }
  LogInfo("subscriber connected host={} user={} tables={} symbols={} seq={} eager={}",
          sender_.peer(), sender_.user(), fmt::join(tables, ","),
          how.symbols.empty() ? "all" : std::to_string(how.symbols.size()), plant().published_seq(),
          how.eager);
  if (single && !how.numbered) return std::move(schemas.front());
  return Value::List(std::move(schemas));
}

// `.u.feed[name]` asks how many rows are logged under a name; `.u.feed[name;instance]` also
// claims the name for the sender. As a third item, `takeover does so whoever owns it, and `again
// although rows of the source are logged under another map of shards; a list has both.
absl::StatusOr<Value> TickerplantService::Verbs::Feed(Args args) {
  const std::optional<ClaimHow> how = HowOf(args);
  const std::optional<std::string> instance =
      args.size() > 1 ? InstanceOf(args[1]) : std::optional<std::string>("");
  if (!IsName(args[0]) || !instance) {
    return absl::InvalidArgumentError(
        "type: .u.feed[name;instance] takes a symbol, and to claim the name a symbol or a guid");
  }
  if (!how) {
    return absl::InvalidArgumentError(
        "type: .u.feed[name;instance;how]: how is `takeover, `again or both");
  }
  const std::string_view name = args[0].symbol();
  if (args.size() > 1) {
    TS_RETURN_IF_ERROR(Tickerplant::CheckFeedName(name));
    if (absl::Status may = service_.MayUseFeed(sender_, name, how->takeover); !may.ok()) {
      service_.feed_names_.CountClaimRefused();
      return may;
    }
    TS_RETURN_IF_ERROR(HasRowsOfThisMap(name, how->again));
    TS_RETURN_IF_ERROR(service_.ClaimFeed(sender_, name, *instance, how->takeover));
  }
  // The answer is an acknowledgement, so it excludes rows that a full disk keeps out of the log.
  service_.CommitStaged();
  asked_feed_ = name;
  claims_ = args.size() > 1;
  return service_.LoggedRowsOf(name, sender_);
}

// Refuses a name of another map of shards, and a source whose rows are logged under another map:
// row n is another row under another map, so this feed would send all of them again.
absl::Status TickerplantService::Verbs::HasRowsOfThisMap(std::string_view feed, bool again) {
  const ShardId& own = plant().shard_id();
  const NumberedRows of = SplitName(feed);
  if (!of.map.empty() && of.map != own.map) {
    return FailedPrecondition(
        "shard: feed {} has rows of the map {}, this tickerplant is {}: stop the stack, and start "
        "it with one map",
        Printable(of.name), of.map, Describe(own));
  }
  if (again) return absl::OkStatus();
  const std::optional<Tickerplant::EarlierRows> earlier = plant().FindEarlierRows(feed);
  if (!earlier) return absl::OkStatus();
  return FailedPrecondition(
      "again: {} rows of {} are logged as {}, under another map of shards: this feed would send "
      "them again. Finish the source with the map of then, or start the feed with --again",
      earlier->rows, Printable(of.name), Printable(earlier->name));
}

// `.u.feeds[]`: a table of the owned names and their owners.
absl::StatusOr<Value> TickerplantService::Verbs::Feeds(Args) {
  SymbolVector names, hosts, users, instances;
  std::vector<int64_t> epochs, times;
  for (const std::string& name : service_.feed_names_.Names()) {
    const FeedNames::Owner& owner = *service_.feed_names_.Find(name);
    names.push_back(name);
    hosts.push_back(owner.peer);
    users.push_back(owner.user);
    instances.push_back(owner.instance);
    epochs.push_back(static_cast<int64_t>(owner.epoch));
    times.push_back(owner.since_ns);
  }
  std::vector<Value> columns;
  for (SymbolVector* column : {&names, &hosts, &users, &instances})
    columns.push_back(Value::Symbols(std::move(*column)));
  columns.push_back(Value::Vector(Type::kLong, std::span<const int64_t>(epochs)));
  columns.push_back(Value::Vector(Type::kTimestamp, std::span<const int64_t>(times)));
  return Value::Table({"name", "host", "user", "instance", "epoch", "since"}, std::move(columns));
}

// `.u.window[rows]`: the sender, a feed, waits while a subscriber is further behind; 0: it does
// not.
absl::StatusOr<Value> TickerplantService::Verbs::Window(Args args) {
  if (!args[0].is_atom_of(Type::kLong) || args[0].as<int64_t>() < 0) {
    return absl::InvalidArgumentError("type: .u.window[rows] takes a long from 0");
  }
  service_.feed_windows_.Set(sender_.id(), static_cast<uint64_t>(args[0].as<int64_t>()));
  return Value();
}

absl::StatusOr<Value> TickerplantService::Verbs::Log(Args args) {
  const bool has_path = args.size() == 3;
  if (!args[0].is_atom_of(Type::kLong) || !args[1].is_atom_of(Type::kLong) ||
      (has_path && !IsName(args[2]))) {
    return absl::InvalidArgumentError(
        "type: .u.log[from;bytes;path] takes two longs, and a log's path as .u.L gives it");
  }
  TS_RETURN_IF_ERROR(access_.MaySubscribeToAll(protocol::kLog));
  const std::string_view path = has_path ? args[2].symbol() : plant().log().path();
  TS_ASSIGN_OR_RETURN(
      ByteBuffer bytes,
      service_.log_ranges_.Read(plant(), path, args[0].as<int64_t>(), args[1].as<int64_t>()));
  return Value::Vector(Type::kByte, std::move(bytes));
}

// `.u.logs[]`: a table of the days that have a log, up to today, with the paths of the logs.
absl::StatusOr<Value> TickerplantService::Verbs::Logs(Args) {
  TS_RETURN_IF_ERROR(access_.MaySubscribeToAll(protocol::kLogs));
  TS_ASSIGN_OR_RETURN(const std::vector<int32_t> days, plant().DaysWithLogs());
  SymbolVector paths;
  for (const int32_t day : days) {
    TS_ASSIGN_OR_RETURN(const Tickerplant::DayLog log, plant().LogOf(day));
    paths.push_back(":" + log.log.path);
  }
  std::vector<Value> columns;
  columns.push_back(Value::Vector(Type::kDate, std::span<const int32_t>(days)));
  columns.push_back(Value::Symbols(std::move(paths)));
  return Value::Table({"date", "path"}, std::move(columns));
}

// `.u.chain[date;from;bytes]`: (messages of a day's log; their number; the next day; the log's
// cuts). One answer has everything that a chained tickerplant must know at one moment: without
// messages and with a next day, the day is over.
absl::StatusOr<Value> TickerplantService::Verbs::Chain(Args args) {
  if (!args[0].is_atom_of(Type::kDate) || !args[1].is_atom_of(Type::kLong) ||
      !args[2].is_atom_of(Type::kLong)) {
    return absl::InvalidArgumentError("type: .u.chain[date;from;bytes] takes a date and two longs");
  }
  TS_RETURN_IF_ERROR(access_.MaySubscribeToAll(protocol::kChain));
  TS_ASSIGN_OR_RETURN(const Tickerplant::DayLog day, plant().LogOf(args[0].as<int32_t>()));
  TS_ASSIGN_OR_RETURN(ByteBuffer bytes, service_.chained_[sender_.id()].Read(
                                            day.log, args[1].as<int64_t>(), args[2].as<int64_t>()));
  // A request at the end of the log is no reason to wait at shutdown; one that gets rows is.
  if (bytes.empty()) --service_.messages_seen_;
  int32_t next = kNullInt;
  std::vector<int64_t> cuts;
  const auto add_cuts = [&cuts](const tplog::TplogState& state) {
    for (const tplog::TplogState::Cut& cut : state.cuts) {
      cuts.push_back(static_cast<int64_t>(cut.messages));
    }
  };
  if (day.date == plant().date()) {
    add_cuts(plant().log().state());
  } else {
    TS_ASSIGN_OR_RETURN(const std::vector<int32_t> days, plant().DaysWithLogs());
    next = *std::ranges::upper_bound(days, day.date);
    TS_ASSIGN_OR_RETURN(const tplog::TplogState state, tplog::ReadTplogState(day.log.path));
    add_cuts(state);
  }
  std::vector<Value> answer;
  answer.push_back(Value::Vector(Type::kByte, std::move(bytes)));
  answer.push_back(
      Value::Long(day.log.messages ? static_cast<int64_t>(*day.log.messages) : kNullLong));
  answer.push_back(Value::Date(next));
  answer.push_back(Value::Vector(Type::kLong, std::span<const int64_t>(cuts)));
  return Value::List(std::move(answer));
}

absl::StatusOr<Value> TickerplantService::Verbs::SayAlive(Args) {
  service_.SayAliveTo(sender_);
  return Value();
}

// `.u.replicate[name;epoch;date;seqs;digests;shard]`: a standby joins (replication_messages.h).
absl::StatusOr<Value> TickerplantService::Verbs::Replicate(Args args) {
  if (service_.standbys_ == nullptr) {
    return FailedPrecondition("replicate: this tickerplant leads no standbys");
  }
  TS_ASSIGN_OR_RETURN(const ReplicaRequest request, ParseRequest(args));
  TS_ASSIGN_OR_RETURN(
      const ReplicaStart start,
      service_.standbys_->Join(request, sender_.id(), std::make_unique<ConnectionOutlet>(sender_)));
  return StartAnswer(start);
}

absl::StatusOr<Value> TickerplantService::Verbs::ReplicaAcked(Args args) {
  if (service_.standbys_ == nullptr) {
    return FailedPrecondition("replicate: this tickerplant leads no standbys");
  }
  TS_ASSIGN_OR_RETURN(const ReplicaAck ack, ParseAck(args));
  const absl::Status taken = service_.standbys_->OnAck(sender_.id(), ack);
  if (!taken.ok()) sender_.Close(taken);
  return taken.ok() ? absl::StatusOr<Value>(Value()) : taken;
}

// Ends the open day. Callers may name it, so that a request that comes late, or twice, ends no
// other day.
absl::StatusOr<Value> TickerplantService::Verbs::EndDay(Args args) {
  if (!args.empty() && !args[0].is_null()) {
    if (!args[0].is_atom_of(Type::kDate)) {
      return InvalidArgument("type: {0}[date] or {0}[] takes a date or nothing", protocol::kEnd);
    }
    const auto date = args[0].as<int32_t>();
    if (date != plant().date()) {
      return FailedPrecondition("day: {} is not the open day, which is {}: nothing was ended",
                                FormatDate(date), FormatDate(plant().date()));
    }
  }
  TS_RETURN_IF_ERROR(service_.day_end_.EndByRequest());
  return Value();
}

absl::StatusOr<Value> TickerplantService::Verbs::AddPublisher(Args args) {
  TS_RETURN_IF_ERROR(CheckProcessName(protocol::kPublisher, args[0]));
  const std::string_view name = args[0].symbol();
  const std::optional<uint64_t> before = service_.publishers_.Replace(name, sender_.id());
  const auto found = before ? service_.connections_.find(*before) : service_.connections_.end();
  if (found == service_.connections_.end()) return Value();
  const std::shared_ptr<wire::Connection> replaced = found->second;
  replaced->Close(FailedPrecondition("{} publishes on another connection now", name));
  return Value();
}

absl::StatusOr<Value> TickerplantService::Verbs::AddCloser(Args args) {
  TS_RETURN_IF_ERROR(CheckProcessName(protocol::kCloser, args[0]));
  service_.day_end_.closers().Add(args[0].symbol(), sender_.id());
  return Value();
}

absl::StatusOr<Value> TickerplantService::Verbs::Closed(Args args) {
  if (!IsName(args[0]) || !args[1].is_atom_of(Type::kDate)) {
    return absl::InvalidArgumentError("type: .u.closed[name;date] takes a symbol and a date");
  }
  if (args[1].as<int32_t>() > plant().date()) {
    return FailedPrecondition("day: {} has not begun, the open day is {}",
                              FormatDate(args[1].as<int32_t>()), FormatDate(plant().date()));
  }
  // About an earlier day, or from a closer that the day no longer waits for.
  DayEnd& day = service_.day_end_;
  const bool is_closing = day.state() == DayEnd::State::kClosing;
  if (!is_closing || args[1].as<int32_t>() != plant().date()) return Value();
  if (day.closers().OnClosed(args[0].symbol(), sender_.id())) return Value();
  return FailedPrecondition("closer: this connection has not registered {}", args[0].symbol());
}

}  // namespace tickstack::tickerplant
