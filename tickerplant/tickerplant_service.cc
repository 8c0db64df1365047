#include "tickerplant/tickerplant_service.h"

#include <algorithm>
#include <chrono>

#include "base/logging.h"
#include "base/status.h"
#include "query/columns/errors.h"
#include "serve/loop_answers.h"
#include "wire/codec.h"
#include "wire/protocol.h"

namespace tickstack::tickerplant {

namespace protocol = wire::protocol;

using namespace std::chrono_literals;

using wire::Connection;
using wire::MessageKind;

namespace {

constexpr std::chrono::milliseconds kDayTick{100};
constexpr std::chrono::milliseconds kRetryPause{100};
// A feed whose machine is unreachable is disconnected after this time, also with unacknowledged
// data.
constexpr std::chrono::milliseconds kFeedSilentMax{30'000};
constexpr size_t kSymbolsMax = 100'000;              // Symbols of one subscription.
constexpr int64_t kLogBytesMax = int64_t{16} << 20;  // Bytes of one answer to `.u.log`.

Value SymbolsOf(const std::vector<std::string>& names) {
  SymbolVector symbols;
  for (const std::string& name : names) symbols.push_back(name);
  return Value::Symbols(std::move(symbols));
}

Value PairOf(Value a, Value b) {
  std::vector<Value> items;
  items.push_back(std::move(a));
  items.push_back(std::move(b));
  return Value::List(std::move(items));
}

FeedNames::Sender SenderOf(const Connection& connection) {
  return {.connection = connection.id(), .peer = connection.peer(), .user = connection.user()};
}

// A feed's instance: a symbol, or a guid, which is written as q shows it.
std::optional<std::string> InstanceOf(const Value& value) {
  if (value.is_atom_of(Type::kSymbol)) return std::string(value.symbol());
  if (!value.is_atom_of(Type::kGuid)) return std::nullopt;
  std::string text;
  for (const std::byte byte : value.elements()) {
    if (text.size() == 8 || text.size() == 13 || text.size() == 18 || text.size() == 23)
      text += '-';
    text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  }
  return text;
}

// Returns the symbols of a subscription; an empty set means all.
absl::StatusOr<StringSet> SymbolSet(const Value& value) {
  StringSet set;
  if (value.is_null()) return set;
  if (value.is_atom_of(Type::kSymbol)) {
    if (!value.symbol().empty()) set.emplace(value.symbol());
    return set;
  }
  if (!value.is(Type::kSymbol))
    return absl::InvalidArgumentError("type: .u.sub[table;symbols] takes symbols");
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

}  // namespace

class TickerplantService::ConnectionOutlet : public Outlet {
 public:
  explicit ConnectionOutlet(Connection& connection) : connection_(connection.shared_from_this()) {}
  void Queue(std::span<const wire::Segment> message) override { connection_->Queue(message); }
  void Flush() override { connection_->Flush(); }
  const Connection& connection() const { return *connection_; }

 private:
  std::shared_ptr<Connection> connection_;
};

// What a request can reach here: the `.u` namespace, as its sender.
class TickerplantService::Queries : public query::Environment {
 public:
  Queries(TickerplantService& service, Connection& sender) : service_(service), sender_(sender) {}

  std::optional<Snapshot> FindTable(std::string_view) override { return std::nullopt; }
  std::vector<std::string> TableNames() override {
    std::vector<std::string> names;
    for (const Schema& schema : plant().schemas()) names.push_back(schema.table);
    std::sort(names.begin(), names.end());
    return names;
  }
  int64_t NowNs() override { return SystemClock::Instance().NowNs(); }

  std::optional<Value> FindValue(std::string_view name) override {
    const auto value = std::ranges::find(kValues, name, &NamedValue::name);
    if (value != std::end(kValues)) return (this->*value->get)();
    if (const int table = plant().FindTable(name); table >= 0) {
      return EmptyTable(plant().schemas()[static_cast<size_t>(table)]);
    }
    return std::nullopt;
  }
  std::optional<absl::StatusOr<Value>> Call(std::string_view name,
                                            std::span<const Value> args) override {
    const auto verb = std::ranges::find(kVerbs, name, &Verb::name);
    if (verb == std::end(kVerbs)) return std::nullopt;
    return (this->*verb->call)(args);
  }
  std::vector<std::string> FunctionNames() override {
    std::vector<std::string> names;
    for (const Verb& verb : kVerbs) names.emplace_back(verb.name);
    return names;
  }
  std::vector<std::string> ValueNames() override {
    std::vector<std::string> names;
    for (const NamedValue& value : kValues) names.emplace_back(value.name);
    return names;
  }

 private:
  using Args = std::span<const Value>;
  // docs/protocol.md says what each of them is.
  struct Verb {
    std::string_view name;
    absl::StatusOr<Value> (Queries::*call)(Args args);
  };
  struct NamedValue {
    std::string_view name;
    Value (Queries::*get)();
  };
  static const Verb kVerbs[13];
  static const NamedValue kValues[9];

  Tickerplant& plant() { return *service_.tickerplant_; }

  Value PublishedCount() {
    // A position is asked for to subscribe there, and q evaluates (.u.sub[`;`];.u `i`L) from the
    // right: what the subscription then publishes must not lie behind the position.
    plant().Publish();
    return Value::Long(static_cast<int64_t>(plant().published_seq()));
  }
  Value LoggedCount() { return Value::Long(static_cast<int64_t>(plant().logged_seq())); }
  Value LogPath() { return Value::Symbol(":" + plant().log().path()); }
  // There is always a log; kdb+ has the number of its handle here.
  Value LogHandle() { return Value::Int(1); }
  Value Date() { return Value::Date(plant().date()); }
  Value Tables() { return SymbolsOf(TableNames()); }
  Value Version() { return Value::Long(protocol::kVersion); }

  // `.u.cuts`: for each power cut that shortened today's log, the messages that it had then. A
  // subscriber that had more of them begins anew.
  Value Cuts() {
    std::vector<int64_t> messages;
    for (const wire::TplogState::Cut& cut : plant().log().state().cuts) {
      messages.push_back(static_cast<int64_t>(cut.messages));
    }
    return Value::Vector(Type::kLong, std::span<const int64_t>(messages));
  }

  // `.u.w`: table -> list of (handle; symbols).
  Value Subscriptions() {
    SymbolVector tables;
    std::vector<Value> lists;
    for (size_t i = 0; i < plant().schemas().size(); ++i) {
      tables.push_back(plant().schemas()[i].table);
      std::vector<Value> pairs;
      std::vector<Subscription> all;
      for (const Publisher* publisher : {&plant().publisher(), &plant().ahead()}) {
        const std::span<const Subscription> some = publisher->SubscriptionsOf(i);
        all.insert(all.end(), some.begin(), some.end());
      }
      for (const Subscription& subscription : all) {
        const auto* outlet = static_cast<const ConnectionOutlet*>(subscription.outlet);
        std::vector<std::string> symbols(subscription.symbols.begin(), subscription.symbols.end());
        std::sort(symbols.begin(), symbols.end());
        pairs.push_back(PairOf(Value::Int(static_cast<int32_t>(outlet->connection().id())),
                               symbols.empty() ? Value::Symbol("") : SymbolsOf(symbols)));
      }
      lists.push_back(Value::List(std::move(pairs)));
    }
    return Value::Dict(Value::Symbols(std::move(tables)), Value::List(std::move(lists)));
  }

  // `.u.subx[tables;symbols]`, or with `ahead as a third item: numbered upds. Answers the schemas
  // and the log's position; subscribers that are ahead also get the publish interval and the time
  // of the next publication.
  absl::StatusOr<Value> SubscribeNumbered(std::span<const Value> args) {
    const bool ahead = args.size() == 3;
    if (ahead && !(args[2].is_atom_of(Type::kSymbol) && args[2].symbol() == protocol::kAhead)) {
      return absl::InvalidArgumentError("type: .u.subx[tables;symbols;how]: how is `ahead");
    }
    TS_ASSIGN_OR_RETURN(Value schemas, Subscribe(args.first(ahead ? 2 : args.size()),
                                                 {.numbered = true, .ahead = ahead}));
    std::vector<Value> answer;
    answer.push_back(std::move(schemas));
    answer.push_back(PublishedCount());
    answer.push_back(LogPath());
    if (ahead) {
      const int64_t next_ns = service_.batches_.NextAfter(SystemClock::Instance().NowNs());
      answer.push_back(
          PairOf(Value::Timespan(service_.batches_.interval_ns()), Value::Timestamp(next_ns)));
    }
    return Value::List(std::move(answer));
  }

  // Fills in the outlet and the symbols of `how`, and subscribes.
  absl::StatusOr<Value> SubscribePlain(Args args) { return Subscribe(args, {}); }
  absl::StatusOr<Value> Subscribe(Args args, Subscription how) {
    if (args.size() != 2)
      return InvalidArgument("rank: .u.sub[table;symbols], found {} arguments", args.size());
    std::vector<std::string> tables;
    bool single = false;
    if (args[0].is_atom_of(Type::kSymbol)) {
      single = !args[0].symbol().empty();
      if (single) tables.emplace_back(args[0].symbol());
    } else if (args[0].is(Type::kSymbol)) {
      for (size_t i = 0; i < args[0].symbols().size(); ++i)
        tables.emplace_back(args[0].symbols()[i]);
    } else {
      return absl::InvalidArgumentError(
          "type: .u.sub[table;symbols] takes a table's name, or ` for all");
    }
    if (tables.empty()) {
      for (const Schema& schema : plant().schemas()) tables.push_back(schema.table);
    }
    TS_ASSIGN_OR_RETURN(how.symbols, SymbolSet(args[1]));
    how.outlet = &service_.OutletOf(sender_);
    for (const std::string& table : tables) {
      if (plant().FindTable(table) < 0) return absl::NotFoundError(table);
    }
    std::vector<Value> schemas;
    for (const std::string& table : tables) {
      TS_RETURN_IF_ERROR(plant().Subscribe(table, how));
      const auto index = static_cast<size_t>(plant().FindTable(table));
      schemas.push_back(PairOf(Value::Symbol(table), EmptyTable(plant().schemas()[index])));
    }
    LogInfo("subscriber came host={} user={} tables={} symbols={} seq={} ahead={}", sender_.peer(),
            sender_.user(), fmt::join(tables, ","),
            how.symbols.empty() ? "all" : std::to_string(how.symbols.size()),
            plant().published_seq(), how.ahead);
    if (single && !how.numbered) return std::move(schemas.front());
    return Value::List(std::move(schemas));
  }

  absl::StatusOr<Value> PlainUpd(Args args) { return Upd(protocol::kFeedUpd, args, 2); }
  absl::StatusOr<Value> NumberedUpd(Args args) { return Upd(protocol::kNumberedUpd, args, 4); }
  // An upd inside a string, or one that was not recognised on the fast path.
  absl::StatusOr<Value> Upd(std::string_view name, std::span<const Value> args, size_t expected) {
    if (args.size() != expected)
      return InvalidArgument("rank: {}, found {} arguments", name, args.size());
    std::vector<Value> call;
    call.push_back(Value::Symbol(name));
    call.insert(call.end(), args.begin(), args.end());
    auto body = std::make_shared<ByteBuffer>();
    wire::Encode(Value::List(std::move(call)), *body);
    TS_RETURN_IF_ERROR(expected == 4 ? service_.StageNumbered(sender_, *body, body)
                                     : plant().StageUpd(*body, body));
    return Value();
  }

  // `.u.feed[name]` asks how many rows are logged under a name; `.u.feed[name;instance]` also
  // claims the name for the sender, and `.u.feed[name;instance;`takeover]` does so whoever owns it.
  absl::StatusOr<Value> Feed(std::span<const Value> args) {
    const bool takeover = args.size() == 3;
    const std::optional<std::string> instance =
        args.size() > 1 ? InstanceOf(args[1]) : std::optional<std::string>("");
    if (args.empty() || args.size() > 3 || !args[0].is_atom_of(Type::kSymbol) || !instance) {
      return absl::InvalidArgumentError(
          "type: .u.feed[name;instance] takes a symbol, and to claim the name a symbol or a guid");
    }
    if (takeover &&
        !(args[2].is_atom_of(Type::kSymbol) && args[2].symbol() == protocol::kTakeover)) {
      return absl::InvalidArgumentError("type: .u.feed[name;instance;how]: how is `takeover");
    }
    const std::string_view name = args[0].symbol();
    if (args.size() > 1) {
      TS_RETURN_IF_ERROR(service_.ClaimFeed(sender_, name, *instance, takeover));
    }
    // The answer is a receipt: rows that are not logged yet, on a full disk, are not in it.
    service_.CommitStaged();
    const std::vector<int64_t> rows = plant().LoggedFeedRows(name);
    SymbolVector names;
    for (const Schema& schema : plant().schemas()) names.push_back(schema.table);
    return Value::Dict(Value::Symbols(std::move(names)),
                       Value::Vector(Type::kLong, std::span<const int64_t>(rows)));
  }

  // `.u.feeds[]`: a table of the names that are owned, and by whom.
  absl::StatusOr<Value> Feeds(Args) {
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

  // The log of a path as `.u.L` gives it: today's, or the one before. A subscriber that is reading
  // when a day ends reads it to its end, and gets `.u.end` behind it.
  absl::StatusOr<Tickerplant::EndedLog> LogOf(std::string_view path) {
    if (path.starts_with(':')) path.remove_prefix(1);
    if (path == plant().log().path()) {
      return Tickerplant::EndedLog{plant().log().path(), plant().logged_seq()};
    }
    const std::optional<Tickerplant::EndedLog>& ended = plant().ended_log();
    if (ended && path == ended->path) return *ended;
    return NotFound("log: {} is neither today's log nor the one before it", path);
  }

  absl::StatusOr<Value> Log(std::span<const Value> args) {
    if (args.size() < 2 || args.size() > 3 || !args[0].is_atom_of(Type::kLong) ||
        !args[1].is_atom_of(Type::kLong) ||
        (args.size() == 3 && !args[2].is_atom_of(Type::kSymbol))) {
      return absl::InvalidArgumentError(
          "type: .u.log[from;max_bytes] takes two longs, and a log's path as .u.L gives it");
    }
    const auto from = args[0].as<int64_t>();
    const auto most = std::clamp<int64_t>(args[1].as<int64_t>(), 1, kLogBytesMax);
    TS_ASSIGN_OR_RETURN(const Tickerplant::EndedLog log,
                        LogOf(args.size() == 3 ? args[2].symbol() : plant().log().path()));
    const auto end = static_cast<int64_t>(log.messages);
    if (from < 0 || from > end)
      return InvalidArgument("length: .u.log from message {}, the log has {}", from, end);
    if (service_.log_reader_ == nullptr || service_.log_reader_path_ != log.path) {
      TS_ASSIGN_OR_RETURN(service_.log_reader_, wire::TplogReader::Open(log.path));
      service_.log_reader_path_ = log.path;
    }
    TS_ASSIGN_OR_RETURN(
        ByteBuffer bytes,
        service_.log_reader_->ReadRange(static_cast<uint64_t>(from), static_cast<uint64_t>(end),
                                        static_cast<uint64_t>(most)));
    return Value::Vector(Type::kByte, std::move(bytes));
  }

  absl::StatusOr<Value> EndDay(Args) {
    TS_RETURN_IF_ERROR(service_.EndDay());
    return Value();
  }

  absl::StatusOr<Value> AddCloser(std::span<const Value> args) {
    if (args.size() != 1 || !args[0].is_atom_of(Type::kSymbol)) {
      return absl::InvalidArgumentError("type: .u.closer[name] takes a symbol");
    }
    service_.closers_.Add(args[0].symbol(), sender_.id());
    return Value();
  }

  absl::StatusOr<Value> Closed(std::span<const Value> args) {
    if (args.size() != 2 || !args[0].is_atom_of(Type::kSymbol) ||
        !args[1].is_atom_of(Type::kDate)) {
      return absl::InvalidArgumentError("type: .u.closed[name;date] takes a symbol and a date");
    }
    // The word on an earlier day, or from one that the day no longer waits for.
    if (!service_.closers_.is_closing() || args[1].as<int32_t>() != plant().date()) return Value();
    if (service_.closers_.OnClosed(args[0].symbol(), sender_.id())) return Value();
    return FailedPrecondition("closer: this connection has not registered {}", args[0].symbol());
  }

  absl::StatusOr<Value> Stats(Args) {
    const TickerplantCounters& counters = plant().counters();
    SymbolVector names;
    std::vector<int64_t> values;
    const auto add = [&](std::string_view name, uint64_t value) {
      names.push_back(name);
      values.push_back(static_cast<int64_t>(value));
    };
    add("upds", counters.upds);
    add("rows", counters.rows);
    const FeedNames::Counters& feeds = service_.feed_names_.counters();
    add("upds_refused", counters.upds_refused + feeds.upds_refused);
    add("rows_duplicated", counters.rows_duplicated);
    add("log_retries", counters.log_retries);
    add("logged_seq", plant().logged_seq());
    add("published_seq", plant().published_seq());
    add("published_messages",
        plant().publisher().published_messages() + plant().ahead().published_messages());
    add("log_bytes", plant().log().totals().log_bytes);
    add("connections", service_.connections_.size());
    add("subscribers", plant().publisher().Outlets().size() + plant().ahead().Outlets().size());
    add("subscribers_dropped", service_.dropped_);
    size_t queued = 0, queued_max = 0;
    for (const auto& [id, outlet] : service_.outlets_) {
      queued += outlet->connection().queued_bytes();
      queued_max = std::max(queued_max, outlet->connection().queued_bytes());
    }
    add("queued_bytes", queued);
    add("queued_bytes_max", queued_max);
    add("feeds", service_.feed_names_.Names().size());
    add("feed_claims_refused", feeds.claims_refused);
    add("feed_takeovers", feeds.takeovers);
    add("feed_upds_refused", feeds.upds_refused);
    return Value::Dict(Value::Symbols(std::move(names)),
                       Value::Vector(Type::kLong, std::span<const int64_t>(values)));
  }

  TickerplantService& service_;
  Connection& sender_;
};

constexpr TickerplantService::Queries::Verb TickerplantService::Queries::kVerbs[] = {
    {protocol::kSubscribe, &Queries::SubscribePlain},
    {protocol::kSubscribeNumbered, &Queries::SubscribeNumbered},
    {protocol::kFeedUpd, &Queries::PlainUpd},
    {protocol::kUpd, &Queries::PlainUpd},
    {protocol::kNumberedUpd, &Queries::NumberedUpd},
    {protocol::kFeed, &Queries::Feed},
    {protocol::kFeeds, &Queries::Feeds},
    {protocol::kLog, &Queries::Log},
    {protocol::kEnd, &Queries::EndDay},
    {protocol::kEndOfDay, &Queries::EndDay},
    {protocol::kCloser, &Queries::AddCloser},
    {protocol::kClosed, &Queries::Closed},
    {protocol::kStats, &Queries::Stats},
};

constexpr TickerplantService::Queries::NamedValue TickerplantService::Queries::kValues[] = {
    {protocol::kPublishedCount, &Queries::PublishedCount},
    {protocol::kLoggedCount, &Queries::LoggedCount},
    {protocol::kLogPath, &Queries::LogPath},
    {protocol::kLogHandle, &Queries::LogHandle},
    {protocol::kCuts, &Queries::Cuts},
    {protocol::kDate, &Queries::Date},
    {protocol::kTables, &Queries::Tables},
    {protocol::kSubscriptions, &Queries::Subscriptions},
    {protocol::kVersionValue, &Queries::Version},
};

TickerplantService::TickerplantService(wire::EventLoop& loop,
                                       std::unique_ptr<Tickerplant> tickerplant,
                                       const BatchClock& batches,
                                       std::function<void(absl::Status)> on_failed)
    : tickerplant_(std::move(tickerplant)),
      batches_(batches),
      on_failed_(std::move(on_failed)),
      batch_timer_(loop),
      day_timer_(loop),
      retry_timer_(loop),
      closing_timer_(loop) {
  if (batches_.interval_ns() > 0) {
    const int64_t now_ns = SystemClock::Instance().NowNs();
    batch_timer_.Every(
        std::chrono::nanoseconds(batches_.interval_ns()), [this] { tickerplant_->PublishInTime(); },
        std::chrono::nanoseconds(batches_.NextAfter(now_ns) - now_ns));
  }
  day_timer_.Every(kDayTick, [this] { Roll(); });
}

TickerplantService::~TickerplantService() = default;

void TickerplantService::OnOpened(Connection& connection) {
  connections_.emplace(connection.id(), connection.shared_from_this());
  if (closers_.is_closing() && !IsCloser(connection)) {
    connection.PauseReading();
    held_.push_back(connection.weak_from_this());
  }
}

void TickerplantService::OnMessage(Connection& connection, const wire::ReceivedMessage& message) {
  ++messages_seen_;
  const std::optional<std::string_view> verb = wire::PeekVerb(message.body);
  if (verb && protocol::IsUpd(*verb)) return StageMessage(connection, message, false);
  if (verb == protocol::kNumberedUpd) return StageMessage(connection, message, true);
  Evaluate(connection, message);
}

void TickerplantService::StageMessage(Connection& connection, const wire::ReceivedMessage& message,
                                      bool numbered) {
  const absl::Status status = numbered ? StageNumbered(connection, message.body, message.owner)
                                       : tickerplant_->StageUpd(message.body, message.owner);
  const bool sync = message.kind == MessageKind::kSync;
  if (status.ok()) {
    stager_ = connection.id();
    if (sync) waiting_.push_back({connection.id(), connection.TakeTicket()});
    return;
  }
  static LogLimit limit;
  if (const std::optional<uint64_t> withheld = limit.Pass()) {
    LogWarn("upd refused host={} error=\"{}\" withheld={}", connection.peer(), Message(status),
            *withheld);
  }
  const std::string text = query::QErrorText(status);
  if (sync) {
    connection.ReplyError(connection.TakeTicket(), text);
  } else if (numbered) {
    // A feed that numbers its rows has to learn of a gap: all its later rows will be refused.
    connection.SendAsync(PairOf(Value::Symbol(protocol::kRefused), Value::String(Message(status))));
  }
}

absl::Status TickerplantService::StageNumbered(const Connection& connection,
                                               std::span<const std::byte> body,
                                               const std::shared_ptr<const void>& owner) {
  // Messages of one feed come in runs that begin with the same bytes. Looking at the name of each
  // would cost a tenth of what the tickerplant does for a single row.
  const bool same = connection.id() == last_sender_.connection &&
                    feed_names_.changes() == last_sender_.changes &&
                    AsText(body).starts_with(AsText(last_sender_.begin));
  if (same) return tickerplant_->StageNumberedUpd(body, owner);
  const std::optional<std::string_view> feed = Tickerplant::FeedOf(body);
  if (feed) TS_RETURN_IF_ERROR(feed_names_.MaySend(*feed, connection.id()));
  TS_RETURN_IF_ERROR(tickerplant_->StageNumberedUpd(body, owner));
  if (!feed) return absl::OkStatus();
  feed_names_.OnAccepted(*feed, SenderOf(connection));
  const char* const end = feed->data() + feed->size() + 1;  // With its NUL.
  last_sender_.connection = connection.id();
  last_sender_.changes = feed_names_.changes();
  last_sender_.begin.clear();
  last_sender_.begin.Append(
      body.first(static_cast<size_t>(end - reinterpret_cast<const char*>(body.data()))));
  return absl::OkStatus();
}

absl::Status TickerplantService::ClaimFeed(Connection& connection, std::string_view name,
                                           std::string_view instance, bool takeover) {
  TS_ASSIGN_OR_RETURN(const FeedNames::Grant grant,
                      feed_names_.Claim(name, instance, takeover, SenderOf(connection)));
  // A subscriber may leave bytes unread for as long as its queue allows; a feed has few to read.
  if (!outlets_.contains(connection.id())) connection.SetUnacknowledgedMax(kFeedSilentMax);
  if (!grant.changed) return absl::OkStatus();
  const std::string owner = Describe(*feed_names_.Find(name));
  static LogLimit limit;
  if (const std::optional<uint64_t> withheld = limit.Pass()) {
    const auto from = connections_.find(grant.taken_from);
    LogInfo("feed claimed name={} owner=\"{}\" taken_from={} withheld={}", name, owner,
            from == connections_.end() ? "nobody" : from->second->peer(), *withheld);
  }
  const auto before = connections_.find(grant.taken_from);
  if (before == connections_.end()) return absl::OkStatus();
  // Tells the previous owner now: it might not send rows, which would be refused, for a long time.
  const absl::Status taken = feed_names_.WhyRefused(name, grant.taken_from);
  before->second->SendAsync(
      PairOf(Value::Symbol(protocol::kRefused), Value::String(Message(taken))));
  return absl::OkStatus();
}

void TickerplantService::Evaluate(Connection& connection, const wire::ReceivedMessage& message) {
  Queries queries(*this, connection);
  const absl::Status status = serve::AnswerOnLoop(connection, message, queries);
  if (status.ok()) return;
  static LogLimit limit;
  if (const std::optional<uint64_t> withheld = limit.Pass()) {
    LogWarn("request failed host={} error=\"{}\" withheld={}", connection.peer(), Message(status),
            *withheld);
  }
}

void TickerplantService::OnDrained(Connection& connection) {
  if (tickerplant_->has_staged()) CommitStaged();
  if (tickerplant_->has_staged()) {
    if (stager_ == connection.id())
      RetryLater(&connection);  // Clients that only query are still answered.
    return;
  }
  AnswerWaiting();
}

// Everything that was accepted is logged, or needed no logging.
void TickerplantService::AnswerWaiting() {
  if (failed_) return;
  const std::vector<WaitingReply> waiting = std::exchange(waiting_, {});
  for (const WaitingReply& reply : waiting) {
    const auto it = connections_.find(reply.connection);
    if (it != connections_.end()) it->second->Reply(reply.ticket, Value());
  }
}

void TickerplantService::CommitStaged() {
  if (failed_) return;
  if (const absl::Status status = tickerplant_->Commit(); !status.ok()) {
    if (status.code() == absl::StatusCode::kResourceExhausted) {
      if (!std::exchange(disk_full_, true))
        LogError("log full, feeds wait error=\"{}\"", Message(status));
      return;
    }
    failed_ = true;
    LogError("log failed error=\"{}\"", Message(status));
    on_failed_(status);
    return;
  }
  if (std::exchange(disk_full_, false)) LogInfo("log goes on seq={}", tickerplant_->logged_seq());
}

void TickerplantService::RetryLater(Connection* feed) {
  feed->PauseReading();
  paused_.push_back(feed->weak_from_this());
  retry_timer_.Every(kRetryPause, [this] {
    CommitStaged();
    if (tickerplant_->has_staged()) return;
    retry_timer_.Cancel();
    AnswerWaiting();
    for (const std::weak_ptr<Connection>& weak : std::exchange(paused_, {})) {
      if (const std::shared_ptr<Connection> connection = weak.lock()) connection->ResumeReading();
    }
  });
}

void TickerplantService::OnClosed(Connection& connection, const absl::Status& why) {
  const auto outlet = outlets_.find(connection.id());
  if (outlet != outlets_.end()) {
    tickerplant_->Unsubscribe(outlet->second.get());
    outlets_.erase(outlet);
    const bool dropped = why.code() == absl::StatusCode::kResourceExhausted;
    if (dropped) ++dropped_;
    if (dropped) {
      LogWarn("subscriber dropped host={} seq={} reason=\"{}\"", connection.peer(),
              tickerplant_->published_seq(), Message(why));
    } else {
      LogInfo("subscriber went host={} seq={} reason=\"{}\"", connection.peer(),
              tickerplant_->published_seq(), Message(why));
    }
  } else if (!why.ok()) {
    static LogLimit limit;
    if (const std::optional<uint64_t> withheld = limit.Pass()) {
      LogWarn("connection ended host={} reason=\"{}\" withheld={}", connection.peer(), Message(why),
              *withheld);
    }
  }
  closers_.OnConnectionGone(connection.id());
  feed_names_.OnConnectionGone(connection.id());
  connections_.erase(connection.id());
}

TickerplantService::ConnectionOutlet& TickerplantService::OutletOf(Connection& connection) {
  std::unique_ptr<ConnectionOutlet>& outlet = outlets_[connection.id()];
  if (outlet == nullptr) {
    outlet = std::make_unique<ConnectionOutlet>(connection);
    connection.SetUnacknowledgedMax(0ms);
  }
  return *outlet;
}

absl::Status TickerplantService::Close() {
  batch_timer_.Cancel();
  day_timer_.Cancel();
  retry_timer_.Cancel();
  closing_timer_.Cancel();
  CommitStaged();
  return tickerplant_->Close();
}

}  // namespace tickstack::tickerplant
