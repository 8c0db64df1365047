// The part of the service that ends days, by the clock or by request, after the closers have
// published their final rows (day_closers.h).

#include <chrono>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "tickerplant/tickerplant_service.h"
#include "tickerplant/verbs.h"
#include "wire/protocol.h"

namespace tickstack::tickerplant {

namespace protocol = wire::protocol;

using wire::Connection;

namespace {

// Interval of polls while a day waits for its closers.
constexpr std::chrono::milliseconds kClosingTick{1};

}  // namespace

// Ends the day by request: immediately, or after the closers have published their final rows.
absl::Status TickerplantService::EndDay() {
  if (closers_.empty() && replication_ == nullptr) return tickerplant_->EndDay();
  TS_RETURN_IF_ERROR(tickerplant_->MayEndDay());
  if (closers_.is_closing() || rolling_) return FailedPrecondition("day: it is ending already");
  if (closers_.empty()) {
    RollTo(tickerplant_->date() + 1);
    return absl::OkStatus();
  }
  ends_by_hand_ = true;
  BeginClosing();
  return absl::OkStatus();
}

// Ends the day as the upstream did, after the closers have published their final rows.
void TickerplantService::EndDayTo(int32_t next, std::function<void(absl::Status)> done) {
  if (closers_.empty()) return done(tickerplant_->EndDayTo(next));
  next_day_ = {next, std::move(done)};
  BeginClosing();
}

// True for rows, and for what may contain rows, unless a closer sends them. Other verbs are
// answered also while a day closes: a closer that lost its connection can register the next one.
bool TickerplantService::WaitsForNextDay(const Connection& connection,
                                         const std::optional<std::string_view>& verb) const {
  return !closers_.HasConnection(connection.id()) && (!verb || !Verbs::IsWithoutRows(*verb));
}

void TickerplantService::HoldForNextDay(Connection& connection,
                                        const wire::ReceivedMessage& message) {
  held_for_next_day_.push_back({connection.id(), CopyOf(message)});
  connection.PauseReading();
}

void TickerplantService::TakeHeldForNextDay() {
  for (const HeldForNextDay& held : std::exchange(held_for_next_day_, {})) {
    const auto found = connections_.find(held.connection);
    if (found == connections_.end()) continue;
    const std::shared_ptr<Connection> connection = found->second;
    // Reads again later, unless what follows pauses it.
    connection->ResumeReading();
    const std::shared_ptr<const void> owner = held.request.body;
    Take(*connection, {held.request.kind, held.request.body->span(), owner});
    OnDrained(*connection);
  }
}

void TickerplantService::BeginClosing() {
  CommitStaged();
  tickerplant_->Publish();
  std::vector<Value> closing;
  closing.push_back(Value::Symbol(protocol::kClosing));
  closing.push_back(Value::Date(tickerplant_->date()));
  const Value message = Value::List(std::move(closing));
  for (const uint64_t id : closers_.Begin(clock_.MonotonicNs())) {
    const auto found = connections_.find(id);
    if (found != connections_.end()) SendInOrder(*found->second, message);
  }
  closing_timer_.Every(kClosingTick, [this] { EndWhenClosed(); });
}

void TickerplantService::EndWhenClosed() {
  if (closers_.MustWait(clock_.MonotonicNs())) return;
  for (const std::string& name : closers_.Missing()) {
    LogWarn("day ends without the last rows of name={} waited_ms={}", name,
            DayClosers::kWaitNsMax / 1'000'000);
  }
  closing_timer_.Cancel();
  closers_.End();
  if (next_day_) {
    const NextDay next = *std::exchange(next_day_, std::nullopt);
    CommitStaged();
    next.done(tickerplant_->EndDayTo(next.date));
  } else if (std::exchange(ends_by_hand_, false)) {
    if (replication_ != nullptr) return RollTo(tickerplant_->date() + 1);
    if (const absl::Status ended = tickerplant_->EndDay(); !ended.ok()) {
      LogError("day not ended error=\"{}\"", Message(ended));
    }
  } else {
    RollNow();
    if (rolling_) return;
  }
  TakeHeldForNextDay();
}

void TickerplantService::Roll() {
  if (rolling_) return RollWhenAcknowledged();
  if (closers_.is_closing()) return;
  if (!closers_.empty() && tickerplant_->IsRollDue()) return BeginClosing();
  RollNow();
}

void TickerplantService::RollNow() {
  if (replication_ != nullptr) {
    if (serves_ && tickerplant_->IsRollDue()) RollTo(tickerplant_->NextDay());
    return;
  }
  if (const absl::StatusOr<bool> rolled = tickerplant_->RollIfDue(); !rolled.ok()) {
    static LogLimit limit(60 * kNsPerSecond);
    if (limit.Pass())
      LogError("day not ended, trying again error=\"{}\"", Message(rolled.status()));
  }
}

}  // namespace tickstack::tickerplant
