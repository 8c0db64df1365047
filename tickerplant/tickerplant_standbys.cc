// The part of the service whose log is replicated (replication.h).

#include <chrono>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "tickerplant/tickerplant_service.h"
#include "tickerplant/verbs.h"
#include "wire/codec.h"
#include "wire/protocol.h"

namespace tickstack::tickerplant {

namespace protocol = wire::protocol;

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

// Refuses everything but standbys' messages until this leader serves clients. True if it is
// refused.
bool TickerplantService::RefuseUnsettled(wire::Connection& connection,
                                         const wire::ReceivedMessage& message,
                                         const std::optional<std::string_view>& verb) {
  if (serves_) return false;
  if (verb == protocol::kReplicate || verb == protocol::kReplicaAcked ||
      verb == protocol::kReplica) {
    return false;
  }
  // As a standby refuses (cluster_member.h): the next attempt may find this leader ready.
  const bool is_query =
      !message.body.empty() && message.body[0] == static_cast<std::byte>(Type::kChar);
  if (is_query) {
    const absl::StatusOr<Value> request = wire::Decode(message.body);
    if (request.ok() && AsksForReplica(*request)) return false;
  }
  if (is_query && message.kind == wire::MessageKind::kSync) {
    connection.ReplyError(connection.TakeTicket(),
                          "standby: this tickerplant takes over, and waits for its standbys");
  }
  connection.CloseWhenSent(100ms);
  return true;
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
  ReleaseHeldForStandbys();
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

// An acknowledgement of a standby that has joined, and so has the right to. It is not one of the
// requests whose number per second is limited: those that are too many are dropped.
void TickerplantService::TakeAcknowledgement(wire::Connection& connection,
                                             const wire::ReceivedMessage& message) {
  const absl::Status taken = [&]() -> absl::Status {
    TS_ASSIGN_OR_RETURN(const Value value, wire::Decode(message.body));
    if (!value.is_list()) return InvalidArgument("type: {} takes a list", protocol::kReplicaAcked);
    TS_ASSIGN_OR_RETURN(const ReplicaAck ack, ParseAck(std::span(value.items()).subspan(1)));
    return standbys_->OnAck(connection.id(), ack);
  }();
  if (!taken.ok()) connection.Close(taken);
}

bool TickerplantService::MustWaitForStandbys() const {
  return !replication_->has_enough() || !replication_->HasRoom();
}

// Does not read a feed whose rows wait for standbys, if too many do.
void TickerplantService::HoldForStandbys(const wire::Connection& connection) {
  if (!MustWaitForStandbys()) return;
  if (!replication_->has_enough()) {
    static LogLimit limit(10 * kNsPerSecond);
    if (limit.Pass()) LogWarn("log cannot be replicated, feeds are paused");
  }
  gate_.Stop(connection.id(), ReadGate::Reason::kStandbys);
}

void TickerplantService::ReleaseHeldForStandbys() {
  if (!MustWaitForStandbys()) gate_.ReleaseAll(ReadGate::Reason::kStandbys);
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
