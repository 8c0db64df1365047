#include "aggengine/aggengine_service.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "wire/codec.h"
#include "wire/protocol.h"

namespace tickstack::aggengine {

namespace protocol = wire::protocol;
namespace {

constexpr int64_t kWaitPerWork = 9;
// Publish intervals of a tickerplant to which the engine adapts; shorter ones count as immediate.
constexpr int64_t kIntervalNsMin = 1'000'000, kIntervalNsMax = kNsPerDay;
// The shortest half interval that gets a publication of its own.
constexpr int64_t kHalfNsMin = 10'000'000;

// When the engine publishes to a tickerplant whose rows it gets ahead of their batches.
struct Schedule {
  int64_t first_ns = 0;  // Counted from now.
  int64_t every_ns = 0;
};

// Returns the schedule with two publications in an interval of the tickerplant: at three and at
// seven eighths of it, counted from the tickerplant's own publication. Where two or four
// tickerplants of a machine share the interval evenly, the publications of their engines are
// between all of theirs. If two would come sooner than the gap allows, there is one in an interval,
// or in two, or three. The times come from another process and may be anything, so each is first
// taken modulo the interval.
Schedule ScheduleOf(const tplog::BatchTimes& of, int64_t gap_ns, int64_t now_ns) {
  const int64_t interval_ns = of.interval_ns;
  const int64_t batches = std::max<int64_t>(1, (gap_ns + interval_ns - 1) / interval_ns);
  const bool twice = interval_ns / 2 >= std::max(gap_ns, kHalfNsMin);
  const int64_t since_ns = now_ns % interval_ns - of.next_ns % interval_ns;
  const int64_t step_ns = twice ? interval_ns / 2 : interval_ns;
  const int64_t wait_ns = (interval_ns / 8 * 3 - since_ns % interval_ns) % step_ns;
  return {wait_ns > 0 ? wait_ns : wait_ns + step_ns, twice ? step_ns : batches * interval_ns};
}

}  // namespace

// The connection on which the engine publishes.
class AggEngineService::Link final : public wire::ClientHandler {
 public:
  Link(AggEngineService& service, wire::EventLoop& loop, const tplog::SubscriberOptions& options)
      : service_(service), client_(loop, options.tickerplant, options.client, this) {}

  void OnConnected(wire::Connection& connection) override {
    connection_ = &connection;
    const Value request =
        Value::List({Value::String(protocol::kPublisher), Value::Symbol(service_.name_)});
    connection.Call(request, [this](const absl::StatusOr<Value>& answer) {
      if (absl::IsUnavailable(answer.status())) return;  // The connection has ended.
      // A plain kdb+tick does not know the verb.
      if (!answer.ok()) LogInfo("not the only publisher reason=\"{}\"", Message(answer.status()));
      service_.Subscribe();
    });
    if (service_.engine_->is_live()) service_.RegisterAsCloser(&connection);
    service_.Publish();
  }
  void OnMessage(wire::Connection&, const wire::ReceivedMessage& message) override {
    if (message.kind != wire::MessageKind::kResponse) return;
    const absl::StatusOr<Value> answer = wire::Decode(message.body);
    const bool refused = !answer.ok() || answer->is_error();
    service_.engine_->OnAnswer(refused ? Refusal(answer) : absl::OkStatus());
    if (service_.is_behind_) service_.on_timer_ ? service_.Publish() : service_.PublishWhenDue();
    if (service_.engine_->closing_date()) service_.Publish();
  }
  void OnClosed(wire::Connection&, const absl::Status& why) override {
    connection_ = nullptr;
    LogInfo("connection for publishing lost unanswered={} reason=\"{}\"",
            service_.engine_->unanswered(), why.ok() ? "closed" : Message(why));
    service_.engine_->OnLinkLost();
  }

  wire::Connection* connection() const { return connection_; }

 private:
  static absl::Status Refusal(const absl::StatusOr<Value>& answer) {
    if (!answer.ok()) return answer.status();
    return absl::UnknownError(AbslView(answer->text()));
  }

  AggEngineService& service_;
  wire::Connection* connection_ = nullptr;
  wire::Client client_;
};

AggEngineService::AggEngineService(wire::EventLoop& loop, const ServiceOptions& options,
                                   Engine* engine)
    : clock_(loop.clock()),
      engine_(engine),
      loop_(loop),
      subscribe_(options.subscriber),
      name_(options.subscriber.client.user),
      publish_ns_(options.publish_ns),
      gap_ns_(options.gap_ns),
      wait_ns_(gap_ns_),
      timer_(loop),
      due_timer_(loop),
      // Answers include all received rows.
      queries_(
          &clock_,
          {{".agg.stats", [this] { return engine_->Stats(); }, serve::LoopQueries::Effect::kReads}},
          [this] { engine_->TakeAdded(); }) {
  engine_->OnProgress([this] {
    if (!on_timer_) PublishWhenDue();
    if (engine_->closing_date()) Publish();
  });
  engine_->SetOnReplayDone([this] { OnLive(); });
  subscribe_.tables = engine_->Sources();
  subscribe_.ahead = true;
  link_ = std::make_unique<Link>(*this, loop, options.subscriber);
}

// Subscribes once the connection of an earlier engine of this name is closed. The engine learns
// from the log which bars have been published, and would not notice bars that are logged later.
void AggEngineService::Subscribe() {
  if (subscriber_ != nullptr) return;
  subscriber_ = std::make_unique<tplog::Subscriber>(loop_, subscribe_, engine_);
}

AggEngineService::~AggEngineService() {
  engine_->OnProgress(nullptr);
  engine_->SetOnReplayDone(nullptr);
}

void AggEngineService::OnLive() {
  KeepPace();
  // Registers on both connections: while a day closes, the tickerplant logs only rows of closers.
  RegisterAsCloser(subscriber_->connection());
  RegisterAsCloser(link_->connection());
}

// Called at each connection, because each tickerplant may have its own pace.
void AggEngineService::KeepPace() {
  const std::optional<tplog::BatchTimes>& ahead_of = subscriber_->ahead_of();
  CancelTimers();
  const bool keeps_pace = ahead_of && ahead_of->interval_ns >= kIntervalNsMin &&
                          ahead_of->interval_ns <= kIntervalNsMax;
  on_timer_ = publish_ns_ > 0 || keeps_pace;
  if (!on_timer_) return;
  const Schedule schedule = publish_ns_ > 0 ? Schedule{publish_ns_, publish_ns_}
                                            : ScheduleOf(*ahead_of, gap_ns_, clock_.NowNs());
  const auto publish = [this, every_ns = schedule.every_ns] {
    // The last publication took more than an eighth of the time.
    if (publish_ns_ == 0 && WaitNs() > every_ns / 4) return;
    Publish();
  };
  timer_.Every(std::chrono::nanoseconds(schedule.every_ns), publish,
               std::chrono::nanoseconds(schedule.first_ns));
}

void AggEngineService::CancelTimers() {
  timer_.Cancel();
  due_timer_.Cancel();
  is_due_ = false;
}

// Returns how long the gap still lasts.
int64_t AggEngineService::WaitNs() const { return published_ns_ + wait_ns_ - clock_.MonotonicNs(); }

// Publishes a whole batch at once: a batch of the tickerplant comes in many messages, and one
// publication is to have the bars of all of them. While more of the batch is about to be read the
// bars wait for it, as long as for a gap. The end of a day does not wait: see the callers.
void AggEngineService::PublishWhenDue() {
  if (gap_ns_ == 0) return Publish();
  const int64_t wait_ns = WaitNs();
  const wire::Connection* const connection =
      subscriber_ == nullptr ? nullptr : subscriber_->connection();
  if (wait_ns <= 0 && (connection == nullptr || !connection->HasUnread())) {
    due_timer_.Cancel();
    is_due_ = false;
    return Publish();
  }
  if (is_due_) return;
  is_due_ = true;
  due_timer_.Once(std::chrono::nanoseconds(wait_ns > 0 ? wait_ns : gap_ns_), [this] {
    is_due_ = false;
    Publish();
  });
}

// Publishes only if the engine is live: before that, its rows may be fewer than the log's.
void AggEngineService::Publish() {
  wire::Connection* const connection = link_ == nullptr ? nullptr : link_->connection();
  if (connection == nullptr || !engine_->is_live()) return;
  const int64_t begin_ns = gap_ns_ > 0 ? clock_.MonotonicNs() : 0;
  bool any = false;
  while (std::optional<ByteBuffer> message = engine_->NextMessage()) {
    connection->Queue(*std::move(message));
    any = true;
  }
  if (any && gap_ns_ > 0) {
    published_ns_ = clock_.MonotonicNs();
    // A busy engine publishes less often. Bars that change all the time then make one row of more
    // ticks, which saves work here, in the log and in every subscriber.
    wait_ns_ = std::clamp(kWaitPerWork * (published_ns_ - begin_ns), gap_ns_, 2 * gap_ns_);
  }
  is_behind_ = engine_->has_changes();
  if (engine_->closing_date() && !is_behind_ && engine_->unanswered() == 0) {
    connection->SendAsync(Value::List({Value::String(protocol::kClosed), Value::Symbol(name_),
                                       Value::Date(*engine_->closing_date())}));
    engine_->OnClosed();
  }
  connection->Flush();
}

// Asks the tickerplant to wait for the engine at the end of a day: rows that were published later
// would be in the next day's log. A plain kdb+tick cannot wait.
void AggEngineService::RegisterAsCloser(wire::Connection* connection) {
  if (connection == nullptr || subscriber_ == nullptr || !subscriber_->is_numbered()) return;
  connection->SendAsync(Value::List({Value::String(protocol::kCloser), Value::Symbol(name_)}));
}

void AggEngineService::StopAcceptingRows() {
  CancelTimers();
  Publish();
  is_behind_ = true;  // Every answer makes room for more rows.
  if (subscriber_ == nullptr) return;
  if (wire::Connection* const connection = subscriber_->connection()) connection->PauseReading();
}

bool AggEngineService::has_unpublished() const {
  return link_->connection() != nullptr && engine_->is_live() &&
         (engine_->unanswered() > 0 || engine_->has_changes());
}

}  // namespace tickstack::aggengine
