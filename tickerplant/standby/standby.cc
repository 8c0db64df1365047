#include "tickerplant/standby/standby.h"

#include <algorithm>
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
  constexpr size_t kHeadBytesMax = size_t{1} << 20;  // What a message has besides the block.
  options.connection.max_message_bytes = kReplicaBlockBytesMax + kHeadBytesMax;
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
  if (same) return;
  LogInfo("follows leader={} epoch={}", address.ToString(), epoch);
  address_ = address;
  epoch_ = epoch;
  client_ = nullptr;
  connection_ = nullptr;
  following_ = false;
  says_ = Says::kTables;
  join_ns_ = 0;
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
  received_bytes_ = 0;
  ++turn_;
  JoinAfterPause();
}

// Also without a pause it joins from the loop: calls wait until the connection is started, which
// happens when OnConnected returns.
void Standby::JoinAfterPause() {
  const int64_t pause_ns = std::max<int64_t>(0, join_ns_ - loop_.clock().MonotonicNs());
  pause_.Once(std::chrono::nanoseconds(pause_ns), [this] {
    if (connection_ != nullptr && !stopped_) Join();
  });
}

void Standby::CheckSilence() {
  if (connection_ == nullptr || stopped_) return;
  // A large block is not silence.
  const uint64_t received_bytes = connection_->received_bytes();
  if (std::exchange(received_bytes_, received_bytes) != received_bytes) {
    heard_ns_ = loop_.clock().MonotonicNs();
  }
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
  const std::string reason =
      why.ok() ? "the leader closed the connection" : std::string(Message(why));
  if (loop_.clock().MonotonicNs() >= join_ns_) refusal_ = reason;  // Else it was refused.
  if (!stopped_) LogInfo("leader lost address={} reason=\"{}\"", address_.ToString(), reason);
}

void Standby::Join() {
  absl::StatusOr<ReplicaRequest> asked = log_->RequestAs(name_, epoch_);
  if (!asked.ok()) return OnError(asked.status());
  asked->clock_ns = ClockNs();
  if (says_ < Says::kTables) asked->tables.clear();
  connection_->Call(RequestMessage(*asked), [this, alive = std::weak_ptr(alive_),
                                             turn = turn_](const absl::StatusOr<Value>& answer) {
    if (alive.expired() || turn != turn_ || stopped_) return;
    if (answer.status().code() == absl::StatusCode::kUnavailable) return;  // The connection ends.
    if (!answer.ok() && Message(answer.status()).starts_with("rank:") && says_ != Says::kPlace) {
      says_ = says_ == Says::kTables ? Says::kClock : Says::kPlace;
      return Join();
    }
    if (!answer.ok()) return Refuse(answer.status());
    if (const absl::Status begun = Begin(*answer); !begun.ok()) OnError(begun);
  });
}

absl::Status Standby::Begin(const Value& answer) {
  TS_ASSIGN_OR_RETURN(const ReplicaStart start, ParseStart(answer));
  // Only the store says who leads. If it says so later, this connects again.
  if (start.epoch != epoch_) {
    Refuse(Unavailable("epoch: leader {}, expected {}", start.epoch, epoch_));
    return absl::OkStatus();
  }
  TS_ASSIGN_OR_RETURN(const bool continues, log_->ContinueFrom(start));
  if (!continues) {
    Join();
    return absl::OkStatus();
  }
  following_ = true;
  heard_ns_ = loop_.clock().MonotonicNs();
  refusal_.clear();
  acknowledged_ = {kNullInt, 0};
  Acknowledge();
  return absl::OkStatus();
}

void Standby::OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) {
  if (stopped_ || !following_) return;
  const absl::StatusOr<Value> value = wire::Decode(message.body);
  const absl::Status taken = value.ok() ? Take(*value) : value.status();
  heard_ns_ = loop_.clock().MonotonicNs();  // Nothing was read meanwhile.
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
    TS_ASSIGN_OR_RETURN(const ReplicaAck told, ParseAck(std::span(message.items()).subspan(1)));
    TS_RETURN_IF_ERROR(check_epoch(told.epoch));
    TS_RETURN_IF_ERROR(log_->NoteLogged(told.place));
    acknowledged_ = {kNullInt, 0};  // The leader waits for an answer.
    return absl::OkStatus();
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
  connection_->SendAsync(AckMessage({epoch_, acknowledged_, ClockNs()}));
}

std::optional<int64_t> Standby::ClockNs() const {
  if (says_ < Says::kClock) return std::nullopt;
  return loop_.clock().NowNs();
}

// The leader does not take this standby, or the link's messages are wrong.
void Standby::Refuse(const absl::Status& why) {
  const std::string text(Message(why));
  static LogLimit limit(60 * kNsPerSecond);
  if (text != refusal_ || limit.Pass()) {
    LogError("leader not followed address={} error=\"{}\"", address_.ToString(), text);
  }
  refusal_ = text;
  join_ns_ = loop_.clock().MonotonicNs() + std::chrono::nanoseconds(kRefusedPause).count();
  if (connection_ != nullptr) JoinAfterPause();
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
