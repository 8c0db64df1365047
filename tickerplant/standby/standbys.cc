#include "tickerplant/standby/standbys.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "tickerplant/cluster/leadership.h"
#include "tickerplant/tables_text.h"
#include "wire/codec.h"
#include "wire/connection.h"
#include "wire/protocol.h"

namespace tickstack::tickerplant {

namespace protocol = wire::protocol;

Standbys::Standbys(StandbysOptions options, const Tickerplant* plant, InSyncSet* in_sync,
                   const Clock* clock, std::function<void()> on_progress)
    : options_(std::move(options)),
      plant_(plant),
      set_(in_sync),
      clock_(clock),
      tables_(TablesText(plant->schemas())),
      on_progress_(std::move(on_progress)),
      began_ns_(clock->MonotonicNs()),
      began_at_(logged()),
      in_sync_(options_.in_sync),
      ticked_ns_(began_ns_) {}

Standbys::~Standbys() = default;

const Standbys::Member* Standbys::Find(std::string_view name) const {
  const auto found = std::ranges::find_if(members_, [&](const auto& m) { return m->name == name; });
  return found == members_.end() ? nullptr : found->get();
}
Standbys::Member* Standbys::Find(std::string_view name) {
  return const_cast<Member*>(std::as_const(*this).Find(name));
}
Standbys::Member* Standbys::FindConnection(uint64_t connection) {
  const auto found =
      std::ranges::find_if(members_, [&](const auto& m) { return m->connection == connection; });
  return found == members_.end() ? nullptr : found->get();
}

bool Standbys::HasConnection(uint64_t connection) const {
  return std::ranges::any_of(members_, [&](const auto& m) { return m->connection == connection; });
}

bool Standbys::IsRequired(std::string_view name) const {
  return in_sync_.contains(name) || maybe_.contains(name);
}

ReplicaPlace Standbys::logged() const { return {plant_->date(), plant_->logged_seq()}; }

// ---- standbys that join

absl::StatusOr<ReplicaStart> Standbys::Join(const ReplicaRequest& request, uint64_t connection,
                                            std::unique_ptr<Outlet> outlet) {
  TS_RETURN_IF_ERROR(CheckMemberName(request.name));  // It becomes a part of the entry.
  // Whether there is a later leader, this one learns from the store. A peer may say anything.
  if (request.epoch > options_.epoch) {
    return FailedPrecondition("epoch: standby {} has seen leader {}, this one is {}", request.name,
                              request.epoch, options_.epoch);
  }
  // The rows of one map must not follow those of another in the log of a day.
  if (request.shard != plant_->shard_id()) {
    return FailedPrecondition("shard: standby {} is {}, this leader is {}: start both with one map",
                              request.name, Describe(request.shard), Describe(plant_->shard_id()));
  }
  // It would log rows of tables that it cannot serve as the leader, or lack tables that clients
  // expect. A standby of an earlier version does not say which tables it has.
  if (!request.tables.empty() && request.tables != tables_) {
    absl::Status refused = FailedPrecondition(
        "tables: {}: start all members with the same [tables]",
        DescribeOtherTables(tables_, request.tables, fmt::format("at the leader {}", options_.name),
                            fmt::format("at the standby {}", request.name)));
    static LogLimit limit(60 * kNsPerSecond);
    if (limit.Pass()) LogError("standby refused error=\"{}\"", Message(refused));
    return refused;
  }
  if (request.name == options_.name) {
    return FailedPrecondition("name: {} is the leader's own name", request.name);
  }
  if (Find(request.name) == nullptr && members_.size() >= kMembersMax) {
    return ResourceExhausted("limit: {} standbys have joined", members_.size());
  }
  if (const Member* const other = FindConnection(connection);
      other != nullptr && other->name != request.name) {
    return FailedPrecondition("name: this connection is the standby {}", other->name);
  }
  auto member = std::make_unique<Member>();
  TS_ASSIGN_OR_RETURN(ReplicaStart start, PlaceOf(request, *member));
  start.epoch = options_.epoch;
  // It has to drop its newest day, and asks again.
  if (request.date != kNullInt && start.place.date < request.date) return start;
  if (Member* const before = Find(request.name); before != nullptr) {
    if (before->connection == connection) {
      std::erase_if(members_, [&](const auto& each) { return each.get() == before; });
    } else {
      Drop(*before, FailedPrecondition("{} has joined on another connection", request.name));
    }
  }
  member->name = request.name;
  // A leader that is not settled may have blocks that were never logged, and that others lack.
  const bool has_lost_rows = request.date == kNullInt || (is_settled_ && start.place < logged());
  member->must_leave = IsRequired(request.name) && has_lost_rows;
  member->connection = connection;
  member->outlet = std::move(outlet);
  member->sent = start.place;
  member->heard_ns = clock_->MonotonicNs();
  NoteClock(member->name, request.clock_ns);
  LogInfo("standby joins name={} host={} date={} seq={} from={}", member->name,
          member->outlet->name(), FormatDate(start.place.date), start.place.seq,
          request.ends.empty() ? 0 : request.ends.back().seq);
  if (member->must_leave) {
    LogError("standby has lost rows, and leaves the in-sync set until it has them name={}",
             member->name);
  }
  members_.push_back(std::move(member));
  return start;
}

// Returns the last place that the standby's log has in common with the leader's. A place in an
// earlier day than the standby's newest one: it has to drop that day, and to ask again.
absl::StatusOr<ReplicaStart> Standbys::PlaceOf(const ReplicaRequest& request, Member& member) {
  const bool has_log = request.date != kNullInt;
  bool is_empty = request.ends.empty() || request.ends.back().seq == 0;
  int32_t date = has_log ? request.date : plant_->date();
  // A day that no leader has begun.
  if (date > plant_->date() && is_empty) return ReplicaStart{0, {plant_->date(), 0}, {}};
  TS_ASSIGN_OR_RETURN(const std::vector<int32_t> days, plant_->DaysWithLogs());
  const bool is_known = std::ranges::binary_search(days, date);
  // A log without messages cannot be compared, so the standby joins with the day before. One of the
  // in-sync set has acknowledged all of that day, if a leader has begun the next one.
  if (has_log && is_empty && date > days.front() && !(IsRequired(request.name) && is_known)) {
    return ReplicaStart{0, {date - 1, 0}, {}};
  }
  // The leader joined after the standby's newest day, or its log of that day was removed. There is
  // nothing to compare it with.
  if (!is_known && date < plant_->date()) {
    date = *std::ranges::upper_bound(days, date);
    is_empty = true;
  }
  const absl::StatusOr<Tickerplant::DayLog> day = plant_->LogOf(date);
  if (!day.ok()) {
    return FailedPrecondition(
        "log: the leader has no log of {}, the standby's newest day: move the standby's logs away",
        FormatDate(date));
  }
  if (date == plant_->date() && !is_empty) {
    TS_RETURN_IF_ERROR(ReadOwnEnds());
    ReplicaStart start{0, {date, 0}, own_->carried()};
    if (FindOwnEnd(request.ends, start)) return start;
  }
  TS_ASSIGN_OR_RETURN(member.blocks, tplog::TplogBlocks::Open(day->log.path));
  ReplicaStart start{0, {date, 0}, member.blocks->carried()};
  if (is_empty) return start;
  bool found = false;
  for (const tplog::LogEnd& end : request.ends) {
    while (member.blocks->end().seq < end.seq) {
      TS_ASSIGN_OR_RETURN(const std::optional<tplog::IndexBlock> block, member.blocks->Next());
      if (!block) break;
    }
    if (member.blocks->end() != end) {
      if (member.blocks->end().seq < end.seq) break;
      continue;
    }
    start.place.seq = end.seq;
    found = true;
  }
  if (!found) {
    return FailedPrecondition(
        "log: the standby's log of {} differs from the leader's before message {}: move it away to "
        "copy the day again",
        FormatDate(date), request.ends.front().seq);
  }
  if (member.blocks->end().seq != start.place.seq) member.blocks = nullptr;
  return start;
}

// Reads what was logged since the last call, up to kSliceBlocks of it.
absl::Status Standbys::ReadOwnEnds() {
  if (own_ == nullptr || own_date_ != plant_->date()) {
    TS_ASSIGN_OR_RETURN(own_, tplog::TplogBlocks::Open(plant_->log().path()));
    own_date_ = plant_->date();
    own_ends_ = {own_->end()};
  }
  for (size_t i = 0; i < kSliceBlocks; ++i) {
    TS_ASSIGN_OR_RETURN(const std::optional<tplog::IndexBlock> block, own_->Next());
    if (!block) break;
    own_ends_.push_back(own_->end());
    if (own_ends_.size() > kReplicaEndsMax) own_ends_.pop_front();
  }
  return absl::OkStatus();
}

// Sets the place to the last of the ends that the leader's log has; false if it is not in memory.
bool Standbys::FindOwnEnd(const std::vector<tplog::LogEnd>& ends, ReplicaStart& start) const {
  if (own_ends_.back().seq != plant_->logged_seq()) return false;  // Not all of it is read yet.
  for (auto end = ends.rbegin(); end != ends.rend(); ++end) {
    const auto own = std::ranges::lower_bound(own_ends_, end->seq, {}, &tplog::LogEnd::seq);
    if (own == own_ends_.end() || *own != *end) continue;
    start.place.seq = end->seq;
    return true;
  }
  return false;
}

std::optional<absl::Status> Standbys::TakeMessage(uint64_t connection,
                                                  const wire::ReceivedMessage& message,
                                                  const std::optional<std::string_view>& verb) {
  const bool is_ack = verb == protocol::kReplicaAcked &&
                      message.kind == wire::MessageKind::kAsync && HasConnection(connection);
  if (!is_ack) return std::nullopt;
  const absl::StatusOr<Value> value = wire::Decode(message.body);
  if (!value.ok()) return value.status();
  if (!value->is_list()) return InvalidArgument("type: {} takes a list", protocol::kReplicaAcked);
  const absl::StatusOr<ReplicaAck> ack = ParseAck(std::span(value->items()).subspan(1));
  return ack.ok() ? OnAck(connection, *ack) : ack.status();
}

absl::Status Standbys::OnAck(uint64_t connection, const ReplicaAck& ack) {
  Member* const member = FindConnection(connection);
  if (member == nullptr)
    return InvalidArgument("{}: this connection is no standby's", protocol::kReplicaAcked);
  const bool fits = ack.epoch == options_.epoch && ack.place <= member->sent &&
                    (member->started ? ack.place >= member->acked : ack.place == member->sent);
  if (!fits) {
    return InvalidArgument("{}: message {} of {} was not sent to {}", protocol::kReplicaAcked,
                           ack.place.seq, FormatDate(ack.place.date), member->name);
  }
  member->started = true;
  member->acked = ack.place;
  member->heard_ns = clock_->MonotonicNs();
  NoteClock(member->name, ack.clock_ns);
  member->owes_answer = false;
  while (!member->unacked.empty() && member->unacked.front().end <= ack.place) {
    member->unacked_bytes -= member->unacked.front().bytes;
    member->unacked.pop_front();
  }
  if (!member->live) Feed(*member);
  on_progress_();
  return absl::OkStatus();
}

void Standbys::OnConnectionGone(uint64_t connection) {
  std::erase_if(dropped_, [&](const auto& m) { return m->connection == connection; });
  const auto found =
      std::ranges::find_if(members_, [&](const auto& m) { return m->connection == connection; });
  if (found == members_.end()) return;
  LogWarn("standby lost name={} date={} seq={}", (*found)->name, FormatDate((*found)->acked.date),
          (*found)->acked.seq);
  members_.erase(found);  // The next Tick updates the in-sync set. A leader that stops has none.
}

// Its connection ends from the loop, so its outlet stays until then.
void Standbys::Drop(Member& member, const absl::Status& why) {
  LogWarn("standby dropped name={} date={} seq={} reason=\"{}\"", member.name,
          FormatDate(member.acked.date), member.acked.seq, Message(why));
  member.outlet->Close(why);
  const auto found =
      std::ranges::find_if(members_, [&](const auto& m) { return m.get() == &member; });
  dropped_.push_back(std::move(*found));
  members_.erase(found);
}

// ---- blocks

void Standbys::Send(Member& member, ReplicaPlace end,
                    const std::shared_ptr<const ByteBuffer>& message) {
  if (member.unacked.empty()) member.heard_ns = clock_->MonotonicNs();
  const wire::Segment segment{message->span(), message};
  member.outlet->Queue({&segment, 1});
  member.sent = end;
  member.unacked.push_back({end, message->size()});
  member.unacked_bytes += message->size();
}

void Standbys::SendToLive(InFlight block) {
  for (const std::unique_ptr<Member>& member : members_) {
    if (!member->live) continue;
    // Only standbys that are required hold the leader back; any other gets the block from the log.
    if (!IsRequired(member->name) && member->unacked_bytes > kWindowBytes) {
      member->live = false;
      continue;
    }
    Send(*member, block.end, block.message);
    member->outlet->Flush();
  }
  in_flight_bytes_ += block.message->size();
  in_flight_.push_back(std::move(block));
}

absl::Status Standbys::Offer(ReplicaPlace at, const tplog::TplogBlock& block) {
  TS_ASSIGN_OR_RETURN(ByteBuffer message, EncodeReplicaBlock(options_.epoch, at, block));
  SendToLive({at,
              {at.date, at.seq + block.messages},
              std::make_shared<const ByteBuffer>(std::move(message))});
  return absl::OkStatus();
}

void Standbys::OfferNextDay(int32_t date, int32_t next) {
  SendToLive({logged(),
              {next, 0},
              std::make_shared<const ByteBuffer>(EncodeNextDay({options_.epoch, date, next}))});
}

bool Standbys::is_settled() {
  if (is_settled_ || !IsAcknowledged(began_at_)) return is_settled_;
  // A leader that was paused meanwhile may have been replaced, and does not know it yet.
  if (!set_->HoldsLease()) return false;
  is_settled_ = true;
  // They learn that they lack no rows before they acknowledge any further row, so whoever has
  // acknowledged one may lead.
  for (const std::unique_ptr<Member>& member : members_) {
    if (member->started) TellPlace(*member);
  }
  return true;
}

bool Standbys::has_everybody() const {
  const auto is_there = [&](const std::string& name) {
    const Member* const member = Find(name);
    // Tick drops those that owe a block for too long.
    return member != nullptr && member->started && member->silent_ns <= options_.timeout_ns;
  };
  return std::ranges::all_of(in_sync_, is_there) && std::ranges::all_of(maybe_, is_there);
}

bool Standbys::has_enough() const { return in_sync_.size() >= options_.acknowledge; }

bool Standbys::IsAcknowledged(ReplicaPlace place) const {
  const auto has_it = [&](const std::string& name) {
    const Member* const member = Find(name);
    return member != nullptr && member->started && member->acked >= place;
  };
  return has_enough() && std::ranges::all_of(in_sync_, has_it) &&
         std::ranges::all_of(maybe_, has_it);
}

void Standbys::OnLogged(ReplicaPlace place) {
  while (!in_flight_.empty() && in_flight_.front().end <= place) {
    in_flight_bytes_ -= in_flight_.front().message->size();
    in_flight_.pop_front();
  }
}

void Standbys::NoteClock(std::string_view name, std::optional<int64_t> clock_ns) {
  const auto found = clocks_.find(name);
  if (!clock_ns) {
    if (found != clocks_.end()) clocks_.erase(found);
    return;
  }
  const int64_t now_ns = clock_->MonotonicNs();
  const StandbyClock said{*clock_ns - now_ns, now_ns};
  if (found != clocks_.end()) {
    found->second = said;
  } else if (clocks_.size() < kMembersMax) {
    clocks_.emplace(name, said);
  }
}

int64_t Standbys::DayNs(int64_t now_ns) const {
  const int64_t monotonic_ns = clock_->MonotonicNs();
  std::vector<int64_t> clocks = {now_ns};
  for (const auto& [name, clock] : clocks_) {
    if (monotonic_ns - clock.heard_ns > kClockKeptNs) continue;
    clocks.push_back(monotonic_ns + clock.offset_ns);
  }
  std::ranges::sort(clocks);
  const int64_t agreed_ns = clocks[(clocks.size() - 1) / 2];
  const int64_t ahead_ns = now_ns - agreed_ns;
  if (std::abs(ahead_ns) <= kClockToleranceNs) return now_ns;
  static LogLimit limit(60 * kNsPerSecond);
  if (limit.Pass()) {
    LogError(
        "clocks of the cluster's members differ: days end by {}, and this leader's clock says {}; "
        "set the wrong ones clocks={} first={} last={}",
        FormatTimestamp(agreed_ns), FormatTimestamp(now_ns), clocks.size(),
        FormatTimestamp(clocks.front()), FormatTimestamp(clocks.back()));
  }
  return agreed_ns;
}

// Sends blocks of the log until the window is full, or the standby is live.
void Standbys::Feed(Member& member) {
  if (member.must_leave && IsRequired(member.name)) return;
  member.must_leave = false;
  while (member.started && !member.live && member.unacked_bytes < kWindowBytes) {
    if (member.sent >= logged()) {
      GoLive(member);
      break;
    }
    const absl::StatusOr<bool> fed = FeedBlock(member);
    if (!fed.ok()) return Drop(member, fed.status());
    if (!*fed) break;
  }
  member.outlet->Flush();
}

absl::StatusOr<bool> Standbys::FeedBlock(Member& member) {
  const int32_t date = member.sent.date;
  if (member.blocks == nullptr) {
    TS_ASSIGN_OR_RETURN(const Tickerplant::DayLog day, plant_->LogOf(date));
    TS_ASSIGN_OR_RETURN(member.blocks, tplog::TplogBlocks::Open(day.log.path));
  }
  for (size_t i = 0; member.blocks->end().seq < member.sent.seq; ++i) {
    if (i == kSliceBlocks) return false;  // The next Tick continues.
    TS_ASSIGN_OR_RETURN(const std::optional<tplog::IndexBlock> skipped, member.blocks->Next());
    if (!skipped)
      return DataLoss("log of {} ends before message {}", FormatDate(date), member.sent.seq);
  }
  if (member.blocks->end().seq != member.sent.seq) {
    return DataLoss("log of {}: no block begins with message {}", FormatDate(date),
                    member.sent.seq);
  }
  TS_ASSIGN_OR_RETURN(const std::optional<tplog::IndexBlock> block, member.blocks->Next());
  if (!block) {
    if (date == plant_->date()) return false;
    TS_ASSIGN_OR_RETURN(const std::vector<int32_t> days, plant_->DaysWithLogs());
    const int32_t next = *std::ranges::upper_bound(days, date);
    member.blocks = nullptr;
    Send(member, {next, 0},
         std::make_shared<const ByteBuffer>(EncodeNextDay({options_.epoch, date, next})));
    return true;
  }
  TS_ASSIGN_OR_RETURN(ByteBuffer message,
                      EncodeLoggedBlock(options_.epoch, date, *member.blocks, *block));
  Send(member, {date, block->end_seq()}, std::make_shared<const ByteBuffer>(std::move(message)));
  return true;
}

// The standby has been sent everything that is logged: the rest is what is in flight.
void Standbys::GoLive(Member& member) {
  member.live = true;
  member.blocks = nullptr;
  for (const InFlight& block : in_flight_) {
    if (block.begin >= member.sent) Send(member, block.end, block.message);
  }
}

// ---- the in-sync set

// A large block takes longer than the timeout, but arrives. Only the block that is owed counts: a
// socket may take later ones for a long time although the standby does not read them.
void Standbys::NoteSending(Member& member) {
  const uint64_t sent = member.outlet->sent_bytes();
  const bool has_sent = std::exchange(member.sent_bytes, sent) != sent;
  if (!has_sent || member.unacked.empty()) return;
  const size_t behind_bytes = member.unacked_bytes - member.unacked.front().bytes;
  if (member.outlet->queued_bytes() > behind_bytes) member.heard_ns = clock_->MonotonicNs();
}

bool Standbys::IsSilent(const Member& member) const {
  if (member.started && member.unacked.empty()) return false;
  int64_t timeout_ns = IsRequired(member.name) ? options_.timeout_ns : kCatchUpTimeoutNs;
  if (!member.unacked.empty()) {
    timeout_ns += static_cast<int64_t>(member.unacked.front().bytes) * kNsPerByte;
  }
  return clock_->MonotonicNs() - member.heard_ns > timeout_ns;
}

void Standbys::Tick() {
  const int64_t now_ns = clock_->MonotonicNs();
  is_settled();
  if (const absl::Status read = ReadOwnEnds(); !read.ok()) {
    static LogLimit limit(60 * kNsPerSecond);
    if (limit.Pass()) LogWarn("index not read error=\"{}\"", Message(read));
  }
  // After a pause of this process, answers wait to be read.
  const int64_t passed_ns = std::min(now_ns - std::exchange(ticked_ns_, now_ns), kTickNsMax);
  std::vector<Member*> silent;
  for (const std::unique_ptr<Member>& member : members_) {
    member->silent_ns = member->owes_answer ? member->silent_ns + passed_ns : 0;
    NoteSending(*member);
    if (IsSilent(*member)) silent.push_back(member.get());
  }
  for (Member* const member : silent) {
    Drop(*member,
         Unavailable("no acknowledgement for {} ms", (now_ns - member->heard_ns) / 1'000'000));
  }
  std::vector<Member*> behind;
  for (const std::unique_ptr<Member>& member : members_) {
    if (!member->live) behind.push_back(member.get());
  }
  for (Member* const member : behind) Feed(*member);
  for (const std::unique_ptr<Member>& member : members_) {
    const bool is_due = now_ns - member->told_ns >= kAliveNs;
    if (member->started && is_due && member->outlet->queued_bytes() == 0) TellPlace(*member);
  }
  UpdateInSync();
}

// Tells a standby how far the leader's log is. The place is null while it is not known how much of
// that was logged.
void Standbys::TellPlace(Member& member) {
  member.told_ns = clock_->MonotonicNs();
  member.owes_answer = true;
  const ReplicaPlace place = is_settled_ ? logged() : ReplicaPlace{kNullInt, 0};
  const auto message = std::make_shared<const ByteBuffer>(
      wire::EncodeMessage(wire::MessageKind::kAsync, AckMessage({options_.epoch, place})));
  const wire::Segment segment{message->span(), message};
  member.outlet->Queue({&segment, 1});
  member.outlet->Flush();
}

void Standbys::UpdateInSync() {
  const int64_t now_ns = clock_->MonotonicNs();
  if (is_writing_ || now_ns < write_again_ns_) return;
  MemberNames wanted = in_sync_;
  for (const std::unique_ptr<Member>& member : members_) {
    const bool has_all = member->live && member->acked >= logged();
    // It learns that it lacks no rows before it may lead.
    if (has_all && wanted.insert(member->name).second) TellPlace(*member);
    if (member->must_leave) wanted.erase(member->name);
  }
  // Members that a leader finds in the set have some time to join.
  const bool is_late = now_ns - began_ns_ > options_.timeout_ns;
  for (auto name = wanted.begin(); name != wanted.end();) {
    const bool is_lost = Find(*name) == nullptr && (is_late || *name == options_.predecessor);
    name = is_lost && wanted.size() > options_.acknowledge ? wanted.erase(name) : std::next(name);
  }
  if (wanted == in_sync_ && maybe_.empty()) return;
  is_writing_ = true;
  // After an earlier write without an answer, its names are possible, too.
  maybe_.insert(wanted.begin(), wanted.end());
  set_->Write(wanted, [this, wanted, alive = std::weak_ptr(alive_)](const absl::Status& written) {
    if (alive.expired()) return;
    is_writing_ = false;
    if (!written.ok()) {
      write_again_ns_ = clock_->MonotonicNs() + kWritePauseNs;
      static LogLimit limit;
      if (limit.Pass()) LogWarn("in-sync set not written error=\"{}\"", Message(written));
      return;
    }
    LogInfo("in-sync set standbys={}", fmt::join(wanted, ","));
    in_sync_ = wanted;
    maybe_.clear();
    on_progress_();
  });
}

std::vector<Standbys::Status> Standbys::Statuses() const {
  const ReplicaPlace end = logged();
  std::vector<Status> all;
  for (const std::unique_ptr<Member>& member : members_) {
    Status status{member->name, member->outlet->name(), "joining", member->acked, end.seq};
    if (member->started) status.state = member->live ? "live" : "catching_up";
    if (in_sync_.contains(member->name)) status.state = "in_sync";
    if (member->acked.date == end.date) {
      status.behind_messages = end.seq - std::min(end.seq, member->acked.seq);
    }
    all.push_back(std::move(status));
  }
  for (const std::string& name : in_sync_) {
    if (Find(name) == nullptr) all.push_back({name, "", "lost", {}, end.seq});
  }
  return all;
}

void Standbys::AddStats(SymbolVector& keys, std::vector<Value>& stats) const {
  SymbolVector names, hosts, states, in_sync;
  std::vector<int32_t> dates;
  std::vector<int64_t> messages, behind;
  for (const Status& each : Statuses()) {
    names.push_back(each.name);
    hosts.push_back(each.peer);
    states.push_back(each.state);
    dates.push_back(each.acked.date == 0 ? kNullInt : each.acked.date);
    messages.push_back(static_cast<int64_t>(each.acked.seq));
    behind.push_back(static_cast<int64_t>(each.behind_messages));
  }
  for (const std::string& name : in_sync_) in_sync.push_back(name);
  std::vector<Value> columns;
  columns.push_back(Value::Symbols(std::move(names)));
  columns.push_back(Value::Symbols(std::move(hosts)));
  columns.push_back(Value::Symbols(std::move(states)));
  columns.push_back(Value::Vector(Type::kDate, std::span<const int32_t>(dates)));
  columns.push_back(Value::Vector(Type::kLong, std::span<const int64_t>(messages)));
  columns.push_back(Value::Vector(Type::kLong, std::span<const int64_t>(behind)));
  keys.push_back("in_sync");
  stats.push_back(Value::Long(static_cast<int64_t>(in_sync.size())));
  keys.push_back("in_sync_names");
  stats.push_back(Value::Symbols(std::move(in_sync)));
  keys.push_back("standbys");
  stats.push_back(Value::Table({"name", "host", "state", "date", "messages", "behind_messages"},
                               std::move(columns)));
}

}  // namespace tickstack::tickerplant
