#include "tickerplant/day_end.h"

#include <chrono>
#include <utility>

#include "base/check.h"
#include "base/logging.h"
#include "base/status.h"
#include "wire/protocol.h"

namespace tickstack::tickerplant {

namespace protocol = wire::protocol;

namespace {

// Interval of polls while a day waits for its closers.
constexpr std::chrono::milliseconds kClosingTick{1};

void LogNotEnded(const absl::Status& why) {
  static LogLimit limit(60 * kNsPerSecond);
  if (limit.Pass()) LogError("day not ended, trying again error=\"{}\"", Message(why));
}

}  // namespace

DayEnd::DayEnd(wire::EventLoop& loop, Tickerplant* plant, Host* host)
    : clock_(loop.clock()), plant_(plant), host_(host), closing_timer_(loop) {}

void DayEnd::EndIfDue() {
  if (!is_ending() && plant_->IsRollDue()) return Begin({Ending::By::kClock});
  Advance();
}

absl::Status DayEnd::EndByRequest() {
  if (closers_.empty() && replication_ == nullptr) return plant_->EndDay();
  TS_RETURN_IF_ERROR(plant_->MayEndDay());
  if (is_ending()) return FailedPrecondition("day: it is ending already");
  Begin({Ending::By::kRequest});
  return absl::OkStatus();
}

void DayEnd::EndAsUpstream(int32_t next, std::function<void(absl::Status)> done) {
  if (closers_.empty()) return done(plant_->EndDayTo(next));
  Begin({Ending::By::kUpstream, next, std::move(done)});
}

void DayEnd::Begin(Ending ending) {
  TS_CHECK(!is_ending());
  ending_ = std::move(ending);
  Advance();
}

// The only function that changes the state. Each step sets it first, so that whatever the step
// calls finds it. Messages that waited are taken last: they may contain a request that ends the
// next day.
void DayEnd::Advance() {
  if (state_ == State::kOpen) {
    if (!ending_) return;
    state_ = State::kClosing;
    if (!closers_.empty()) AskClosers();
  }
  if (state_ == State::kClosing) {
    if (closers_.MustWait(clock_.MonotonicNs())) return;
    LeaveClosers();
    if (ending_->by != Ending::By::kUpstream && replication_ != nullptr) {
      // The clock may have been set back while the day waited for its closers.
      const bool is_off = ending_->by == Ending::By::kClock && !plant_->IsRollDue();
      next_ = ending_->by == Ending::By::kClock ? plant_->NextDay() : plant_->date() + 1;
      again_ns_ = 0;
      state_ = is_off ? State::kOpen : State::kDraining;
      if (is_off) ending_.reset();
    } else {
      state_ = State::kOpen;
      EndHere(*std::exchange(ending_, std::nullopt));
    }
  }
  if (state_ == State::kDraining) {
    if (host_->has_failed() || plant_->has_staged()) return;
    state_ = State::kOffered;
    replication_->OfferNextDay(plant_->date(), next_);
  }
  if (state_ == State::kOffered) {
    if (!EndWithStandbys()) return;
    state_ = State::kOpen;
    ending_.reset();
    replication_->OnLogged({next_, 0});
  }
  host_->TakeHeld(std::exchange(held_, {}));
}

void DayEnd::AskClosers() {
  host_->CommitStaged();
  plant_->Publish();
  std::vector<Value> closing;
  closing.push_back(Value::Symbol(protocol::kClosing));
  closing.push_back(Value::Date(plant_->date()));
  const Value message = Value::List(std::move(closing));
  for (const uint64_t connection : closers_.Begin(clock_.MonotonicNs())) {
    host_->SendInOrder(connection, message);
  }
  closing_timer_.Every(kClosingTick, [this] { Advance(); });
}

void DayEnd::LeaveClosers() {
  for (const std::string& name : closers_.Missing()) {
    LogWarn("day ends without the last rows of name={} waited_ms={}", name,
            DayClosers::kWaitNsMax / 1'000'000);
  }
  closing_timer_.Cancel();
  closers_.End();
}

// Ends the day without asking standbys.
void DayEnd::EndHere(const Ending& ending) {
  switch (ending.by) {
    case Ending::By::kUpstream:
      host_->CommitStaged();
      return ending.done(plant_->EndDayTo(ending.next));
    case Ending::By::kRequest:
      if (const absl::Status ended = plant_->EndDay(); !ended.ok()) {
        LogError("day not ended error=\"{}\"", Message(ended));
      }
      return;
    case Ending::By::kClock:
      if (const absl::StatusOr<bool> ended = plant_->RollIfDue(); !ended.ok()) {
        LogNotEnded(ended.status());
      }
      return;
  }
}

// Ends the day if the standbys have begun the next one. False: it has not ended yet.
bool DayEnd::EndWithStandbys() {
  if (host_->has_failed() || plant_->has_staged() || clock_.MonotonicNs() < again_ns_) return false;
  const ReplicaPlace next{next_, 0};
  if (!replication_->IsAcknowledged(next)) return false;
  const absl::Status ended = plant_->EndDayTo(next_);
  if (ended.ok()) return true;
  LogNotEnded(ended);
  again_ns_ = clock_.MonotonicNs() + kPauseNs;
  return false;
}

bool DayEnd::MustWait(uint64_t connection, bool may_have_rows) const {
  switch (state_) {
    case State::kOpen:
      return false;
    case State::kClosing:
      return may_have_rows && !closers_.HasConnection(connection);
    case State::kDraining:
    case State::kOffered:
      return may_have_rows;
  }
  return false;
}

}  // namespace tickstack::tickerplant
