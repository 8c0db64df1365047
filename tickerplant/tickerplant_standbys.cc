// The part of the service whose log is replicated (replication.h).

#include <chrono>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "tickerplant/tickerplant_service.h"

namespace tickstack::tickerplant {

using namespace std::chrono_literals;

namespace {

constexpr auto kStandbysTick = 5ms;

}  // namespace

void TickerplantService::Lead(StandbysOptions options, InSyncSet* in_sync) {
  auto standbys = std::make_unique<Standbys>(std::move(options), tickerplant_.get(), in_sync,
                                             &clock_, [this] { OnReplicationProgress(); });
  standbys_ = standbys.get();
  Lead(std::move(standbys));
}

void TickerplantService::Lead(std::unique_ptr<Replication> replication) {
  replication_ = std::move(replication);
  tickerplant_->set_gate(replication_.get());
  day_end_.set_replication(replication_.get());
  replication_timer_.Every(kStandbysTick, [this] {
    replication_->Tick();
    OnReplicationProgress();
  });
  BeginToServe();  // It may need nobody.
}

void TickerplantService::OnReplicationProgress() {
  if (failed_) return;
  if (tickerplant_->has_staged()) {
    CommitStaged();
    ServeBehind();
  }
  AnswerWaiting();  // Also of what something else has logged meanwhile.
  day_end_.Advance();
  if (!serves_) BeginToServe();
  if (replication_->CanTakeRows()) gate_.ReleaseAll(ReadGate::Reason::kStandbys);
}

// A new leader serves clients once its log is settled, and not in a day that has passed: the
// members may have been down at its end.
void TickerplantService::BeginToServe() {
  if (!replication_->is_settled() || day_end_.is_ending()) return;
  if (tickerplant_->IsRollDue()) return day_end_.EndIfDue();
  serves_ = true;
  LogInfo("leader serves clients date={} seq={}", FormatDate(tickerplant_->date()),
          tickerplant_->logged_seq());
}

// Does not read a feed whose rows wait for standbys, if too many do.
void TickerplantService::HoldForStandbys(const wire::Connection& connection) {
  if (replication_->CanTakeRows()) return;
  if (!replication_->has_enough()) {
    static LogLimit limit(10 * kNsPerSecond);
    if (limit.Pass()) LogWarn("log cannot be replicated, feeds are paused");
  }
  gate_.Stop(connection.id(), ReadGate::Reason::kStandbys);
}

absl::StatusOr<Value> TickerplantService::ReplicaStats() const {
  if (replication_ == nullptr) {
    return absl::NotFoundError("replica: this tickerplant has no standbys");
  }
  SymbolVector keys;
  std::vector<Value> values;
  const auto add = [&](std::string_view key, Value value) {
    keys.push_back(key);
    values.push_back(std::move(value));
  };
  add("role", Value::Symbol("leader"));
  add("epoch", Value::Long(static_cast<int64_t>(replication_->epoch())));
  add("settled", Value::Long(serves_ ? 1 : 0));
  add("enough", Value::Long(replication_->has_enough() ? 1 : 0));
  add("in_flight_bytes", Value::Long(static_cast<int64_t>(replication_->in_flight_bytes())));
  add("date", Value::Date(tickerplant_->date()));
  add("messages", Value::Long(static_cast<int64_t>(tickerplant_->logged_seq())));
  replication_->AddStats(keys, values);
  return Value::Dict(Value::Symbols(std::move(keys)), Value::List(std::move(values)));
}

}  // namespace tickstack::tickerplant
