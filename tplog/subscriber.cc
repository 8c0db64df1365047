#include "tplog/subscriber.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "wire/codec.h"
#include "wire/protocol.h"

namespace tickstack::tplog {
namespace {

using namespace std::chrono_literals;

// Subscribes when fewer messages than this remain: some ms of replay, some MB in the connection.
constexpr uint64_t kNearMessages = 5000;
constexpr int kRoundsMax = 20;    // Subscribes after this many replays, even if it is still behind.
constexpr auto kSlice = 20ms;     // Duration of a replay step between two turns of the loop.
constexpr auto kRoomPause = 2ms;  // Pause before a state without room is asked again.
constexpr int64_t kLossIsNoStopNs = kNsPerSecond;
constexpr int64_t kStreamBytes = int64_t{8} << 20;

constexpr std::string_view kPositionText = ".u `i`L";
constexpr std::string_view kPlainSubscribeText = "(.u.sub[`;`];.u `i`L)";

// Returns `.u.subx[tables;`]`: all symbols, and all tables if none is named.
Value SubscribeRequest(const std::vector<std::string>& tables, bool ahead) {
  SymbolVector names;
  for (const std::string& table : tables) names.push_back(table);
  std::vector<Value> request;
  request.push_back(Value::String(wire::protocol::kSubscribeNumbered));
  request.push_back(tables.empty() ? Value::Symbol("") : Value::Symbols(std::move(names)));
  request.push_back(Value::Symbol(""));
  if (ahead) request.push_back(Value::Symbol(wire::protocol::kAhead));
  return Value::List(std::move(request));
}

// Returns the request for a message of the log at `path`, which the answer has as bytes. Without
// the path, it would be one of the next log if the day has ended meanwhile.
Value MessageRequest(uint64_t seq, const std::string& path) {
  return Value::List({Value::String(wire::protocol::kLog), Value::Long(static_cast<int64_t>(seq)),
                      Value::Long(1), Value::Symbol(":" + path)});
}

// Returns the answer to `.u.L` without its colon; nothing if it is no path.
std::optional<std::string> LogPathOf(const absl::StatusOr<Value>& answer) {
  if (!answer.ok() || !answer->is_atom_of(Type::kSymbol)) return std::nullopt;
  const std::string_view path = answer->symbol();
  return std::string(path.substr(path.starts_with(':') ? 1 : 0));
}

void Set(std::atomic<uint64_t>& flag, uint64_t value) {
  flag.store(value, std::memory_order_relaxed);
}

}  // namespace

// Requests the log piece by piece over a separate connection.
class Subscriber::LogStream : public wire::ClientHandler {
 public:
  // Asks the tickerplant that the subscriber is connected to: no other of a cluster answers.
  explicit LogStream(Subscriber& owner)
      : owner_(owner),
        client_(owner.loop_, owner.client_->current_address(), Options(owner), this) {}

  void OnConnected(wire::Connection& connection) override { Ask(connection); }
  void OnMessage(wire::Connection&, const wire::ReceivedMessage&) override {}
  void OnConnectFailed(const absl::Status& why, std::chrono::milliseconds) override {
    Interrupted(why);
  }
  void OnClosed(wire::Connection&, const absl::Status& why) override {
    Interrupted(why.ok() ? Unavailable("the tickerplant closed the connection") : why);
  }

 private:
  static wire::ClientOptions Options(const Subscriber& owner) {
    wire::ClientOptions options = owner.options_.client;
    options.reconnect = false;
    return options;
  }

  void Ask(wire::Connection& connection) {
    const auto from = static_cast<int64_t>(owner_.state_->position().seq());
    // By its path, since the day may have ended and the tickerplant be at the next log.
    connection.Call(
        Value::List({Value::String(wire::protocol::kLog), Value::Long(from),
                     Value::Long(kStreamBytes), Value::Symbol(":" + owner_.log_path_)}),
        [this, &connection](const absl::StatusOr<Value>& answer) { OnAnswer(connection, answer); });
  }

  void OnAnswer(wire::Connection& connection, const absl::StatusOr<Value>& answer) {
    if (ended_) return;
    if (!answer.ok()) {
      // An error that the tickerplant answered is final; after any other the log can still be read.
      const bool answered = answer.status().code() == absl::StatusCode::kUnknown;
      return answered ? End(answer.status()) : Interrupted(answer.status());
    }
    if (!answer->is(Type::kByte)) {
      return End(InvalidArgument(".u.log: answer is a {}, expected bytes", NameOf(answer->type())));
    }
    const uint64_t end_seq = owner_.replay_end_seq_;
    SubscribedState& state = *owner_.state_;
    const absl::Status replayed = ReplayBytes(answer->elements(), state, end_seq);
    if (!replayed.ok()) return End(replayed);
    if (state.position().seq() >= end_seq) return End(absl::OkStatus());
    if (answer->count() == 0) {
      return End(
          DataLoss("the log ends at message {}, expected {}", state.position().seq(), end_seq));
    }
    AskWhenRoom(connection);
  }

  void AskWhenRoom(wire::Connection& connection) {
    if (owner_.state_->HasRoom()) return Ask(connection);
    room_.Once(kRoomPause, [this, &connection] {
      if (!ended_) AskWhenRoom(connection);
    });
  }

  void Interrupted(const absl::Status& why) { End(Unavailable("{}", Message(why))); }

  // Everything that follows comes from the loop, because the owner will delete this object.
  void End(const absl::Status& why) {
    if (std::exchange(ended_, true)) return;
    owner_.loop_.Post([alive = std::weak_ptr(owner_.alive_), &owner = owner_, this, why] {
      if (alive.expired() || owner.stream_.get() != this) return;
      owner.stream_ = nullptr;
      if (why.ok()) {
        owner.FinishReplay();
      } else {
        owner.GiveUpReplay(why);
      }
    });
  }

  Subscriber& owner_;
  bool ended_ = false;
  wire::Timer room_{owner_.loop_};
  wire::Client client_;
};

Subscriber::Subscriber(wire::EventLoop& loop, const SubscriberOptions& options,
                       SubscribedState* state)
    : loop_(loop), options_(options), state_(state), room_(loop) {
  if (state->log().first_message_crc) {
    log_path_ = state->log().path;
    log_known_ = reopened_ = true;
  }
  client_ = std::make_unique<wire::Client>(loop, options.tickerplant, options.client, this);
}

Subscriber::~Subscriber() = default;

// ---- the connection

void Subscriber::OnConnected(wire::Connection& connection) {
  ++connection_number_;
  rounds_ = 0;
  schemas_known_ = false;
  numbered_ = true;
  file_rejected_ = false;
  identifying_ = false;
  proven_ = 0;
  Set(state_->subscription().connected, 1);
  WarnOfLoss();  // The tickerplant was gone, or disconnected this subscriber, and is back.
  LogInfo("connected tickerplant={} seq={}", connection.peer(), state_->position().seq());
  // Calls wait until the connection is started, which happens when this function returns.
  Later(&Subscriber::AskEpoch);
}

void Subscriber::OnMessage(wire::Connection&, const wire::ReceivedMessage& message) {
  if (message.kind == wire::MessageKind::kResponse) return;
  switch (state_->OnLive(message.body)) {
    case LiveOutcome::kTaken:
      if (state_->OutlivesProcess() && !state_->log().first_message_crc) IdentifyLog();
      return;
    case LiveOutcome::kDayEnded:
      log_known_ = false;
      return AskLogPath();
    case LiveOutcome::kOutOfOrder:
      return Restart(
          DataLoss("an upd has a lower number than an earlier one, expected ascending numbers"));
  }
}

void Subscriber::OnDrained(wire::Connection&) {
  state_->OnDrained();
  if (!is_live() || state_->HasRoom()) return;  // A replay pauses the connection itself.
  client_->connection()->PauseReading();
  WaitForRoom();
}

// Resumes reading once the state has room.
void Subscriber::WaitForRoom() {
  room_.Once(kRoomPause, [this] {
    wire::Connection* const connection = client_->connection();
    if (connection == nullptr || !is_live()) return;
    state_->HasRoom() ? connection->ResumeReading() : WaitForRoom();
  });
}

void Subscriber::OnClosed(wire::Connection& connection, const absl::Status& why) {
  ++connection_number_;
  room_.Cancel();
  file_ = nullptr;
  stream_ = nullptr;
  Set(state_->subscription().connected, 0);
  Set(state_->subscription().live, 0);
  const std::string reason(Message(why));
  LogInfo("connection to the tickerplant closed host={} seq={} reason=\"{}\"", connection.peer(),
          state_->position().seq(), reason);
  lost_ = {connection.peer(), reason, loop_.clock().MonotonicNs()};
}

// Logs a lost connection once the tickerplant is back. An orderly shutdown of a stack stops the
// tickerplant first, and its subscribers soon after: nothing was lost, so there is no warning then.
void Subscriber::WarnOfLoss() {
  if (!lost_) return;
  LogWarn("tickerplant lost host={} seq={} ms={} reason=\"{}\"", lost_->tickerplant,
          state_->position().seq(), (loop_.clock().MonotonicNs() - lost_->since_ns) / 1'000'000,
          lost_->reason);
  lost_.reset();
}

void Subscriber::OnConnectFailed(const absl::Status& why, std::chrono::milliseconds pause) {
  if (lost_ && loop_.clock().MonotonicNs() - lost_->since_ns >= kLossIsNoStopNs) WarnOfLoss();
  if (!waiting_limit_.Pass()) return;
  LogInfo("waiting for the tickerplant host={} reason=\"{}\" retry_ms={}",
          options_.tickerplant.ToString(), Message(why), pause.count());
}

void Subscriber::Restart(const absl::Status& why) {
  if (wire::Connection* const connection = client_->connection()) connection->Close(why);
}

void Subscriber::Ask(const Value& request, std::function<void(absl::StatusOr<Value>)> done) {
  wire::Connection* const connection = client_->connection();
  if (connection == nullptr) return;
  connection->Call(request, [alive = std::weak_ptr(alive_), this, number = connection_number_,
                             done = std::move(done)](absl::StatusOr<Value> answer) {
    // The end of the connection left it unanswered; it is asked again on the next one.
    if (!answer.ok() && absl::IsUnavailable(answer.status())) return;
    if (!alive.expired() && number == connection_number_) done(std::move(answer));
  });
}

void Subscriber::Later(Next next) {
  loop_.Post([alive = std::weak_ptr(alive_), this, number = connection_number_, next] {
    if (!alive.expired() && number == connection_number_) (this->*next)();
  });
}

// ---- position and subscription

void Subscriber::AskEpoch() {
  if (options_.tickerplant.others.empty()) return AskVersion();
  Ask(EpochRequest(), [this](const absl::StatusOr<Value>& answer) {
    const absl::Status followed = leader_.Follow(answer, loop_.clock().MonotonicNs());
    followed.ok() ? AskVersion() : Restart(followed);
  });
}

void Subscriber::AskVersion() {
  Ask(Value::Symbol(wire::protocol::kVersionValue), [this](const absl::StatusOr<Value>& answer) {
    // kdb+tick has none.
    const bool is_later = answer.ok() && answer->is_atom_of(Type::kLong) &&
                          answer->as<int64_t>() > wire::protocol::kVersion;
    if (!is_later) return options_.shard == ShardId() ? AskCuts() : AskShard();
    Restart(FailedPrecondition("the tickerplant speaks version {} of the protocol, this program {}",
                               answer->as<int64_t>(), wire::protocol::kVersion));
  });
}

void Subscriber::AskShard() {
  Ask(Value::String(fmt::format("{}[]", wire::protocol::kShard)),
      [this](const absl::StatusOr<Value>& answer) {
        const std::optional<ShardId> shard = answer.ok() ? ParseShardId(*answer) : std::nullopt;
        if (!shard || *shard == options_.shard) return AskCuts();
        const absl::Status why =
            FailedPrecondition("the tickerplant is {}, expected {}: start both with one map",
                               Describe(*shard), Describe(options_.shard));
        static LogLimit limit(10 * kNsPerSecond);
        if (limit.Pass()) LogError("not subscribed error=\"{}\"", Message(why));
        Restart(why);
      });
}

// Asks for the log's path before its cuts: the day may end between two questions, and EnterLog then
// sees another path.
void Subscriber::AskCuts() {
  cuts_log_.reset();
  Ask(Value::String(wire::protocol::kLogPath),
      [this](const absl::StatusOr<Value>& answer) { cuts_log_ = LogPathOf(answer); });
  Ask(Value::Symbol(wire::protocol::kCuts), [this](const absl::StatusOr<Value>& answer) {
    cuts_.clear();
    // kdb+tick has none.
    if (answer.ok() && answer->is(Type::kLong)) {
      for (const int64_t messages : answer->span<int64_t>()) {
        cuts_.push_back(static_cast<uint64_t>(messages));
      }
    }
    AskPosition();
  });
}

void Subscriber::AskPosition() {
  Ask(Value::String(kPositionText), [this](const absl::StatusOr<Value>& answer) {
    if (!answer.ok()) return Restart(Annotate(answer.status(), kPositionText));
    LogPosition log;
    if (answer->is_list() && answer->items().size() == 2) {
      const absl::StatusOr<LogPosition> parsed =
          ParseLogPosition(answer->items()[0], answer->items()[1]);
      if (!parsed.ok()) return Restart(parsed.status());
      log = *parsed;
    }
    if (!state_->OutlivesProcess() || log.seq == 0) {
      EnterLog(log);
      return CheckLogFile(log.seq);
    }
    AskMessage(0, log.path,
               [this, log](std::optional<uint32_t> crc) { AskKnownMessage(log, crc); });
  });
}

void Subscriber::AskKnownMessage(const LogPosition& log, std::optional<uint32_t> first_crc) {
  const std::optional<KnownMessage> known = state_->known_message();
  const bool is_asked = known && log_known_ && known->seq < log.seq &&
                        IsSameLog({log.path, first_crc}, state_->log());
  if (!is_asked) {
    EnterLog(log, first_crc);
    return CheckLogFile(log.seq);
  }
  AskMessage(known->seq, log.path,
             [this, log, first_crc, known = *known](std::optional<uint32_t> crc) {
               if (!crc) return Restart(Unavailable("{}: no message {}", log.path, known.seq));
               if (crc == known.crc) {
                 proven_ = known.seq + 1;
               } else {
                 state_->OnOtherMessage(known.seq);
                 log_known_ = false;
               }
               EnterLog(log, first_crc);
               CheckLogFile(log.seq);
             });
}

void Subscriber::AskMessage(uint64_t seq, const std::string& log,
                            std::function<void(std::optional<uint32_t> crc)> done) {
  Ask(MessageRequest(seq, log), [done = std::move(done)](const absl::StatusOr<Value>& answer) {
    // kdb+tick has no `.u.log`, and a log may have no message yet.
    const bool known = answer.ok() && answer->is(Type::kByte) && answer->count() > 0;
    done(known ? std::optional(Crc32c(answer->elements())) : std::nullopt);
  });
}

// Identifies a log that had no message when it was entered, but has some by now.
void Subscriber::IdentifyLog() {
  if (!numbered_ || !log_known_ || std::exchange(identifying_, true)) return;
  AskMessage(0, log_path_, [this, path = log_path_](std::optional<uint32_t> crc) {
    identifying_ = false;
    if (crc && log_known_ && path == log_path_) {
      state_->SetLog({path, crc, state_->log().cuts});
    }
  });
}

// Opens the log's file if it is the same log: a path means nothing on another machine.
void Subscriber::CheckLogFile(uint64_t seq) {
  const bool wanted = options_.read_log_file && seq > 0;
  if (file_ != nullptr || file_rejected_ || !wanted) return CatchUpOrSubscribe(seq);
  file_rejected_ = true;
  absl::StatusOr<std::unique_ptr<LogReplay>> opened = LogReplay::Open(log_path_);
  absl::StatusOr<ByteBuffer> first = opened.ok() ? (*opened)->ReadMessage(0) : opened.status();
  if (!first.ok()) {
    LogInfo("log file not readable here path={} reason=\"{}\"", log_path_, Message(first.status()));
    return CatchUpOrSubscribe(seq);
  }
  // A std::function must be copyable.
  auto file = std::make_shared<std::unique_ptr<LogReplay>>(*std::move(opened));
  auto expected = std::make_shared<ByteBuffer>(*std::move(first));
  Ask(MessageRequest(0, log_path_), [this, seq, file,
                                     expected](const absl::StatusOr<Value>& answer) {
    // kdb+tick has no `.u.log`, so its path must suffice.
    const bool same = !answer.ok() ||
                      (answer->is(Type::kByte) && AsText(answer->elements()) == AsText(*expected));
    if (same) {
      file_ = std::move(*file);
      file_rejected_ = false;
    } else {
      LogInfo("log file is another one here path={}", log_path_);
    }
    CatchUpOrSubscribe(seq);
  });
}

void Subscriber::CatchUpOrSubscribe(uint64_t seq) {
  const bool far = seq > state_->position().seq() + kNearMessages;
  // The answer to a subscription to some tables lacks the schemas of the others.
  const bool lacks_schemas = !options_.tables.empty() && !schemas_known_;
  if ((far || lacks_schemas) && rounds_++ < kRoundsMax) return AskSchemas(seq);
  Subscribe();
}

// A replay before subscribing needs the schemas. kdb+tick sends these only to subscribers, but its
// tables can be queried: `.u.t` has their names. If that fails, it subscribes first.
void Subscriber::AskSchemas(uint64_t seq) {
  Ask(Value::String(wire::protocol::kTables), [this, seq](const absl::StatusOr<Value>& names) {
    if (!names.ok() || !names->is(Type::kSymbol) || names->symbols().empty()) return Subscribe();
    auto left = std::make_shared<size_t>(names->symbols().size());
    auto schemas = std::make_shared<std::vector<Schema>>();
    const size_t tables = *left;
    for (size_t i = 0; i < tables; ++i) {
      const std::string table(names->symbols()[i]);
      Ask(Value::Symbol(table), [=, this](const absl::StatusOr<Value>& answer) {
        absl::StatusOr<Schema> schema =
            answer.ok() ? SchemaOf(table, *answer) : absl::StatusOr<Schema>(answer.status());
        if (schema.ok()) schemas->push_back(*std::move(schema));
        if (--*left > 0) return;
        if (schemas->size() < tables) return Subscribe();
        schemas_known_ = true;
        TellSchemas(*schemas);
        ReplayTo(seq, &Subscriber::AskPosition);
      });
    }
  });
}

// A state that is emptied because a table has changed follows the same log, from its beginning.
void Subscriber::TellSchemas(std::span<const Schema> schemas) {
  const LogIdentity log = state_->log();
  state_->OnSchemas(schemas);
  if (log_known_ && !log.path.empty() && state_->log().path.empty()) state_->SetLog(log);
}

void Subscriber::EnterLog(const LogPosition& log, std::optional<uint32_t> first_crc) {
  // The cuts are those of the log of a day that has ended since. A state that knows too few of its
  // log's cuts is compared with more of them than necessary, later; too many would hide one.
  if (log.path != cuts_log_) cuts_.clear();
  const bool another = first_crc != state_->log().first_message_crc &&
                       (reopened_ || (first_crc && state_->log().first_message_crc));
  const bool is_here = log.path == log_path_ || (state_->FollowsContent() &&
                                                 IsSameLog({log.path, first_crc}, state_->log()));
  const bool same = log_known_ && is_here && log.seq >= state_->LeastLogSeq() && !another &&
                    !HasRowsThatWereCut();
  reopened_ = false;
  if (!same || was_live_plain_) {
    if (log_known_ || state_->LeastLogSeq() > 0 || was_live_plain_) {
      LogInfo("starting over log={} seq={} was={} seq_was={}", log.path, log.seq, log_path_,
              state_->LeastLogSeq());
      state_->subscription().NoteStartOver();
    }
    state_->StartOver();
    file_ = nullptr;
    file_rejected_ = false;
  }
  was_live_plain_ = false;
  log_path_ = log.path;
  log_known_ = true;
  const auto cuts = IsOfCluster() ? uint32_t{0} : static_cast<uint32_t>(cuts_.size());
  if (!same || first_crc) {
    state_->SetLog({log.path, first_crc, cuts});
  } else if (LogIdentity known = state_->log(); known.cuts != cuts) {
    known.cuts = cuts;
    state_->SetLog(std::move(known));
  }
}

// True if the log lost messages that the state has rows of.
bool Subscriber::HasRowsThatWereCut() const {
  const size_t known = IsOfCluster() ? 0 : state_->log().cuts;
  if (known > cuts_.size()) return true;  // So it is another log.
  const uint64_t furthest = state_->FurthestSeq();
  const uint64_t proven = IsOfCluster() ? proven_ : 0;
  return std::any_of(cuts_.begin() + static_cast<std::ptrdiff_t>(known), cuts_.end(),
                     [=](uint64_t messages) { return messages >= proven && messages < furthest; });
}

// After the end of a day, asks which log the numbers of the next upds belong to. If the connection
// is lost before the answer, the state must be filled again.
void Subscriber::AskLogPath() {
  file_ = nullptr;
  file_rejected_ = false;
  if (!numbered_) return;
  Ask(Value::String(wire::protocol::kLogPath), [this](const absl::StatusOr<Value>& answer) {
    std::optional<std::string> path = LogPathOf(answer);
    if (!path.has_value()) return;
    log_path_ = *std::move(path);
    log_known_ = true;
    state_->SetLog({log_path_, std::nullopt});
  });
}

void Subscriber::Subscribe() { SubscribeNumbered(options_.ahead); }

void Subscriber::SubscribeNumbered(bool ahead) {
  Ask(SubscribeRequest(options_.tables, ahead), [this, ahead](const absl::StatusOr<Value>& answer) {
    // The tickerplant may not know `ahead.
    if (!answer.ok() && ahead) return SubscribeNumbered(false);
    if (!answer.ok()) {
      LogInfo("no numbered upds, subscribing as kdb+tick's RDB does reason=\"{}\"",
              Message(answer.status()));
      return SubscribePlain();
    }
    const absl::StatusOr<SubscriptionAnswer> parsed = ParseSubscriptionAnswer(*answer);
    if (!parsed.ok()) return Restart(parsed.status());
    OnSubscribed(*parsed);
  });
}

void Subscriber::SubscribePlain() {
  numbered_ = false;
  Ask(Value::String(kPlainSubscribeText), [this](const absl::StatusOr<Value>& answer) {
    if (!answer.ok()) return Restart(Annotate(answer.status(), "subscribe"));
    const absl::StatusOr<SubscriptionAnswer> parsed = ParseSubscriptionAnswer(*answer);
    if (!parsed.ok()) return Restart(parsed.status());
    OnSubscribed(*parsed);
  });
}

void Subscriber::OnSubscribed(const SubscriptionAnswer& answer) {
  // Upds arrive from here on; they wait until the log has been replayed up to them.
  client_->connection()->PauseReading();
  if (options_.tables.empty() || !schemas_known_) TellSchemas(answer.schemas);
  ahead_of_ = answer.batches && answer.batches->interval_ns > 0 ? answer.batches : std::nullopt;
  EnterLog(answer.log);
  ReplayTo(answer.log.seq, &Subscriber::GoLive);
}

void Subscriber::GoLive() {
  if (!state_->position().OnCaughtUp(replay_end_seq_)) {
    // The tickerplant's log lost messages that it had published, perhaps with a disk.
    log_known_ = false;
    return Restart(DataLoss("rows were published that {} does not hold", log_path_));
  }
  was_live_plain_ = !numbered_;
  Set(state_->subscription().live, 1);
  Set(state_->subscription().caught_up, 1);
  LogInfo("live seq={} numbered={} log={}", replay_end_seq_, numbered_, log_path_);
  state_->OnReplayDone();
  client_->connection()->ResumeReading();
}

// ---- replay

void Subscriber::ReplayTo(uint64_t end_seq, Next next) {
  replay_end_seq_ = end_seq;
  replay_begin_seq_ = state_->position().seq();
  replay_begin_ns_ = loop_.clock().MonotonicNs();
  after_replay_ = next;
  if (replay_begin_seq_ >= end_seq) return Later(&Subscriber::FinishReplay);
  Later(&Subscriber::BeginReplay);
}

void Subscriber::BeginReplay() {
  if (file_ != nullptr) return ReplayFile();
  if (numbered_) return ReplayStream();
  GiveUpReplay(NotFound("{} is not readable here", log_path_));
}

void Subscriber::ReplayFile() {
  const absl::StatusOr<LogReplay::Progress> progress =
      file_->Step(*state_, replay_end_seq_, kSlice);
  if (progress.ok() && *progress == LogReplay::Progress::kMore) {
    if (state_->HasRoom()) return Later(&Subscriber::ReplayFile);
    return room_.Once(kRoomPause, [this] {
      if (file_ != nullptr) ReplayFile();
    });
  }
  if (progress.ok() && *progress == LogReplay::Progress::kReached) return FinishReplay();
  const absl::Status why = progress.ok() ? DataLoss("{} ends at message {}, expected {}", log_path_,
                                                    state_->position().seq(), replay_end_seq_)
                                         : progress.status();
  file_ = nullptr;
  file_rejected_ = true;
  if (!numbered_) return GiveUpReplay(why);
  LogWarn("log file does not hold what the tickerplant's log holds error=\"{}\"", Message(why));
  ReplayStream();
}

void Subscriber::ReplayStream() { stream_ = std::make_unique<LogStream>(*this); }

// Counts and logs rows that cannot be read; rows that are still to come are taken.
void Subscriber::GiveUpReplay(const absl::Status& why) {
  if (absl::IsUnavailable(why)) return Restart(why);  // The tickerplant is gone: start again.
  const uint64_t missing = replay_end_seq_ - state_->position().seq();
  std::atomic<uint64_t>& counter = state_->subscription().messages_missing;
  Set(counter, counter.load(std::memory_order_relaxed) + missing);
  LogError("log not replayed to its end log={} seq={} messages_missing={} error=\"{}\"", log_path_,
           state_->position().seq(), missing, Message(why));
  state_->position().OnCaughtUp(replay_end_seq_);
  replay_begin_seq_ = replay_end_seq_;
  FinishReplay();
}

void Subscriber::FinishReplay() {
  const uint64_t messages = state_->position().seq() - replay_begin_seq_;
  if (messages > 0) {
    LogInfo("replayed log={} messages={} seq={} ms={}", log_path_, messages,
            state_->position().seq(), (loop_.clock().MonotonicNs() - replay_begin_ns_) / 1'000'000);
  }
  if (client_->connection() != nullptr) (this->*after_replay_)();
}

}  // namespace tickstack::tplog
