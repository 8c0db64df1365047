#include "bridge/export_service.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/crc32c.h"
#include "base/logging.h"
#include "base/status.h"
#include "tplog/log_replay.h"
#include "tplog/subscription_answer.h"
#include "wire/protocol.h"

namespace tickstack::bridge {

namespace protocol = wire::protocol;
namespace {

using namespace std::chrono_literals;

constexpr auto kRestartPause = 500ms;
constexpr auto kReadPause = 2ms;
constexpr auto kWatchPeriod = 100ms;
constexpr size_t kBatchesMax = 2;  // Batches that the writer has.
constexpr int64_t kPieceBytes = int64_t{1} << 20;
constexpr int64_t kKnownMessageNs = kNsPerSecond / 2;  // Between two questions for one.

// True if a member of a cluster that does not lead has answered.
bool IsOfStandby(const absl::Status& status) { return Message(status).starts_with("standby: "); }

}  // namespace

std::string_view NameOf(ExportState state) {
  switch (state) {
    case ExportState::kAsking:
      return "asking";
    case ExportState::kOpening:
      return "opening";
    case ExportState::kReading:
      return "reading";
    case ExportState::kSubscribed:
      return "subscribed";
    case ExportState::kFailed:
      return "failed";
  }
  return "";
}

ExportService::ExportService(wire::EventLoop& loop, ExportOptions options)
    : loop_(loop),
      options_(std::move(options)),
      exporter_(options_.exporter),
      pause_(loop),
      linger_(loop),
      watch_(loop) {
  exporter_.OnRows([this] { HandOver(); });
  watch_.Every(kWatchPeriod, [this] {
    if (!exporter_.error().ok() && state_ == ExportState::kSubscribed) {
      Fail(exporter_.error());
    } else if (exporter_.needs_restart() && state_ == ExportState::kSubscribed) {
      Restart("the tickerplant has another log or other tables");
    }
    CreateTopics();
    AskKnownMessage();
    HandOver();
  });
  Begin();
}

ExportService::~ExportService() {
  ++*attempt_;
  exporter_.OnRows(nullptr);
}

void ExportService::Begin() {
  state_ = ExportState::kAsking;
  questions_ = std::make_unique<wire::Client>(loop_, options_.subscriber.tickerplant,
                                              options_.subscriber.client, this);
}

// Drops everything that is not committed, and begins again after a pause. The caller may be a
// callback of what is destroyed.
void ExportService::Restart(std::string_view why) {
  if (state_ == ExportState::kFailed) return;
  LogInfo("begins again reason=\"{}\"", why);
  ++restarts_;
  state_ = ExportState::kAsking;
  Later([](ExportService& service) {
    ++*service.attempt_;
    service.subscriber_ = nullptr;
    service.writer_ = nullptr;
    service.questions_ = nullptr;
    service.pause_.Once(kRestartPause, [&service] { service.Begin(); });
  });
}

void ExportService::Fail(absl::Status why) {
  LogError("failed error=\"{}\"", Message(why));
  error_ = std::move(why);
  state_ = ExportState::kFailed;
  Later([](ExportService& service) {
    service.subscriber_ = nullptr;
    service.questions_ = nullptr;
  });
}

void ExportService::Later(void (*next)(ExportService&)) {
  loop_.Post([this, next, attempt = *attempt_, now = std::weak_ptr(attempt_)] {
    const auto current = now.lock();
    if (current != nullptr && *current == attempt) next(*this);
  });
}

// ---- the tickerplant's tables and log

void ExportService::Ask(const Value& request, std::function<void(absl::StatusOr<Value>)> done) {
  wire::Connection* const connection = questions_ == nullptr ? nullptr : questions_->connection();
  if (connection == nullptr) return;
  connection->Call(request, [done = std::move(done), attempt = *attempt_,
                             now = std::weak_ptr(attempt_)](absl::StatusOr<Value> answer) {
    const auto current = now.lock();
    if (current == nullptr || *current != attempt) return;
    // The connection has ended: the question is asked again on the next one.
    if (absl::IsUnavailable(answer.status())) return;
    done(std::move(answer));
  });
}

void ExportService::OnConnected(wire::Connection&) {
  Later([](ExportService& service) { service.AskEpoch(); });
}

// A leader that was replaced may not know it yet.
void ExportService::AskEpoch() {
  const auto next = [this] {
    if (state_ == ExportState::kAsking) return AskTables();
    // The connection was lost, and another member may answer now.
    if (state_ == ExportState::kReading) CheckEarlierLog();
  };
  if (options_.subscriber.tickerplant.others.empty()) return next();
  Ask(tplog::EpochRequest(), [this, next](const absl::StatusOr<Value>& answer) {
    const absl::Status followed = leader_.Follow(answer, loop_.clock().MonotonicNs());
    if (followed.ok()) return next();
    if (wire::Connection* const connection = questions_->connection()) connection->Close(followed);
  });
}

void ExportService::AskTables() {
  Ask(Value::String(protocol::kTables), [this](const absl::StatusOr<Value>& names) {
    if (names.ok() && names->is(Type::kSymbol) && !names->symbols().empty()) {
      return AskSchemas(*names);
    }
    Restart("the tickerplant does not say its tables");
  });
}

void ExportService::OnConnectFailed(const absl::Status& why, std::chrono::milliseconds pause) {
  static LogLimit limit(10 * kNsPerSecond);
  if (limit.Pass()) {
    LogInfo("waiting for the tickerplant reason=\"{}\" retry_ms={}", Message(why), pause.count());
  }
}

void ExportService::OnClosed(wire::Connection&, const absl::Status&) {}

void ExportService::AskSchemas(const Value& names) {
  auto left = std::make_shared<size_t>(names.symbols().size());
  schemas_.clear();
  for (size_t i = 0; i < names.symbols().size(); ++i) {
    const std::string table(names.symbols()[i]);
    Ask(Value::Symbol(table), [this, table, left](const absl::StatusOr<Value>& answer) {
      const absl::StatusOr<Schema> schema =
          answer.ok() ? tplog::SchemaOf(table, *answer) : absl::StatusOr<Schema>(answer.status());
      if (!schema.ok()) return Restart(Message(schema.status()));
      schemas_.push_back(*schema);
      if (--*left == 0) AskLogs();
    });
  }
}

bool ExportService::IsExported(std::string_view table) const {
  const std::vector<std::string>& tables = options_.exporter.tables;
  return tables.empty() || std::find(tables.begin(), tables.end(), table) != tables.end();
}

void ExportService::AskLogs() {
  for (const std::string& table : options_.exporter.tables) {
    const bool exists = std::any_of(schemas_.begin(), schemas_.end(),
                                    [&](const Schema& schema) { return schema.table == table; });
    if (!exists) return Fail(NotFound("table {}: the tickerplant has no such table", table));
  }
  for (const Schema& schema : schemas_) {
    if (!IsOwnTopic(schema.table) || !IsExported(schema.table)) continue;
    return Fail(FailedPrecondition(
        "table {}: {} is a topic of the bridge itself: list the other tables in `tables`",
        schema.table, TopicOf(options_.writer.prefix, schema.table)));
  }
  Ask(Value::String(protocol::kLogPath), [this](const absl::StatusOr<Value>& answer) {
    log_path_.clear();
    if (answer.ok() && answer->is_atom_of(Type::kSymbol)) {
      const std::string_view path = answer->symbol();
      log_path_ = path.substr(path.starts_with(':') ? 1 : 0);
    }
    if (log_path_.empty()) return Fail(FailedPrecondition("the tickerplant has no log"));
    AskFirstMessage();
  });
}

void ExportService::AskFirstMessage() {
  Ask(Value::List({Value::String(protocol::kLog), Value::Long(0), Value::Long(1),
                   Value::Symbol(":" + log_path_)}),
      [this](const absl::StatusOr<Value>& first) {
        if (!first.ok() && Message(first.status()).starts_with(protocol::kLog)) {
          return Fail(
              FailedPrecondition("the tickerplant does not know {}: exactly once needs "
                                 "tickstack's tickerplant",
                                 protocol::kLog));
        }
        // The day may have ended between the questions.
        if (!first.ok() || !first->is(Type::kByte)) {
          return Restart("the log's first message is not to be had");
        }
        first_message_crc_ =
            first->count() > 0 ? std::optional(Crc32c(first->elements())) : std::nullopt;
        Ask(tplog::LogDaysRequest(), [this](const absl::StatusOr<Value>& answer) {
          absl::StatusOr<std::vector<tplog::LogOfDay>> logs =
              answer.ok() ? tplog::ParseLogDays(*answer) : answer.status();
          if (!logs.ok()) return Restart(Message(logs.status()));
          logs_ = *std::move(logs);
          OpenTopics();
        });
      });
}

// ---- Kafka

void ExportService::OpenTopics() {
  state_ = ExportState::kOpening;
  std::vector<Schema> tables;
  for (const Schema& schema : schemas_) {
    if (IsExported(schema.table)) tables.push_back(schema);
  }
  BatchWriter::Events events{.opened = [this](OpenedTopics opened) { OnOpened(std::move(opened)); },
                             .committed = [this] { HandOver(); },
                             .ended =
                                 [this](const absl::Status& why) {
                                   const bool retry =
                                       absl::IsAborted(why) || absl::IsUnavailable(why);
                                   retry ? Restart(Message(why)) : Fail(why);
                                 }};
  if (options_.open_writer) {
    writer_ = options_.open_writer(loop_, std::move(tables), &written_, std::move(events));
  } else {
    writer_ = std::make_unique<TopicWriter>(loop_, options_.writer, std::move(tables), &written_,
                                            std::move(events));
  }
}

void ExportService::OnOpened(OpenedTopics opened) {
  partitions_ = std::move(opened.partitions);
  StreamState state = opened.last.value_or(StreamState());
  if (was_open_ && state.batch > opened_batch_ && state.writer != options_.writer.instance) {
    ended_ = FailedPrecondition(
        "another process (instance {}) writes under prefix {}: stop one of them, or give this one "
        "another prefix",
        state.writer, options_.writer.prefix);
    return Fail(ended_);
  }
  was_open_ = true;
  opened_batch_ = state.batch;
  LogInfo("kafka opened prefix={} tables={} batch={} log={} seq={}", options_.writer.prefix,
          partitions_.size(), state.batch, state.log.path, state.position.seq());
  if (const absl::Status resumed = Resume(std::move(state)); !resumed.ok()) Fail(resumed);
}

absl::Status ExportService::Resume(StreamState state) {
  const std::string path = state.log.path;
  earlier_logs_.clear();
  if (!path.empty()) {
    const std::optional<int32_t> day = tplog::DayOfLog(path), today = tplog::DayOfLog(log_path_);
    if (day && today && *day > *today) {
      return FailedPrecondition(
          "the tickerplant writes {}, which is before {}, whose rows are in Kafka: choose another "
          "prefix",
          log_path_, path);
    }
    if (path == log_path_ || (day && day == today)) {
      if (state.log_ended || state.log.first_message_crc != first_message_crc_) {
        return DataLoss(
            "{} is another log than {}, whose rows are in Kafka under prefix {}: restore that log, "
            "or choose another prefix",
            log_path_, path, options_.writer.prefix);
      }
      state.log.path = log_path_;
    } else {
      TS_RETURN_IF_ERROR(ListEarlierLogs(state));
    }
  }
  const bool has_left = !path.empty() && state.log.path != log_path_;
  TS_RETURN_IF_ERROR(exporter_.Begin(std::move(state), partitions_, schemas_, log_path_));
  if (has_left) {
    state_ = ExportState::kReading;
    CheckEarlierLog();
  } else {
    Subscribe();
  }
  return absl::OkStatus();
}

// Creates the topics that are missing as soon as nothing can refuse the tickerplant any more. Rows
// may come earlier, and are checked, too: the first batch creates the topics as well.
void ExportService::CreateTopics() {
  if (writer_ == nullptr || state_ != ExportState::kSubscribed) return;
  if (exporter_.has_read_log()) writer_->CreateTopics();
}

// ---- logs that the tickerplant has left

// Finds the state's log and those between it and today's among the tickerplant's.
absl::Status ExportService::ListEarlierLogs(StreamState& state) {
  const std::optional<int32_t> day = tplog::DayOfLog(state.log.path),
                               today = tplog::DayOfLog(log_path_);
  const auto of_state = std::ranges::find_if(
      logs_, [&](const tplog::LogOfDay& log) { return day && log.date == *day; });
  if (of_state == logs_.end() || !today) {
    return FailedPrecondition(
        "the tickerplant of {} has no log of {}, whose rows are in Kafka under prefix {}: it is "
        "that of another stack, or that log was removed: restore it, or choose another prefix",
        log_path_, day ? FormatDate(*day) : state.log.path, options_.writer.prefix);
  }
  state.log.path = of_state->path;
  for (auto log = of_state + 1; log != logs_.end() && log->date < *today; ++log) {
    earlier_logs_.push_back(*log);
  }
  std::ranges::reverse(earlier_logs_);
  return absl::OkStatus();
}

// Asks for messages of the exporter's log; `done` gets them.
void ExportService::AskPiece(uint64_t from, int64_t bytes,
                             std::function<void(const tplog::LogPiece&)> done) {
  const std::string path = exporter_.current().log.path;
  Ask(tplog::LogPieceRequest(tplog::DayOfLog(path).value_or(0), from, bytes),
      [this, path, done = std::move(done)](const absl::StatusOr<Value>& answer) {
        const absl::StatusOr<tplog::LogPiece> piece =
            answer.ok() ? tplog::ParseLogPiece(*answer) : answer.status();
        if (piece.ok()) return done(*piece);
        if (IsOfStandby(piece.status())) return Restart(Message(piece.status()));
        Fail(DataLoss("{}: its rows are missing in Kafka, and the tickerplant cannot read it: {}",
                      path, Message(piece.status())));
      });
}

// Makes sure that the tickerplant's log of that day is the one whose rows are in Kafka.
void ExportService::CheckEarlierLog() {
  AskPiece(0, 1, [this](const tplog::LogPiece& piece) {
    const tplog::LogIdentity& log = exporter_.current().log;
    const std::optional<uint32_t> crc =
        piece.messages.empty() ? std::nullopt : std::optional(Crc32c(piece.messages));
    if (crc != log.first_message_crc) {
      return Fail(
          DataLoss("{} is another log than the one of that day whose rows are in Kafka under "
                   "prefix {}: restore that log, or choose another prefix",
                   log.path, options_.writer.prefix));
    }
    if (exporter_.current().log_ended) return EndEarlierLog();
    if (const absl::Status cut = CheckCuts(piece.cuts); !cut.ok()) return Fail(cut);
    CheckKnownMessage();
  });
}

void ExportService::CheckKnownMessage() {
  const std::optional<tplog::KnownMessage> known = exporter_.current().known;
  if (!known) return ReadEarlierLog();
  AskPiece(known->seq, 1, [this, known](const tplog::LogPiece& piece) {
    if (piece.messages.empty() || Crc32c(piece.messages) != known->crc) {
      exporter_.OnOtherMessage(known->seq);
      return Fail(exporter_.error());
    }
    ReadEarlierLog();
  });
}

// kDataLoss if a power cut removed rows from an earlier log that are in Kafka. A member of a
// cluster has power cuts of its own, and gets the rows back from the others.
absl::Status ExportService::CheckCuts(const std::vector<uint64_t>& cuts) const {
  if (leader_.has_standbys()) return absl::OkStatus();
  const tplog::LogIdentity& log = exporter_.current().log;
  const uint64_t furthest = exporter_.current().position.FurthestSeq();
  for (size_t i = log.cuts; i < cuts.size(); ++i) {
    if (cuts[i] >= furthest) continue;
    return DataLoss("a power cut removed rows from {} that are in Kafka: choose another prefix",
                    log.path);
  }
  return absl::OkStatus();
}

// Reads the rest of the exporter's log, which has ended.
void ExportService::ReadEarlierLog() {
  if (state_ != ExportState::kReading) return;
  if (!exporter_.HasRoom()) return pause_.Once(kReadPause, [this] { ReadEarlierLog(); });
  const uint64_t from = exporter_.position().seq();
  AskPiece(from, kPieceBytes, [this, from](const tplog::LogPiece& piece) {
    // Another question has read these, on a connection before.
    if (from != exporter_.position().seq()) return;
    if (piece.messages.empty()) {
      return piece.next_date ? EndEarlierLog() : Restart("the day has not ended there");
    }
    const absl::Status replayed = tplog::ReplayBytes(piece.messages, exporter_, UINT64_MAX);
    if (!replayed.ok()) return Fail(replayed);
    if (!exporter_.error().ok()) return Fail(exporter_.error());
    HandOver();
    ReadEarlierLog();
  });
}

void ExportService::EndEarlierLog() {
  if (!exporter_.current().log_ended) {
    LogInfo("read an earlier log log={} seq={}", exporter_.current().log.path,
            exporter_.position().seq());
    exporter_.EndLog(tplog::DayOfLog(exporter_.current().log.path).value_or(0));
    HandOver();
  }
  earlier_logs_.empty() ? Subscribe() : EnterNextLog();
}

void ExportService::EnterNextLog() {
  const tplog::LogOfDay next = earlier_logs_.back();
  Ask(tplog::LogPieceRequest(next.date, 0, 1), [this, next](const absl::StatusOr<Value>& answer) {
    const absl::StatusOr<tplog::LogPiece> piece =
        answer.ok() ? tplog::ParseLogPiece(*answer) : answer.status();
    if (IsOfStandby(piece.status())) return Restart(Message(piece.status()));
    if (!piece.ok()) return Fail(Annotate(piece.status(), next.path));
    earlier_logs_.pop_back();
    if (piece->messages.empty()) return EndEarlierLog();  // A day without rows.
    exporter_.SetLog(
        {next.path, Crc32c(piece->messages), static_cast<uint32_t>(piece->cuts.size())});
    ReadEarlierLog();
  });
}

// ---- rows

void ExportService::Subscribe() {
  state_ = ExportState::kSubscribed;
  asks_known_message_ = false;
  exporter_.ExpectLog(log_path_);
  error_ = absl::OkStatus();
  Later([](ExportService& service) {
    service.questions_ = nullptr;
    tplog::SubscriberOptions options = service.options_.subscriber;
    options.ahead = true;
    for (const auto& [table, partitions] : service.partitions_) options.tables.push_back(table);
    service.subscriber_ =
        std::make_unique<tplog::Subscriber>(service.loop_, options, &service.exporter_);
  });
}

// Now and then asks for the last message whose rows are taken, by which the log is recognised after
// a failover or a restart.
void ExportService::AskKnownMessage() {
  wire::Connection* const connection = subscriber_ == nullptr ? nullptr : subscriber_->connection();
  const StreamState& now = exporter_.current();
  const uint64_t seq = now.position.seq();
  const bool is_new = seq > 0 && !now.log_ended && !now.log.path.empty() &&
                      (!now.known || now.known->seq + 1 < seq);
  const bool is_live = exporter_.subscription().live.load(std::memory_order_relaxed) != 0;
  if (connection == nullptr || !is_new || !is_live || asks_known_message_) return;
  if (MonotonicNs() - known_message_ns_ < kKnownMessageNs) return;
  known_message_ns_ = MonotonicNs();
  asks_known_message_ = true;
  connection->Call(
      Value::List({Value::String(protocol::kLog), Value::Long(static_cast<int64_t>(seq - 1)),
                   Value::Long(1), Value::Symbol(":" + now.log.path)}),
      [this, seq, path = now.log.path, attempt = *attempt_,
       alive = std::weak_ptr(attempt_)](const absl::StatusOr<Value>& answer) {
        const auto current = alive.lock();
        if (current == nullptr || *current != attempt) return;
        asks_known_message_ = false;
        const bool is_message = answer.ok() && answer->is(Type::kByte) && answer->count() > 0;
        const bool is_same_log =
            exporter_.current().log.path == path && !exporter_.current().log_ended;
        if (is_message && is_same_log) {
          exporter_.SetKnownMessage({seq - 1, Crc32c(answer->elements())});
        }
      });
}

// Gives batches to the writer: a full one as soon as it has room, any other one if it is idle and
// the rows have waited for long enough.
void ExportService::HandOver() {
  if (writer_ == nullptr) return;
  const bool takes = state_ == ExportState::kReading || state_ == ExportState::kSubscribed;
  while (takes && exporter_.has_batch()) {
    const size_t queued = writer_->queued();
    if (queued >= kBatchesMax) return;
    if (!exporter_.has_full_batch()) {
      if (queued > 0) return;
      const int64_t wait_ns = exporter_.waiting_since_ns() + options_.linger_ns - MonotonicNs();
      if (wait_ns > 0) {
        return linger_.Once(std::chrono::nanoseconds(wait_ns), [this] { HandOver(); });
      }
    }
    writer_->Put(exporter_.TakeBatch());
  }
}

Value ExportService::Stats() const {
  SymbolVector names;
  std::vector<Value> values;
  const auto add = [&](std::string_view name, Value value) {
    names.push_back(name);
    values.push_back(std::move(value));
  };
  const auto number = [](const auto& counter) {
    return Value::Long(static_cast<int64_t>(counter.load(std::memory_order_relaxed)));
  };
  const absl::Status problem = writer_ == nullptr ? absl::OkStatus() : writer_->problem();
  int64_t since_ns = writer_ == nullptr ? 0 : writer_->since_ns();
  if (since_ns == 0 && exporter_.waiting_rows() > 0) since_ns = exporter_.waiting_since_ns();
  const int64_t lag_ns = since_ns == 0 ? 0 : MonotonicNs() - since_ns;
  const bool connected = state_ == ExportState::kSubscribed && subscriber_ != nullptr &&
                         subscriber_->connection() != nullptr;
  const tplog::SubscriptionCounters& subscription = const_cast<Exporter&>(exporter_).subscription();
  add("direction", Value::Symbol("to-kafka"));
  add("state", Value::Symbol(NameOf(state_)));
  add("connected", Value::Boolean(connected));
  add("live", Value::Boolean(connected && subscription.live.load(std::memory_order_relaxed) != 0));
  add("error", Value::String(Message(error_.ok() ? problem : error_)));
  add("rows", Value::Long(static_cast<int64_t>(exporter_.counters().rows)));
  add("rows_waiting", Value::Long(static_cast<int64_t>(exporter_.waiting_rows())));
  add("bytes_waiting", Value::Long(static_cast<int64_t>(exporter_.waiting_bytes())));
  add("rows_written", number(written_.rows));
  add("records_written", number(written_.records));
  add("bytes_written", number(written_.bytes));
  add("transactions", number(written_.transactions));
  add("aborts", number(written_.aborts));
  add("errors", number(written_.errors));
  add("refused", Value::Long(static_cast<int64_t>(exporter_.counters().upds_refused)));
  add("restarts", Value::Long(restarts_));
  add("days_ended", Value::Long(static_cast<int64_t>(exporter_.counters().days_ended)));
  add("lag_ms", Value::Float(static_cast<double>(lag_ns) * 1e-6));
  add("delay_ms",
      Value::Float(static_cast<double>(written_.delay_ns.load(std::memory_order_relaxed)) * 1e-6));
  add("delay_ms_max",
      Value::Float(static_cast<double>(written_.delay_max_ns.load(std::memory_order_relaxed)) *
                   1e-6));
  return Value::Dict(Value::Symbols(std::move(names)), Value::List(std::move(values)));
}

}  // namespace tickstack::bridge
