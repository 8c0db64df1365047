#include "tickerplant/standby.h"

#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "wire/codec.h"
#include "wire/protocol.h"

namespace tickstack::tickerplant {

namespace protocol = wire::protocol;

using namespace std::chrono_literals;

namespace {

wire::ClientOptions ToLeader() {
  wire::ClientOptions options;
  options.user = "standby";
  options.is_link = true;
  options.connect_timeout = 1000ms;
  options.first_pause = 10ms;
  options.longest_pause = 100ms;
  return options;
}

}  // namespace

Standby::Standby(wire::EventLoop& loop, std::string name, StandbyLog* log,
                 std::function<void(absl::Status)> on_failed)
    : loop_(loop),
      name_(std::move(name)),
      log_(log),
      on_failed_(std::move(on_failed)),
      pause_(loop),
      silence_timer_(loop) {
  silence_timer_.Every(250ms, [this] { CheckSilence(); });
}

Standby::~Standby() { stopped_ = true; }

void Standby::Follow(const wire::Address& address, uint64_t epoch) {
  if (stopped_) return;
  const bool same = client_ != nullptr && address == address_ && epoch == epoch_;
  if (same || epoch < epoch_) return;
  LogInfo("follows leader={} epoch={}", address.ToString(), epoch);
  address_ = address;
  epoch_ = epoch;
  client_ = nullptr;
  connection_ = nullptr;
  following_ = false;
  ++turn_;
  pause_.Cancel();
  refusal_ = "not connected yet";
  client_ = std::make_unique<wire::Client>(loop_, address_, ToLeader(), this);
}

void Standby::Stop() {
  stopped_ = true;
  following_ = false;
  connection_ = nullptr;
  ++turn_;
  pause_.Cancel();
  client_ = nullptr;
}

void Standby::OnConnected(wire::Connection& connection) {
  connection_ = &connection;
  heard_ns_ = loop_.clock().MonotonicNs();
  ++turn_;
  // Calls wait until the connection is started, which happens when this function returns.
  loop_.Post([this, alive = std::weak_ptr(alive_), turn = turn_] {
    if (!alive.expired() && turn == turn_ && !stopped_) Join();
  });
}

void Standby::CheckSilence() {
  if (connection_ == nullptr || stopped_) return;
  const int64_t silent_ns = loop_.clock().MonotonicNs() - heard_ns_;
  if (silent_ns <= (following_ ? kSilentNsMax : kSilentBeforeNsMax)) return;
  connection_->Close(Unavailable("the leader has been silent for {} ms", silent_ns / 1'000'000));
}

void Standby::OnConnectFailed(const absl::Status& why, std::chrono::milliseconds) {
  refusal_ = Message(why);
}

void Standby::OnClosed(wire::Connection&, const absl::Status& why) {
  connection_ = nullptr;
  following_ = false;
  ++turn_;
  pause_.Cancel();
  refusal_ = why.ok() ? "the leader closed the connection" : std::string(Message(why));
  if (!stopped_) LogInfo("leader lost address={} reason=\"{}\"", address_.ToString(), refusal_);
}

void Standby::Join() {
  const ReplicaRequest request{name_, epoch_, log_->place().date, log_->Ends()};
  connection_->Call(RequestMessage(request), [this, alive = std::weak_ptr(alive_),
                                              turn = turn_](const absl::StatusOr<Value>& answer) {
    if (alive.expired() || turn != turn_ || stopped_) return;
    if (answer.status().code() == absl::StatusCode::kUnavailable) return;  // The connection ends.
    if (!answer.ok()) return Refuse(answer.status());
    if (const absl::Status begun = Begin(*answer); !begun.ok()) OnError(begun);
  });
}

absl::Status Standby::Begin(const Value& answer) {
  TS_ASSIGN_OR_RETURN(ReplicaStart start, ParseStart(answer));
  if (start.epoch < epoch_) {
    return Unavailable("epoch: leader {}, expected {} or later", start.epoch, epoch_);
  }
  epoch_ = start.epoch;
  if (log_->has_log() && start.place.date < log_->place().date) {
    TS_RETURN_IF_ERROR(log_->DropEmptyDay());
    Join();
    return absl::OkStatus();
  }
  const bool is_empty = !log_->has_log() || log_->place().seq == 0;
  if (is_empty) TS_RETURN_IF_ERROR(log_->Begin(start.place.date, std::move(start.carried)));
  if (start.place.seq > log_->place().seq) {
    return InvalidArgument("{}: message {}, the log has {}", protocol::kReplicate, start.place.seq,
                           log_->place().seq);
  }
  TS_RETURN_IF_ERROR(log_->CutTo(start.place.seq));
  following_ = true;
  heard_ns_ = loop_.clock().MonotonicNs();
  refusal_.clear();
  acknowledged_ = {kNullInt, 0};
  Acknowledge();
  return absl::OkStatus();
}

void Standby::OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) {
  heard_ns_ = loop_.clock().MonotonicNs();
  if (stopped_ || !following_) return;
  const absl::StatusOr<Value> value = wire::Decode(message.body);
  const absl::Status taken = value.ok() ? Take(*value) : value.status();
  if (taken.ok()) return;
  following_ = false;
  // Whatever was appended is acknowledged by the next Join.
  connection.Close(taken);
  OnError(taken);
}

absl::Status Standby::Take(const Value& message) {
  const bool has_verb =
      message.is_list() && message.count() > 0 && message.items()[0].is_atom_of(Type::kSymbol);
  if (!has_verb) return absl::InvalidArgumentError("type: expected a message of a leader");
  const auto check_epoch = [this](uint64_t epoch) {
    if (epoch == epoch_) return absl::OkStatus();
    return Unavailable("epoch: a message of leader {}, this standby follows {}", epoch, epoch_);
  };
  if (message.items()[0].symbol() == protocol::kReplicaAcked) {
    TS_ASSIGN_OR_RETURN(const ReplicaAck place, ParseAck(std::span(message.items()).subspan(1)));
    return check_epoch(place.epoch);
  }
  if (message.items()[0].symbol() == protocol::kReplicaNextDay) {
    TS_ASSIGN_OR_RETURN(const ReplicaNextDay day, ParseNextDay(message));
    TS_RETURN_IF_ERROR(check_epoch(day.epoch));
    return log_->EndDay(day);
  }
  if (message.items()[0].symbol() != protocol::kReplicaBlock) {
    return InvalidArgument("type: expected a message of a leader, found {}",
                           message.items()[0].symbol().substr(0, 80));
  }
  TS_ASSIGN_OR_RETURN(const ReplicaBlock block, ParseReplicaBlock(message));
  TS_RETURN_IF_ERROR(check_epoch(block.epoch));
  TS_RETURN_IF_ERROR(log_->Append(block));
  ++blocks_;
  return absl::OkStatus();
}

void Standby::OnDrained(wire::Connection&) {
  if (following_ && !stopped_) Acknowledge();
}

void Standby::Acknowledge() {
  if (connection_ == nullptr || acknowledged_ == log_->place()) return;
  acknowledged_ = log_->place();
  connection_->SendAsync(AckMessage({epoch_, acknowledged_}));
}

// The leader does not take this standby, or the link's messages are wrong.
void Standby::Refuse(const absl::Status& why) {
  const std::string text(Message(why));
  static LogLimit limit(60 * kNsPerSecond);
  if (text != refusal_ || limit.Pass()) {
    LogError("leader not followed address={} error=\"{}\"", address_.ToString(), text);
  }
  refusal_ = text;
  pause_.Once(kRefusedPause, [this] {
    if (connection_ != nullptr) Join();
  });
}

// Errors of the peer or of a full disk pass; others of the log do not.
void Standby::OnError(const absl::Status& why) {
  const bool may_pass = absl::IsUnavailable(why) || absl::IsInvalidArgument(why) ||
                        absl::IsResourceExhausted(why) || absl::IsDataLoss(why);
  if (log_->has_log() && may_pass) return Refuse(why);
  LogError("standby's log failed error=\"{}\"", Message(why));
  Stop();
  on_failed_(why);
}

}  // namespace tickstack::tickerplant
