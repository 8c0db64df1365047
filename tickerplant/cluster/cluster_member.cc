#include "tickerplant/cluster/cluster_member.h"

#include <fmt/ranges.h>

#include <chrono>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "tickerplant/tickerplant_service.h"
#include "wire/address.h"

namespace tickstack::tickerplant {

absl::StatusOr<std::unique_ptr<ClusterMember>> ClusterMember::Start(
    wire::EventLoop& loop, std::string name, ReplicationOptions options, StandbyLogOptions log,
    ElectionStore* store, std::function<void()> on_elected,
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
                             std::function<void()> on_elected,
                             std::function<void(absl::Status)> on_end)
    : loop_(loop),
      name_(std::move(name)),
      options_(std::move(options)),
      on_elected_(std::move(on_elected)),
      on_end_(std::move(on_end)) {}

ClusterMember::~ClusterMember() = default;

absl::Status ClusterMember::MayLead(const Leadership& leadership) {
  // Nothing says which members have rows, or had some before the entry was lost. An empty member
  // that led would make the others cut theirs.
  if (leadership.epoch == 0) {
    if (name_ == options_.first_leader) {
      return log_->place().seq > 0 && log_->may_lack_rows() ? MayLackRows() : absl::OkStatus();
    }
    return FailedPrecondition(
        "cluster {} has no entry: first_leader in [replication] names the member that begins it "
        "with its log",
        options_.cluster);
  }
  // The cluster has just begun, perhaps by a write whose answer was lost, and nothing was logged:
  // that takes another member, and there was none yet.
  const bool has_just_begun = leadership.epoch == 1 && name_ == options_.first_leader &&
                              leadership.in_sync == MemberNames{name_} && options_.acknowledge > 0;
  if (has_just_begun && log_->place().seq == 0) return absl::OkStatus();
  // A member of the in-sync set has a log. Without one its disk was lost, and with it rows that
  // feeds were told are logged.
  if (!log_->has_log()) {
    return FailedPrecondition(
        "it is in the in-sync set, but has no log: remove {} from the cluster's entry if its disk "
        "was lost",
        name_);
  }
  // Others have these rows, unless this member was allowed to log alone, and did.
  if (log_->may_lack_rows() && (leadership.in_sync.size() > 1 || options_.acknowledge > 0)) {
    return MayLackRows();
  }
  return absl::OkStatus();
}

absl::Status ClusterMember::MayLackRows() const {
  return FailedPrecondition(
      "its log may lack rows that were logged, after a power cut or with a new disk: if it has "
      "more "
      "than the logs of the other members, stop it and remove the file {}",
      log_->may_lack_rows_path());
}

void ClusterMember::OnElected(const Leadership& leadership) {
  leads_ = true;
  leadership_ = leadership;
  standby_->Stop();
  log_->NoteComplete();
  opened_ = log_->Release();
  on_elected_();
}

void ClusterMember::OnLeader(const Leadership& leadership) {
  leadership_ = leadership;
  if (leadership.leader.empty()) return;  // It resigned. The next leader still replaces it.
  predecessor_ = leadership.leader == name_ ? "" : leadership.leader;
  if (predecessor_.empty()) return;
  const absl::StatusOr<wire::Address> address = wire::ParseAddress(leadership.address);
  if (!address.ok()) {
    LogError("leader's address error=\"{}\"", Message(address.status()));
    return;
  }
  standby_->Follow(*address, leadership.epoch);
}

void ClusterMember::Lead(TickerplantService& service) {
  MemberNames in_sync = leadership_->in_sync;
  in_sync.erase(name_);
  service.Lead({name_, leadership_->epoch, options_.acknowledge, options_.standby_timeout_ns,
                std::move(in_sync), predecessor_},
               election_.get());
  may_outlast_ = [&service] { return service.standbys()->has_everybody(); };
}

void ClusterMember::OnLost(const absl::Status& why) { on_end_(why); }

void ClusterMember::NoteLogged(ReplicaPlace place) {
  if (const absl::Status noted = log_->NoteLogged(place); !noted.ok()) {
    static LogLimit limit(60 * kNsPerSecond);
    if (limit.Pass()) LogWarn("place not noted error=\"{}\"", Message(noted));
  }
}

absl::Status ClusterMember::Stop() {
  standby_->Stop();
  bool done = false;
  election_->Resign([&done] { done = true; });
  loop_.RunUntil([&done] { return done; }, std::chrono::nanoseconds(options_.lease_ns));
  election_ = nullptr;
  // After an orderly stop, a reboot takes no rows.
  return log_->CloseDurably();
}

std::string ClusterMember::Refusal() const {
  if (!leadership_ || leadership_->leader.empty()) return "standby: there is no leader";
  if (leads_ || leadership_->leader == name_) return "standby: this tickerplant takes over";
  return fmt::format("standby: {} leads", leadership_->address);
}

Value ClusterMember::Stats() const {
  SymbolVector keys;
  std::vector<Value> values;
  const auto add = [&](std::string_view key, Value value) {
    keys.push_back(key);
    values.push_back(std::move(value));
  };
  const ReplicaPlace place = log_->place();
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
  const std::string store_error = election_ == nullptr ? "" : election_->StoreError();
  add("error", Value::String(store_error.empty() ? standby_->refusal() : store_error));
  return Value::Dict(Value::Symbols(std::move(keys)), Value::List(std::move(values)));
}

}  // namespace tickstack::tickerplant
