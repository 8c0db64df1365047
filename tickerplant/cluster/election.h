#pragma once

// Elects the leader of a cluster of tickerplants, by one entry in a store that all members share.
//
//   leader:    writes the entry with another `beat` every quarter of the lease
//   follower:  reads it. If it has not changed for a whole lease, and this member is in the in-sync
//              set, replaces it: itself as the leader, the next epoch
//
// The old leader stays in the in-sync set until the new one removes it, which it does once it has
// opened its log (standbys.h). If it cannot, the old one can still lead.
//
// All writes name the revision that they replace, so of several candidates one wins, and a leader
// that was replaced learns it from its next write. No clock is compared with another one. A leader
// counts its lease from before it sent a write, and a follower from after it saw that write.
//
// While the store does not answer, no leader can write. So once it answers again, a follower waits
// for a lease before it replaces the leader. Otherwise each election among etcd's own members,
// which takes longer than a lease, would also replace the leader of the cluster.
//
// Rows do not depend on the lease: a leader logs nothing without its standbys (standbys.h), one of
// which the next leader is. So a leader whose lease ran out because the store is down continues
// while its whole in-sync set is connected (MayOutlastLease). It stops otherwise: it was cut off,
// and its feeds should look for the next leader.
//
// If the store has lost the entry, a member that has seen it does not begin a new one. It has to be
// started again, which an operator decides.
//
// The store's own leases are not used, because those of etcd last two seconds or more.
//
// A stopping leader resigns, so that the next one need not wait for a lease. It stays in the
// in-sync set, too.
//
// Threads: the loop's.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/time.h"
#include "tickerplant/cluster/election_store.h"
#include "tickerplant/cluster/leadership.h"
#include "tickerplant/standby/in_sync_set.h"
#include "wire/event_loop.h"

namespace tickstack::tickerplant {

struct ElectionOptions {
  std::string name;     // This member.
  std::string address;  // Where it accepts clients.
  int64_t lease_ns = 600'000'000;
};

class ElectionHandler {
 public:
  virtual ~ElectionHandler() = default;
  // Returns OK if this member can lead now. Otherwise it does not try to. `leadership` is the entry
  // that it would replace.
  virtual absl::Status MayLead(const Leadership& leadership) = 0;
  // This member leads from now on, with the entry's epoch and in-sync set.
  virtual void OnElected(const Leadership& leadership) = 0;
  // The entry has changed, and another member leads, or nobody does.
  virtual void OnLeader(const Leadership& leadership) = 0;
  // True if the leader may continue without the store: everybody who could replace it follows it.
  virtual bool MayOutlastLease() const = 0;
  // This member does not lead any longer. The last call.
  virtual void OnLost(const absl::Status& why) = 0;
};

class Election final : public InSyncSet {
 public:
  // `store` and `handler` must outlive this.
  Election(wire::EventLoop& loop, ElectionOptions options, ElectionStore* store,
           ElectionHandler* handler);
  ~Election() override;

  bool leads() const { return leads_; }
  // The entry as it was last seen; nullopt: not seen yet.
  const std::optional<Leadership>& seen() const { return seen_; }
  // Time since the store last answered; since the start if it never did.
  int64_t SilentNs() const;
  // Why the store has not answered for a whole lease; empty: it has.
  std::string StoreError() const;

  // InSyncSet: for the leader. kFailedPrecondition if this member does not lead.
  void Write(const MemberNames& members, std::function<void(absl::Status)> done) override;
  bool HoldsLease() const override { return leads_ && now_ns() < lease_end_ns_; }
  // Gives the leadership up, and calls `done` when that is known or has failed. A follower is done
  // at once. The handler is not called any more.
  void Resign(std::function<void()> done);

 private:
  struct PendingSet {
    MemberNames members;
    std::function<void(absl::Status)> done;
  };

  void Tick();
  void Read();
  void OnRead(const absl::StatusOr<ElectionStore::Record>& record);
  void See(const ElectionStore::Record& record);
  void Campaign();
  void Beat();
  void Put(Leadership leadership, std::optional<PendingSet> set);
  void OnWritten(const absl::StatusOr<ElectionStore::Written>& written,
                 const Leadership& leadership, int64_t sent_ns, std::optional<PendingSet> set);
  void Lose(const absl::Status& why);
  int64_t now_ns() const { return loop_.clock().MonotonicNs(); }

  wire::EventLoop& loop_;
  const ElectionOptions options_;
  ElectionStore* const store_;
  ElectionHandler* const handler_;
  wire::Timer timer_;
  // Expires with this object, so that later callbacks do nothing.
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);

  std::optional<Leadership> seen_;
  bool has_seen_entry_ = false;
  uint64_t revision_ = 0;   // Of seen_.
  int64_t changed_ns_ = 0;  // When seen_ was first seen.
  int64_t answered_ns_;     // When the store last answered.
  absl::Status error_;      // The outcome of the last request.
  bool is_busy_ = false;    // A request is under way.

  bool leads_ = false;
  bool is_over_ = false;           // Lost or resigned.
  bool outcome_unknown_ = false;   // A write failed: its entry may be there.
  int64_t lease_end_ns_ = 0;       // When the leader stops unless a write succeeds.
  int64_t sent_ns_ = 0;            // When the last beat was sent.
  std::optional<PendingSet> set_;  // Waits for the request that is under way.
  std::function<void()> resigned_;
};

}  // namespace tickstack::tickerplant
