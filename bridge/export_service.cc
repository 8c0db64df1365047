#include "bridge/export_service.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/crc32c.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/logging.h"
#include "base/status.h"
#include "wire/protocol.h"
#include "wire/subscription_answer.h"
#include "wire/tplog_state.h"

namespace tickstack::bridge {

namespace protocol = wire::protocol;
namespace {

using namespace std::chrono_literals;

constexpr auto kRestartPause = 500ms;
constexpr auto kReadSlice = 20ms;
constexpr auto kReadPause = 2ms;
constexpr auto kWatchPeriod = 100ms;
constexpr size_t kBatchesMax = 2;  // Batches that the writer has.
constexpr int64_t kStreamedBytes = int64_t{8} << 20;
constexpr size_t kLogDateBytes = 10;

// Returns the day at the end of a log's path.
std::optional<int32_t> DayOf(std::string_view path) {
  if (path.size() < kLogDateBytes) return std::nullopt;
  return ParseDate(path.substr(path.size() - kLogDateBytes));
}

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
    service.earlier_ = nullptr;
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
    service.earlier_ = nullptr;
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
  Later([](ExportService& service) {
    if (service.state_ == ExportState::kReading && service.earlier_ == nullptr) {
      return service.exporter_.current().log_ended ? service.CheckPreviousLog()
                                                   : service.StreamEarlierLog();
    }
    if (service.state_ != ExportState::kAsking) return;
    service.Ask(Value::String(protocol::kTables), [&service](const absl::StatusOr<Value>& names) {
      if (names.ok() && names->is(Type::kSymbol) && !names->symbols().empty()) {
        return service.AskSchemas(*names);
      }
      service.Restart("the tickerplant does not say its tables");
    });
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
          answer.ok() ? wire::SchemaOf(table, *answer) : absl::StatusOr<Schema>(answer.status());
      if (!schema.ok()) return Restart(Message(schema.status()));
      schemas_.push_back(*schema);
      if (--*left == 0) AskLog();
    });
  }
}

bool ExportService::IsExported(std::string_view table) const {
  const std::vector<std::string>& tables = options_.exporter.tables;
  return tables.empty() || std::find(tables.begin(), tables.end(), table) != tables.end();
}

void ExportService::AskLog() {
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
  writer_ = std::make_unique<TopicWriter>(
      loop_, options_.writer, std::move(tables), &written_,
      TopicWriter::Events{.opened = [this](OpenedTopics opened) { OnOpened(std::move(opened)); },
                          .committed = [this] { HandOver(); },
                          .ended =
                              [this](const absl::Status& why) {
                                const bool retry = absl::IsAborted(why) || absl::IsUnavailable(why);
                                retry ? Restart(Message(why)) : Fail(why);
                              }});
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
  const wire::LogIdentity log = state.log;
  const bool log_ended = state.log_ended;
  earlier_logs_.clear();
  const bool moved_on = !log.path.empty() && log.path != log_path_;
  if (moved_on) TS_RETURN_IF_ERROR(FindEarlierLogs(state));
  TS_RETURN_IF_ERROR(exporter_.Begin(std::move(state), partitions_, schemas_, log_path_));
  if (!log.path.empty() && !moved_on &&
      (log_ended || log.first_message_crc != first_message_crc_)) {
    return DataLoss(
        "{} is another log than the one whose rows are in Kafka under prefix {}: restore that log, "
        "or choose another prefix",
        log.path, options_.writer.prefix);
  }
  if (!moved_on) {
    Subscribe();
    return absl::OkStatus();
  }
  state_ = ExportState::kReading;
  if (!log_ended) {
    ReadEarlierLog();
  } else if (files_are_here_) {
    EndEarlierLog();
  } else {
    CheckPreviousLog();
  }
  return absl::OkStatus();
}

// ---- logs that the tickerplant has left

// Lists the logs between that of the state and the tickerplant's, if their files are here.
// Otherwise nothing is listed, and the tickerplant is asked for the rest of its previous log.
absl::Status ExportService::FindEarlierLogs(const StreamState& state) {
  const std::optional<int32_t> from = DayOf(state.log.path), to = DayOf(log_path_);
  const absl::StatusOr<std::vector<DirectoryEntry>> entries =
      !options_.subscriber.read_log_file ? NotFound("files are not read")
                                         : ListDirectory(DirectoryOf(log_path_));
  files_are_here_ = entries.ok() && from && to;
  if (!files_are_here_) return absl::OkStatus();
  if (*from > *to) {
    return FailedPrecondition(
        "the tickerplant writes {}, which is before {}, whose rows are in Kafka: choose another "
        "prefix",
        log_path_, state.log.path);
  }
  const std::string stem = log_path_.substr(0, log_path_.size() - kLogDateBytes);
  for (const DirectoryEntry& entry : *entries) {
    const std::string path = fmt::format("{}/{}", DirectoryOf(log_path_), entry.name);
    const std::optional<int32_t> day = DayOf(path);
    const bool is_between = entry.is_file && day && *day > *from && *day < *to &&
                            path.size() == log_path_.size() && path.starts_with(stem);
    if (is_between) earlier_logs_.push_back(path);
  }
  std::sort(earlier_logs_.rbegin(), earlier_logs_.rend());
  return absl::OkStatus();
}

// Reads the rest of the exporter's log from its file or, if that is not here, from the tickerplant.
void ExportService::ReadEarlierLog() {
  const wire::LogIdentity log = exporter_.current().log;
  LogInfo("reading an earlier log log={} seq={}", log.path, exporter_.position().seq());
  const bool reads_files = options_.subscriber.read_log_file;
  absl::StatusOr<std::unique_ptr<wire::LogReplay>> replay =
      reads_files ? wire::LogReplay::Open(log.path) : NotFound("files are not read");
  absl::StatusOr<ByteBuffer> first = replay.ok() ? (*replay)->ReadMessage(0) : replay.status();
  if (first.ok() && log.first_message_crc == Crc32c(*first)) {
    if (const absl::Status cut = CheckCuts(log); !cut.ok()) return Fail(cut);
    earlier_ = *std::move(replay);
    return StepEarlierLog();
  }
  if (!earlier_logs_.empty()) {
    return Fail(DataLoss("{}: its rows are missing in Kafka, and it cannot be read: {}", log.path,
                         first.ok() ? "it is another log" : Message(first.status())));
  }
  StreamEarlierLog();
}

// kDataLoss if a power cut removed rows from an earlier log that are in Kafka.
absl::Status ExportService::CheckCuts(const wire::LogIdentity& log) {
  TS_ASSIGN_OR_RETURN(const wire::TplogState state, wire::ReadTplogState(log.path));
  const uint64_t furthest = exporter_.FurthestSeq();
  for (size_t i = log.cuts; i < state.cuts.size(); ++i) {
    if (state.cuts[i].messages >= furthest) continue;
    return DataLoss("a power cut removed rows from {} that are in Kafka: choose another prefix",
                    log.path);
  }
  return absl::OkStatus();
}

void ExportService::StepEarlierLog() {
  if (earlier_ == nullptr || state_ != ExportState::kReading) return;
  const absl::StatusOr<wire::LogReplay::Progress> progress =
      earlier_->Step(exporter_, UINT64_MAX, kReadSlice);
  if (!exporter_.error().ok()) return Fail(exporter_.error());
  if (!progress.ok()) return Fail(progress.status());
  HandOver();
  if (*progress == wire::LogReplay::Progress::kMore) {
    const auto pause = exporter_.HasRoom() ? 0ms : kReadPause;
    return pause_.Once(pause, [this] { StepEarlierLog(); });
  }
  earlier_ = nullptr;
  EndEarlierLog();
}

void ExportService::StreamEarlierLog() {
  if (!exporter_.HasRoom()) {
    return pause_.Once(kReadPause, [this] {
      if (state_ == ExportState::kReading) StreamEarlierLog();
    });
  }
  const std::string path = exporter_.current().log.path;
  const auto from = static_cast<int64_t>(exporter_.position().seq());
  Ask(Value::List({Value::String(protocol::kLog), Value::Long(from), Value::Long(kStreamedBytes),
                   Value::Symbol(":" + path)}),
      [this, path](const absl::StatusOr<Value>& answer) {
        if (!answer.ok() || !answer->is(Type::kByte)) {
          return Fail(
              DataLoss("{}: its rows are missing in Kafka, and the tickerplant cannot read it: {}",
                       path, answer.ok() ? "no bytes" : Message(answer.status())));
        }
        if (answer->count() == 0) return EndEarlierLog();
        const absl::Status replayed = wire::ReplayBytes(answer->elements(), exporter_, UINT64_MAX);
        if (!replayed.ok()) return Fail(replayed);
        if (!exporter_.error().ok()) return Fail(exporter_.error());
        HandOver();
        StreamEarlierLog();
      });
}

// Makes sure that no log is between the ended one and the tickerplant's: it reads only its own and
// the one before.
void ExportService::CheckPreviousLog() {
  const std::string path = exporter_.current().log.path;
  Ask(Value::List({Value::String(protocol::kLog), Value::Long(0), Value::Long(1),
                   Value::Symbol(":" + path)}),
      [this, path](const absl::StatusOr<Value>& answer) {
        if (answer.ok()) return EndEarlierLog();
        Fail(
            DataLoss("logs between {} and {} may be missing in Kafka, and their files are not "
                     "here: choose another prefix",
                     path, log_path_));
      });
}

void ExportService::EndEarlierLog() {
  if (!exporter_.current().log_ended) {
    exporter_.EndLog(DayOf(exporter_.current().log.path).value_or(0));
    HandOver();
  }
  while (!earlier_logs_.empty()) {
    const std::string path = std::move(earlier_logs_.back());
    earlier_logs_.pop_back();
    const absl::StatusOr<std::unique_ptr<wire::LogReplay>> replay = wire::LogReplay::Open(path);
    const absl::StatusOr<ByteBuffer> first =
        replay.ok() ? (*replay)->ReadMessage(0) : replay.status();
    if (!first.ok()) return Fail(Annotate(first.status(), path));
    if (first->empty()) continue;  // A day without rows.
    exporter_.SetLog({path, Crc32c(*first)});
    return ReadEarlierLog();
  }
  Subscribe();
}

// ---- rows

void ExportService::Subscribe() {
  state_ = ExportState::kSubscribed;
  exporter_.ExpectLog(log_path_);
  error_ = absl::OkStatus();
  Later([](ExportService& service) {
    service.questions_ = nullptr;
    wire::SubscriberOptions options = service.options_.subscriber;
    options.ahead = true;
    for (const auto& [table, partitions] : service.partitions_) options.tables.push_back(table);
    service.subscriber_ =
        std::make_unique<wire::Subscriber>(service.loop_, options, &service.exporter_);
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
  const wire::SubscriptionCounters& subscription = const_cast<Exporter&>(exporter_).subscription();
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
