#include "tickerplant/cluster_member.h"

#include <chrono>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "wire/address.h"
#include "wire/codec.h"
#include "wire/protocol.h"

namespace tickstack::tickerplant {

namespace protocol = wire::protocol;

using namespace std::chrono_literals;

namespace {

constexpr auto kRefusalSentMax = 100ms;

// True for `.u.replica[]`, as a string or as a list.
bool AsksForReplica(const Value& request) {
  if (request.is_string()) {
    const std::string_view text = request.text();
    return text == protocol::kReplica || text == fmt::format("{}[]", protocol::kReplica);
  }
  const bool is_call = request.is_list() && request.count() > 0;
  const Value* const verb = is_call ? &request.items()[0] : nullptr;
  if (verb == nullptr) return false;
  if (verb->is_atom_of(Type::kSymbol)) return verb->symbol() == protocol::kReplica;
  return verb->is_string() && verb->text() == protocol::kReplica;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ClusterMember>> ClusterMember::Start(
    wire::EventLoop& loop, std::string name, ReplicationOptions options, StandbyLogOptions log,
    ElectionStore* store, std::function<void(const Leadership&)> on_elected,
    std::function<void(absl::Status)> on_end) {
  TS_RETURN_IF_ERROR(CheckMemberName(name));
  std::unique_ptr<ClusterMember> member(new ClusterMember(
      loop, std::move(name), std::move(options), std::move(on_elected), std::move(on_end)));
  TS_ASSIGN_OR_RETURN(member->log_, StandbyLog::Open(std::move(log)));
  member->standby_ =
      std::make_unique<Standby>(loop, member->name_, member->log_.get(), member->on_end_);
  member->election_ = std::make_unique<Election>(
      loop, ElectionOptions{member->name_, member->options_.advertise, member->options_.lease_ns},
      store, member.get());
  return member;
}

ClusterMember::ClusterMember(wire::EventLoop& loop, std::string name, ReplicationOptions options,
                             std::function<void(const Leadership&)> on_elected,
                             std::function<void(absl::Status)> on_end)
    : loop_(loop),
      name_(std::move(name)),
      options_(std::move(options)),
      on_elected_(std::move(on_elected)),
      on_end_(std::move(on_end)) {}

ClusterMember::~ClusterMember() = default;

absl::Status ClusterMember::MayLead(const Leadership& leadership) {
  // A member of the in-sync set has a log. Without one its disk was lost, and with it rows that
  // feeds were told are logged.
  const bool is_first = leadership.epoch == 0;
  if (!is_first && !log_->has_log()) {
    return FailedPrecondition(
        "it is in the in-sync set, but has no log: remove {} from the cluster's entry if its disk "
        "was lost",
        name_);
  }
  return absl::OkStatus();
}

void ClusterMember::OnElected(const Leadership& leadership) {
  leads_ = true;
  leadership_ = leadership;
  standby_->Stop();
  if (const absl::Status closed = log_->Close(); !closed.ok()) return on_end_(closed);
  log_ = nullptr;
  on_elected_(leadership);
}

void ClusterMember::OnLeader(const Leadership& leadership) {
  leadership_ = leadership;
  if (leadership.leader.empty() || leadership.leader == name_) return;
  const absl::StatusOr<wire::Address> address = wire::ParseAddress(leadership.address);
  if (!address.ok()) {
    LogError("leader's address error=\"{}\"", Message(address.status()));
    return;
  }
  standby_->Follow(*address, leadership.epoch);
}

void ClusterMember::OnLost(const absl::Status& why) { on_end_(why); }

absl::Status ClusterMember::Stop() {
  standby_->Stop();
  bool done = false;
  election_->Resign([&done] { done = true; });
  loop_.RunUntil([&done] { return done; }, std::chrono::nanoseconds(options_.lease_ns));
  election_ = nullptr;
  return log_ == nullptr ? absl::OkStatus() : log_->Close();
}

std::string ClusterMember::Refusal() const {
  if (!leadership_ || leadership_->leader.empty()) return "standby: there is no leader";
  if (leads_ || leadership_->leader == name_) return "standby: this tickerplant takes over";
  return fmt::format("standby: {} leads", leadership_->address);
}

void ClusterMember::OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) {
  const bool is_sync = message.kind == wire::MessageKind::kSync;
  const absl::StatusOr<Value> request = wire::Decode(message.body);
  if (is_sync && request.ok() && AsksForReplica(*request)) {
    return connection.Reply(connection.TakeTicket(), Stats());
  }
  const bool is_query = request.ok() && request->is_string();
  if (is_sync && is_query) connection.ReplyError(connection.TakeTicket(), Refusal());
  connection.CloseWhenSent(kRefusalSentMax);
}

Value ClusterMember::Stats() const {
  SymbolVector keys;
  std::vector<Value> values;
  const auto add = [&](std::string_view key, Value value) {
    keys.push_back(key);
    values.push_back(std::move(value));
  };
  const ReplicaPlace place = log_ == nullptr ? ReplicaPlace{kNullInt, 0} : log_->place();
  const bool in_sync = leadership_ && leadership_->in_sync.contains(name_);
  add("role", Value::Symbol("standby"));
  add("epoch", Value::Long(leadership_ ? static_cast<int64_t>(leadership_->epoch) : 0));
  add("leader", Value::Symbol(leadership_ ? leadership_->leader : ""));
  add("address", Value::Symbol(leadership_ ? leadership_->address : ""));
  add("follows", Value::Long(standby_->follows() ? 1 : 0));
  add("in_sync", Value::Long(in_sync ? 1 : 0));
  add("date", Value::Date(place.date));
  add("messages", Value::Long(static_cast<int64_t>(place.seq)));
  add("store_silent_ms", Value::Long(election_ == nullptr ? 0 : election_->SilentNs() / 1'000'000));
  add("error", Value::String(standby_->refusal()));
  return Value::Dict(Value::Symbols(std::move(keys)), Value::List(std::move(values)));
}

}  // namespace tickstack::tickerplant
