#include "tests/simulate/stack.h"

#include <algorithm>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "tests/simulate/notes.h"
#include "tickerplant/day_clock.h"
#include "tickerplant/tickerplant.h"
#include "wire/codec.h"
#include "wire/protocol.h"

namespace tickstack::simulate {

namespace protocol = wire::protocol;

namespace {

constexpr int64_t kMs = 1'000'000;

// Options of a client that logs in as its process.
wire::ClientOptions NamedAs(const Process& process) {
  wire::ClientOptions options;
  options.user = process.name();
  return options;
}

}  // namespace

tplog::SubscriberOptions SubscribeAs(const Process& process, const StackOptions& options) {
  tplog::SubscriberOptions subscribe;
  subscribe.tickerplant = options.tickerplant;
  subscribe.client.user = process.name();
  subscribe.read_log_file = options.reads_log_file && process.has_disk();
  return subscribe;
}

void DrawTickerplantOptions(Random& random, StackOptions& options) {
  options.fsync = OneOf<tplog::FsyncPolicy>(
      random,
      {tplog::FsyncPolicy::kNone, tplog::FsyncPolicy::kInterval, tplog::FsyncPolicy::kBatch});
  options.fsync_interval_ms = static_cast<int>(random.Between(5, 200));
  options.batch_ns = OneOf<int64_t>(random, {0, 10 * kMs, 50 * kMs, 1000 * kMs});
  options.batch_bytes = OneOf<size_t>(random, {size_t{1} << 20, 4096});
  options.at_once.clear();
  if (random.OneIn(2)) {
    for (const aggengine::BarSpec& spec : BarSpecs()) options.at_once.push_back(spec.name);
  }
}

StackOptions DrawOptions(Random& random, std::string folder) {
  StackOptions options;
  options.folder = std::move(folder);
  DrawTickerplantOptions(random, options);
  options.zone = OneOf<std::string>(random, {"UTC", "America/New_York", "Asia/Tokyo"});
  options.roll_offset_ns = OneOf<int64_t>(random, {0, 17 * 3600 * kNsPerSecond});
  options.reads_log_file = !random.OneIn(3);
  options.bars_every_ns = OneOf<int64_t>(random, {0, 0, 100 * kMs});
  options.bars_gap_ns = OneOf<int64_t>(random, {0, 5 * kMs, 25 * kMs});
  options.feed_batch_rows = OneOf<int64_t>(random, {1, 10, 1000});
  options.write_threads = static_cast<int>(random.Between(1, 3));
  if (random.OneIn(3)) {
    options.socket_bytes = OneOf<size_t>(random, {500, 4000});
    options.live_queue_bytes = OneOf<size_t>(random, {1, 2000});
    options.teller_window_rows = OneOf<int64_t>(random, {0, 1, 10});
  }
  if (random.OneIn(4)) options.keep_logs_days = static_cast<int>(random.Between(0, 1));
  return options;
}

// ---- tickerplant

void TickerplantProgram::Stop() {
  server->StopAccepting();
  if (const absl::Status closed = service->Close(); !closed.ok()) {
    LogWarn("tickerplant closed error=\"{}\"", Message(closed));
  }
}

void TickerplantProgram::LogNotes(Process& process, const FeedPlan& plan) {
  notes = std::make_unique<wire::Timer>(process.loop());
  const std::vector<PlannedRow>& rows = plan.find(kNoteTable)->second;
  notes->Every(std::chrono::milliseconds(50), [this, &process, &rows] {
    tickerplant::UpstreamTarget& target = *service;
    tickerplant::Tickerplant& plant = target.plant();
    const auto table = static_cast<size_t>(plant.FindTable(kNoteTable));
    const auto begin = static_cast<size_t>(plant.LoggedFeedRows(kEarlierVersion)[table]);
    size_t end = begin;
    while (end < rows.size() && rows[end].due_ns <= process.clock().NowNs()) ++end;
    if (end == begin || plant.has_staged()) return;
    const auto x = std::make_shared<ByteBuffer>();
    wire::Encode(EncodeRows(kNoteTable, kEarlierVersion, rows, begin, end), *x);
    const absl::Status staged =
        plant.StageLogged(table, x->span(), x, kEarlierVersion, static_cast<int64_t>(begin));
    if (!staged.ok()) LogWarn("notes are not staged error=\"{}\"", Message(staged));
    target.LogRows();
  });
}

tickerplant::TickerplantOptions PlantOptions(const StackOptions& options, const Host& machine) {
  tickerplant::TickerplantOptions plant;
  plant.schemas = options.has_news ? SchemasWithNews() : AllSchemas();
  if (options.has_notes) plant.schemas.push_back(*FindSchema(kNoteTable));
  if (options.has_exchange) {
    for (feed::MappedTable& table : ExchangeTables()) {
      plant.schemas.push_back(std::move(table.schema));
    }
  }
  plant.log_directory = options.LogFolder();
  plant.log.fsync = options.fsync;
  plant.log.fsync_interval_ms = options.fsync_interval_ms;
  plant.log.boot = machine.Boot();
  plant.log.mount = machine.Mount();
  plant.batch = options.batch_ns > 0;
  plant.at_once = options.at_once;
  plant.publish_bytes = options.batch_bytes;
  plant.live_queue_bytes = options.live_queue_bytes;
  return plant;
}

absl::StatusOr<std::unique_ptr<Program>> StartTickerplant(Process& process,
                                                          const StackOptions& options) {
  TS_ASSIGN_OR_RETURN(
      const tickerplant::DayClock day,
      tickerplant::DayClock::Create(options.zone, options.roll_offset_ns, std::nullopt));
  TS_ASSIGN_OR_RETURN(std::unique_ptr<tickerplant::Tickerplant> tickerplant,
                      tickerplant::Tickerplant::Open(
                          PlantOptions(options, process.world().machine()), day, &process.clock()));
  auto program = std::make_unique<TickerplantProgram>();
  const tickerplant::BatchClock batches(options.batch_ns, std::nullopt, process.clock().NowNs());
  program->service = std::make_unique<tickerplant::TickerplantService>(
      process.loop(), std::move(tickerplant), batches, [&process](const absl::Status& why) {
        LogError("tickerplant ends error=\"{}\"", Message(why));
        process.Exit();
      });
  wire::ServerOptions server;
  server.http = false;  // It has a thread and sockets of its own.
  server.connection.max_queue_bytes = options.queue_bytes_max;
  server.authenticator = options.users;
  TS_ASSIGN_OR_RETURN(program->server, wire::Server::Listen(process.loop(), options.tickerplant,
                                                            server, program->service.get()));
  return program;
}

// ---- aggregation engine

absl::StatusOr<std::unique_ptr<Program>> StartAggEngine(Process& process,
                                                        const StackOptions& options) {
  auto program = std::make_unique<AggEngineProgram>();
  program->tier = mem::MakeDramTier("state");
  program->engine = std::make_unique<aggengine::Engine>(
      aggengine::EngineOptions{.bars = BarSpecs()}, program->tier.get(), &process.clock());
  aggengine::ServiceOptions service;
  service.subscriber = SubscribeAs(process, options);
  service.publish_ns = options.bars_every_ns;
  service.gap_ns = options.bars_gap_ns;
  program->service =
      std::make_unique<aggengine::AggEngineService>(process.loop(), service, program->engine.get());
  return program;
}

// ---- rdb

absl::StatusOr<std::unique_ptr<Program>> StartRdb(Process& process, const StackOptions& options) {
  auto program = std::make_unique<RdbProgram>();
  program->tier = mem::MakeDramTier("dram");
  program->rdb = std::make_unique<rdb::Rdb>(rdb::RdbOptions{}, rdb::Placement(program->tier.get()),
                                            &process.clock());
  program->rdb->Reopen();
  rdb::EndOfDayOptions days;
  days.database = options.Database();
  days.threads = options.write_threads;
  days.keep_logs_days = options.keep_logs_days;
  program->end_of_day = std::make_unique<rdb::EndOfDay>(days, program->rdb.get());
  program->rdb->KeepDays(program->end_of_day.get());
  program->subscriber = std::make_unique<tplog::Subscriber>(
      process.loop(), SubscribeAs(process, options), program->rdb.get());
  return program;
}

// ---- feeds

absl::StatusOr<std::unique_ptr<Program>> StartFeed(Process& process, const StackOptions& options,
                                                   const std::string& name, const FeedPlan& plan) {
  auto program = std::make_unique<FeedProgram>();
  const feed::FeedSettings settings = {
      .name = name,
      .instance = fmt::format("{}.{}", name, process.starts()),
      // The one before it may still own the name, if its connection is not known to be lost.
      .take_over = true};
  program->service = std::make_unique<feed::FeedService>(
      process.loop(), options.tickerplant,
      std::make_unique<feed::Feed>(settings, MakeSource(plan, name, options.feed_batch_rows)));
  program->service->Start();
  return program;
}

namespace {

// A client that sends one row after the other and waits for each answer.
class Teller final : public Program, public wire::ClientHandler {
 public:
  Teller(Process& process, const StackOptions& options, const FeedPlan& plan, Told& told)
      : rows_(plan.find("trade")->second),
        window_rows_(options.teller_window_rows),
        told_(told),
        clock_(process.clock()),
        timer_(process.loop()),
        client_(process.loop(), options.tickerplant, NamedAs(process), this) {
    told_.answers.resize(rows_.size(), Told::Answer::kNone);
    told_.times_ns.resize(rows_.size(), 0);
  }

  void OnConnected(wire::Connection& connection) override {
    if (window_rows_ > 0) {
      connection.SendAsync(
          Value::List({Value::String(protocol::kWindow), Value::Long(window_rows_)}));
    }
    SendNext();
  }
  void OnMessage(wire::Connection&, const wire::ReceivedMessage&) override {}
  void OnClosed(wire::Connection&, const absl::Status&) override { timer_.Cancel(); }

 private:
  void SendNext() {
    wire::Connection* const connection = client_.connection();
    if (connection == nullptr || told_.next == rows_.size()) return;
    // Looks at the clock again, which may be set meanwhile.
    const int64_t wait_ns = std::min(rows_[told_.next].due_ns - clock_.NowNs(), kNsPerSecond);
    if (wait_ns > 0) return timer_.Once(std::chrono::nanoseconds(wait_ns), [this] { SendNext(); });
    const size_t n = told_.next++;
    const Value x = EncodeRows("trade", "teller", rows_, n, n + 1);
    connection->Call(Value::List({Value::Symbol(protocol::kFeedUpd), Value::Symbol("trade"), x}),
                     [this, n](const absl::StatusOr<Value>& answer) {
                       if (!answer.ok() && absl::IsUnavailable(answer.status())) return;
                       told_.answers[n] =
                           answer.ok() ? Told::Answer::kLogged : Told::Answer::kRefused;
                       told_.times_ns[n] = clock_.MonotonicNs();
                       SendNext();
                     });
  }

  const std::vector<PlannedRow>& rows_;
  const int64_t window_rows_;
  Told& told_;
  const Clock& clock_;
  wire::Timer timer_;
  wire::Client client_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Program>> StartTeller(Process& process, const StackOptions& options,
                                                     const FeedPlan& plan, Told& told) {
  return std::make_unique<Teller>(process, options, plan, told);
}

// ---- repeater

namespace {

class Repeater final : public Program, public wire::ClientHandler {
 public:
  Repeater(Process& process, const StackOptions& options, const FeedPlan& plan, std::string name,
           int64_t& logged)
      : rows_(plan.find("trade")->second),
        name_(std::move(name)),
        logged_(logged),
        clock_(process.clock()),
        random_(process.world().random()),
        timer_(process.loop()),
        client_(process.loop(), options.tickerplant, NamedAs(process), this) {}

  void OnConnected(wire::Connection&) override { SendNext(); }
  void OnMessage(wire::Connection&, const wire::ReceivedMessage&) override {}
  void OnClosed(wire::Connection&, const absl::Status&) override { timer_.Cancel(); }

 private:
  static constexpr int64_t kRepeatedRowsMax = 3, kGapRows = 2;

  int64_t DueRows() const {
    int64_t due = logged_;
    while (due < static_cast<int64_t>(rows_.size()) &&
           rows_[static_cast<size_t>(due)].due_ns <= clock_.NowNs()) {
      ++due;
    }
    return due;
  }

  void SendLater() {
    timer_.Once(std::chrono::milliseconds(20), [this] { SendNext(); });
  }

  void SendNext() {
    wire::Connection* const connection = client_.connection();
    if (connection == nullptr || logged_ == static_cast<int64_t>(rows_.size())) return;
    const int64_t end = DueRows();
    if (end == logged_) return SendLater();
    const bool gap = random_.OneIn(8) && end > logged_ + kGapRows;
    const int64_t begin =
        gap ? logged_ + kGapRows
            : std::max<int64_t>(0, logged_ - random_.Between(0, kRepeatedRowsMax));
    const Value x =
        EncodeRows("trade", name_, rows_, static_cast<size_t>(begin), static_cast<size_t>(end));
    connection->Call(Value::List({Value::Symbol(protocol::kNumberedUpd), Value::Symbol(name_),
                                  Value::Long(begin), Value::Symbol("trade"), x}),
                     [this, end](const absl::StatusOr<Value>& answer) {
                       if (!answer.ok() && absl::IsUnavailable(answer.status())) return;
                       if (!answer.ok()) return AskRows();
                       logged_ = end;
                       SendNext();
                     });
  }

  // After a refusal: a gap, or its last connection still owns the name, or a power cut took rows.
  void AskRows() {
    wire::Connection* const connection = client_.connection();
    if (connection == nullptr) return;
    connection->Call(Value::List({Value::String(protocol::kFeed), Value::Symbol(name_)}),
                     [this](const absl::StatusOr<Value>& answer) {
                       if (!answer.ok()) return;
                       logged_ = answer->values().span<int64_t>()[0];  // `trade` is the first.
                       SendLater();
                     });
  }

  const std::vector<PlannedRow>& rows_;
  const std::string name_;
  int64_t& logged_;
  const Clock& clock_;
  Random& random_;
  wire::Timer timer_;
  wire::Client client_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Program>> StartRepeater(Process& process,
                                                       const StackOptions& options,
                                                       const FeedPlan& plan,
                                                       const std::string& name, int64_t& logged) {
  return std::make_unique<Repeater>(process, options, plan, name, logged);
}

// ---- scribe

namespace {

class Scribe final : public Program, public wire::ClientHandler {
 public:
  Scribe(Process& process, const StackOptions& options, std::string& accepted)
      : accepted_(accepted),
        clock_(process.clock()),
        random_(process.world().random()),
        timer_(process.loop()),
        client_(process.loop(), options.tickerplant, NamedAs(process), this) {}

  void OnConnected(wire::Connection&) override { SendLater(); }
  void OnMessage(wire::Connection&, const wire::ReceivedMessage&) override {}
  void OnClosed(wire::Connection&, const absl::Status&) override { timer_.Cancel(); }

 private:
  void SendLater() {
    timer_.Once(std::chrono::milliseconds(random_.Between(20, 2000)), [this] { Send(); });
  }

  void Send() {
    wire::Connection* const connection = client_.connection();
    if (connection == nullptr) return;
    size_t n = random_.Below(1000);
    while (!IsUnstorable(n)) ++n;
    const std::vector<PlannedRow> rows(n + 1, {clock_.NowNs(), "A", 1, 1});
    connection->Call(Value::List({Value::Symbol(protocol::kFeedUpd), Value::Symbol(kNoteTable),
                                  EncodeRows(kNoteTable, "scribe", rows, n, n + 1)}),
                     [this, n](const absl::StatusOr<Value>& answer) {
                       if (answer.ok()) accepted_ = fmt::format("note {}", n);
                       SendLater();
                     });
  }

  std::string& accepted_;
  const Clock& clock_;
  Random& random_;
  wire::Timer timer_;
  wire::Client client_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Program>> StartScribe(Process& process, const StackOptions& options,
                                                     std::string& accepted) {
  return std::make_unique<Scribe>(process, options, accepted);
}

// ---- recorder

void Recorder::Take(std::span<const std::byte> body, bool live, bool* in_order) {
  const Schema* const schema = FindSchema(wire::PeekUpdTable(body).value_or(std::string_view()));
  wire::UpdView upd;
  if (schema == nullptr || !decoder_.Decode(body, &upd, schema->columns.size()).ok()) {
    rows_["unreadable"].emplace_back("message");
    return;
  }
  uint64_t known = 0;
  if (live && upd.seq) {
    *in_order = position_.OnPublished(upd.table, upd.batch.rows, *upd.seq);
    if (!*in_order) return;
  }
  if (!live) known = position_.RowsHere(upd.table, upd.batch.rows);
  RowTexts texts;
  AppendTexts(*schema, upd.batch, texts);
  texts.erase(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(known));
  CheckNumbers(schema->table, texts);
  RowTexts& all = rows_[schema->table];
  all.insert(all.end(), texts.begin(), texts.end());
}

// The rows of a feed are in order, and none is missing in between, at any time: also while a
// subscriber replays the log after a publication that was cut in the middle.
void Recorder::CheckNumbers(const std::string& table, std::span<const std::string> rows) {
  const auto feed = static_cast<size_t>(std::max(FindSchema(table)->Find("feed"), 0));
  if (feed == 0) return;  // Bars.
  for (const std::string& row : rows) {
    const std::string name = Cell(row, feed);
    const int64_t number = std::stoll(Cell(row, feed + 1));
    const auto [last, is_first] = numbers_.try_emplace({table, name}, number);
    const bool may_skip = is_first || name == "teller" || !all_rows_ || is_incomplete();
    const bool in_order =
        is_first || (may_skip ? number > last->second : number == last->second + 1);
    if (!in_order && problem_.empty()) {
      problem_ = fmt::format("{} of {}: row {} after row {}", table, name, number, last->second);
    }
    last->second = number;
  }
}

// A tickerplant that lost nothing gives no reason to start over in the same log.
void Recorder::SetLog(tplog::LogIdentity log) {
  if (left_ && left_->path == log.path && left_->cuts == log.cuts && problem_.empty()) {
    problem_ = "it started over without a reason";
  }
  left_.reset();
  log_ = std::move(log);
}

tplog::LiveOutcome Recorder::OnLive(std::span<const std::byte> body) {
  const std::string_view verb = wire::PeekVerb(body).value_or(std::string_view());
  if (verb == protocol::kEnd) {
    const absl::StatusOr<Value> end = wire::Decode(body);
    ended_[end->items()[1].as<int32_t>()] =
        is_incomplete() ? std::nullopt : std::optional(std::move(rows_));
    StartOver();
    left_.reset();
    return tplog::LiveOutcome::kDayEnded;
  }
  if (!protocol::IsUpd(verb)) return tplog::LiveOutcome::kTaken;
  bool in_order = true;
  Take(body, true, &in_order);
  if (!in_order && problem_.empty()) problem_ = "rows were published out of order";
  return in_order ? tplog::LiveOutcome::kTaken : tplog::LiveOutcome::kOutOfOrder;
}

void Recorder::OnLogged(std::span<const std::byte> body) {
  Take(body, false, nullptr);
  position_.OnReplayed();
}

void Recorder::StartOver() {
  if (!log_.path.empty() && position_.seq() > 0) left_ = log_;
  rows_.clear();
  numbers_.clear();
  missing_before_ = counters_.messages_missing.load();
  position_.Reset();
  log_ = {};
}

absl::StatusOr<std::unique_ptr<Program>> StartRecorder(Process& process,
                                                       const StackOptions& options, bool ahead,
                                                       bool all_rows) {
  auto program = std::make_unique<RecorderProgram>();
  program->recorder = std::make_unique<Recorder>(all_rows);
  tplog::SubscriberOptions subscribe = SubscribeAs(process, options);
  subscribe.ahead = ahead;
  program->subscriber =
      std::make_unique<tplog::Subscriber>(process.loop(), subscribe, program->recorder.get());
  return program;
}

}  // namespace tickstack::simulate
