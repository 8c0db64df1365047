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
// A standby accepts connections, and answers `.u.replica[]`, but no part of it such as
// `.u.replica[]`epoch. It closes a connection that sends
// anything else, so that a client that knows several addresses tries the next one. A query in q,
// as people send them, is refused by name first: `standby: HOST:PORT leads`. Processes see a lost
// connection, which they all survive, and not an answer that they do not know.
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
#include "tickerplant/election.h"
#include "tickerplant/replication_options.h"
#include "tickerplant/standby.h"
#include "tickerplant/standby_log.h"
#include "tickerplant/standbys.h"
#include "wire/event_loop.h"
#include "wire/server.h"

namespace tickstack::tickerplant {

class ClusterMember final : public wire::ServerHandler, public ElectionHandler {
 public:
  // `on_elected` is called once, when this member leads: TakeLog then gives its log away.
  // `on_end` is called when the process must end. `store` must outlive this. Errors: those of
  // StandbyLog::Open.
  static absl::StatusOr<std::unique_ptr<ClusterMember>> Start(
      wire::EventLoop& loop, std::string name, ReplicationOptions options, StandbyLogOptions log,
      ElectionStore* store, std::function<void(const Leadership&)> on_elected,
      std::function<void(absl::Status)> on_end);
  ~ClusterMember() override;

  // Closes the log, and gives the leadership up. Blocks: runs the loop, at most for a lease.
  absl::Status Stop();

  // The log of a member that leads, open: reading its index again may take longer than the lease.
  // Without a writer if there is no log yet.
  OpenedLog TakeLog() { return std::move(opened_); }
  // Records that this member, which leads, has logged everything up to `place`.
  void NoteLogged(ReplicaPlace place);
  InSyncSet& in_sync_set() { return *election_; }
  bool leads() const { return leads_; }
  // The leader that this member replaced; empty if it has seen none.
  const std::string& predecessor() const { return predecessor_; }
  // Says whether the leader may continue while etcd does not answer.
  void set_may_outlast(std::function<bool()> may) { may_outlast_ = std::move(may); }
  // The answer to `.u.replica[]` of a standby.
  Value Stats() const;

  // The standby's server.
  void OnOpened(wire::Connection&) override {}
  void OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) override;
  void OnClosed(wire::Connection&, const absl::Status&) override {}

 private:
  ClusterMember(wire::EventLoop& loop, std::string name, ReplicationOptions options,
                std::function<void(const Leadership&)> on_elected,
                std::function<void(absl::Status)> on_end);
  absl::Status MayLead(const Leadership& leadership) override;
  void OnElected(const Leadership& leadership) override;
  void OnLeader(const Leadership& leadership) override;
  bool MayOutlastLease() const override { return may_outlast_ && may_outlast_(); }
  void OnLost(const absl::Status& why) override;
  absl::Status MayLackRows() const;
  std::string Refusal() const;

  wire::EventLoop& loop_;
  const std::string name_;
  const ReplicationOptions options_;
  const std::function<void(const Leadership&)> on_elected_;
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
