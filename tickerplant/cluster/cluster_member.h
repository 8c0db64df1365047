#pragma once

// A tickerplant of a cluster: a standby until it is elected, then the leader.
//
//   standby --elected--> opens its log as a tickerplant, leads the others
//   leader  --lost-----> ends the process; its supervisor starts it again, as a standby
//
// A member does not lead if its log may lack rows that others of the in-sync set have. A cluster
// without an entry in the store has no in-sync set, so only the member leads it that the
// configuration names.
//
// Threads: the loop's.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "table/value.h"
#include "tickerplant/cluster/cluster_role.h"
#include "tickerplant/cluster/election.h"
#include "tickerplant/cluster/replication_options.h"
#include "tickerplant/standby/standby.h"
#include "tickerplant/standby/standby_log.h"
#include "wire/event_loop.h"

namespace tickstack::tickerplant {

class ClusterMember final : public ClusterRole, public ElectionHandler {
 public:
  // `on_elected` is called once, when this member leads: TakeLog then gives its log away.
  // `on_end` is called when the process must end. `store` must outlive this. Errors: those of
  // StandbyLog::Open.
  static absl::StatusOr<std::unique_ptr<ClusterMember>> Start(
      wire::EventLoop& loop, std::string name, ReplicationOptions options, StandbyLogOptions log,
      ElectionStore* store, std::function<void()> on_elected,
      std::function<void(absl::Status)> on_end);
  ~ClusterMember() override;

  // ClusterRole. Stop runs the loop, at most for a lease.
  absl::Status Stop() override;
  OpenedLog TakeLog() override { return std::move(opened_); }
  void Lead(TickerplantService& service) override;
  void NoteLogged(ReplicaPlace place) override;
  Value Stats() const override;
  bool leads() const { return leads_; }

 private:
  ClusterMember(wire::EventLoop& loop, std::string name, ReplicationOptions options,
                std::function<void()> on_elected, std::function<void(absl::Status)> on_end);
  absl::Status MayLead(const Leadership& leadership) override;
  void OnElected(const Leadership& leadership) override;
  void OnLeader(const Leadership& leadership) override;
  bool MayOutlastLease() const override { return may_outlast_ && may_outlast_(); }
  void OnLost(const absl::Status& why) override;
  absl::Status MayLackRows() const;
  std::string Refusal() const override;

  wire::EventLoop& loop_;
  const std::string name_;
  const ReplicationOptions options_;
  const std::function<void()> on_elected_;
  const std::function<void(absl::Status)> on_end_;
  std::function<bool()> may_outlast_;
  std::unique_ptr<StandbyLog> log_;
  OpenedLog opened_;
  std::unique_ptr<Standby> standby_;
  std::optional<Leadership> leadership_;
  std::string predecessor_;
  bool leads_ = false;
  std::unique_ptr<Election> election_;  // Last: it calls the rest.
};

}  // namespace tickstack::tickerplant
