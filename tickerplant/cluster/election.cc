#include "tickerplant/cluster/election.h"

#include <chrono>
#include <utility>

#include "base/logging.h"
#include "base/status.h"

namespace tickstack::tickerplant {
namespace {

// Ticks within a lease, and ticks between two beats.
constexpr int64_t kTicks = 16;
constexpr int64_t kBeatTicks = 4;

}  // namespace

Election::Election(wire::EventLoop& loop, ElectionOptions options, ElectionStore* store,
                   ElectionHandler* handler)
    : loop_(loop),
      options_(std::move(options)),
      store_(store),
      handler_(handler),
      timer_(loop),
      answered_ns_(loop.clock().MonotonicNs()) {
  timer_.Every(
      std::chrono::nanoseconds(options_.lease_ns / kTicks), [this] { Tick(); },
      std::chrono::nanoseconds(0));
}

Election::~Election() = default;

int64_t Election::SilentNs() const { return now_ns() - answered_ns_; }

std::string Election::StoreError() const {
  return SilentNs() > options_.lease_ns ? std::string(Message(error_)) : "";
}

void Election::Tick() {
  if (is_over_) return;
  if (leads_ && now_ns() >= lease_end_ns_ && !handler_->MayOutlastLease()) {
    return Lose(Unavailable("the lease ran out: the store has not answered for {} ms",
                            SilentNs() / 1'000'000));
  }
  if (is_busy_) return;
  if (!leads_ || outcome_unknown_) return Read();
  if (set_ || resigned_ || now_ns() - sent_ns_ >= options_.lease_ns * kBeatTicks / kTicks) Beat();
}

void Election::Read() {
  is_busy_ = true;
  store_->Read(
      [this, alive = std::weak_ptr(alive_)](const absl::StatusOr<ElectionStore::Record>& record) {
        if (alive.expired()) return;
        is_busy_ = false;
        OnRead(record);
      });
}

void Election::OnRead(const absl::StatusOr<ElectionStore::Record>& record) {
  if (is_over_) return;
  error_ = record.status();
  if (!record.ok()) {
    static LogLimit limit(10 * kNsPerSecond);
    if (limit.Pass()) LogWarn("election store not read error=\"{}\"", Message(record.status()));
    return;
  }
  const bool was_silent = SilentNs() > options_.lease_ns / 2;
  answered_ns_ = now_ns();
  if (was_silent) changed_ns_ = answered_ns_;
  const bool had_outcome = !outcome_unknown_;
  See(*record);
  if (is_over_ || is_busy_) return;
  if (leads_ && !had_outcome && !outcome_unknown_) return Beat();  // The lease may be short.
  if (leads_) return;
  const bool is_free = !seen_ || seen_->leader.empty();
  if (is_free || now_ns() - changed_ns_ > options_.lease_ns) Campaign();
}

// Takes note of the entry.
void Election::See(const ElectionStore::Record& record) {
  if (record.revision == revision_ && (seen_ || record.revision == 0)) {
    outcome_unknown_ = false;
    return;
  }
  if (record.revision == 0) {
    if (leads_) return Lose(absl::DataLossError("the store has lost the entry of the cluster"));
    LogError("the store has lost the entry of the cluster");
    seen_.reset();
    revision_ = 0;
    changed_ns_ = now_ns();
    return handler_->OnLeader({});
  }
  absl::StatusOr<Leadership> found = ParseLeadership(record.value);
  if (!found.ok()) {
    if (leads_) return Lose(found.status());
    static LogLimit limit(60 * kNsPerSecond);
    if (limit.Pass())
      LogError("entry of the cluster not read error=\"{}\"", Message(found.status()));
    return;
  }
  revision_ = record.revision;
  changed_ns_ = now_ns();
  has_seen_entry_ = true;
  const bool is_own = found->leader == options_.name && found->epoch == (seen_ ? seen_->epoch : 0);
  const bool same_leader = seen_ && seen_->leader == found->leader &&
                           seen_->epoch == found->epoch && seen_->in_sync == found->in_sync;
  seen_ = *std::move(found);
  if (leads_ && !is_own) {
    return Lose(FailedPrecondition("{} leads with epoch {}",
                                   seen_->leader.empty() ? "nobody" : seen_->leader, seen_->epoch));
  }
  outcome_unknown_ = false;
  if (!leads_ && !same_leader) handler_->OnLeader(*seen_);
}

void Election::Campaign() {
  Leadership next = seen_.value_or(Leadership());
  const bool is_first = next.epoch == 0;
  // If the entry was lost, a leader may still be at work.
  if (is_first && has_seen_entry_) return;
  if (!is_first && !next.in_sync.contains(options_.name)) return;
  if (const absl::Status may = handler_->MayLead(next); !may.ok()) {
    static LogLimit limit(10 * kNsPerSecond);
    if (limit.Pass()) LogWarn("does not become the leader reason=\"{}\"", Message(may));
    return;
  }
  ++next.epoch;
  next.in_sync.insert(options_.name);
  next.leader = options_.name;
  next.address = options_.address;
  next.beat = 0;
  Put(std::move(next), std::nullopt);
}

void Election::Beat() {
  Leadership next = *seen_;
  ++next.beat;
  std::optional<PendingSet> set = std::exchange(set_, std::nullopt);
  if (set) {
    next.in_sync = set->members;
    next.in_sync.insert(options_.name);
  }
  if (resigned_) next.leader = next.address = "";
  Put(std::move(next), std::move(set));
}

void Election::Put(Leadership leadership, std::optional<PendingSet> set) {
  is_busy_ = true;
  const int64_t sent_ns = sent_ns_ = now_ns();
  std::string text = TextOf(leadership);
  store_->Write(revision_, std::move(text),
                [this, alive = std::weak_ptr(alive_), leadership = std::move(leadership), sent_ns,
                 set = std::move(set)](const absl::StatusOr<ElectionStore::Written>& written) {
                  if (alive.expired()) return;
                  is_busy_ = false;
                  OnWritten(written, leadership, sent_ns, set);
                });
}

void Election::OnWritten(const absl::StatusOr<ElectionStore::Written>& written,
                         const Leadership& leadership, int64_t sent_ns,
                         std::optional<PendingSet> set) {
  if (resigned_ && leadership.leader.empty()) {
    is_over_ = true;
    return std::exchange(resigned_, nullptr)();
  }
  if (is_over_) return;
  const absl::Status status = !written.ok()       ? written.status()
                              : written->replaced ? absl::OkStatus()
                                                  : Unavailable("the entry was replaced");
  error_ = written.status();
  if (written.ok()) answered_ns_ = now_ns();
  if (status.ok()) {
    revision_ = written->now.revision;
    changed_ns_ = now_ns();
    seen_ = leadership;
    lease_end_ns_ = sent_ns + options_.lease_ns;
    // An answer that took a whole lease elects nobody: others may have begun.
    if (!leads_ && now_ns() < lease_end_ns_) {
      leads_ = true;
      LogInfo("leads epoch={} insync={}", seen_->epoch, fmt::join(seen_->in_sync, ","));
      handler_->OnElected(*seen_);
    }
  } else if (written.ok()) {
    See(written->now);
  } else {
    // Whether the entry was replaced is learned by the next read.
    outcome_unknown_ = true;
    static LogLimit limit(10 * kNsPerSecond);
    if (limit.Pass()) LogWarn("election store not written error=\"{}\"", Message(status));
  }
  if (set) set->done(status);
  if (leads_ && !is_over_ && !is_busy_ && (set_ || resigned_) && !outcome_unknown_) Beat();
}

void Election::Write(const MemberNames& members, std::function<void(absl::Status)> done) {
  if (!leads_ || is_over_) {
    return loop_.Post([done = std::move(done)] {
      done(absl::FailedPreconditionError("this member does not lead"));
    });
  }
  set_ = {members, std::move(done)};
  if (!is_busy_ && !outcome_unknown_) Beat();
}

void Election::Resign(std::function<void()> done) {
  if (!leads_ || is_over_) {
    is_over_ = true;
    return done();
  }
  resigned_ = std::move(done);
  if (!is_busy_ && !outcome_unknown_) Beat();
}

void Election::Lose(const absl::Status& why) {
  is_over_ = true;
  timer_.Cancel();
  LogWarn("leads no longer epoch={} reason=\"{}\"", seen_ ? seen_->epoch : 0, Message(why));
  if (resigned_) return std::exchange(resigned_, nullptr)();
  if (std::exchange(leads_, false)) handler_->OnLost(why);
}

}  // namespace tickstack::tickerplant
