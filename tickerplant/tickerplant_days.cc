// The part of the service that ends days, by the clock or by request, after the closers have
// published their final rows (day_closers.h).

#include <chrono>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "tickerplant/tickerplant_service.h"
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
  if (closers_.empty()) return tickerplant_->EndDay();
  TS_RETURN_IF_ERROR(tickerplant_->MayEndDay());
  if (closers_.is_closing()) return FailedPrecondition("day: it is ending already");
  ends_by_hand_ = true;
  BeginClosing();
  return absl::OkStatus();
}

bool TickerplantService::IsCloser(const Connection& connection) const {
  return closers_.HasConnection(connection.id());
}

void TickerplantService::BeginClosing() {
  CommitStaged();
  tickerplant_->Publish();
  for (const auto& [id, connection] : connections_) {
    if (IsCloser(*connection)) continue;
    connection->PauseReading();
    held_.push_back(connection);
  }
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
  if (std::exchange(ends_by_hand_, false)) {
    if (const absl::Status ended = tickerplant_->EndDay(); !ended.ok()) {
      LogError("day not ended error=\"{}\"", Message(ended));
    }
  } else {
    RollNow();
  }
  for (const std::weak_ptr<Connection>& weak : std::exchange(held_, {})) {
    if (const std::shared_ptr<Connection> connection = weak.lock()) connection->ResumeReading();
  }
}

void TickerplantService::Roll() {
  if (closers_.is_closing()) return;
  if (!closers_.empty() && tickerplant_->IsRollDue()) return BeginClosing();
  RollNow();
}

void TickerplantService::RollNow() {
  if (const absl::StatusOr<bool> rolled = tickerplant_->RollIfDue(); !rolled.ok()) {
    static LogLimit limit(60 * kNsPerSecond);
    if (limit.Pass())
      LogError("day not ended, trying again error=\"{}\"", Message(rolled.status()));
  }
}

}  // namespace tickstack::tickerplant
