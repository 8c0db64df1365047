#pragma once

// The members of a cluster of tickerplants, wired as tickerplant_main.cc wires them: each on a
// machine of its own, with the election store of election_store.h.

#include <memory>
#include <string>
#include <vector>

#include "tests/simulate/election_store.h"
#include "tests/simulate/stack.h"
#include "tests/simulate/world.h"
#include "tickerplant/cluster/cluster_member.h"
#include "tickerplant/tickerplant_service.h"
#include "wire/server.h"

namespace tickstack::simulate {

struct ClusterOptions {
  StackOptions stack;          // Those of every member; `folder` is on its machine.
  bool has_own_paths = false;  // Each member has its logs in a folder of another name.
  tickerplant::ReplicationOptions replication;

  // Returns the options of one member.
  StackOptions StackOf(size_t number) const;
};

ClusterOptions DrawClusterOptions(Random& random, std::string folder);

// The members' addresses, as their clients know them.
wire::Address AddressOfMember(size_t number);
wire::Address AddressOfCluster(size_t members);

// A standby until it is elected, then the leader.
class MemberProgram final : public Program {
 public:
  MemberProgram(Process& process, const ClusterOptions& options, size_t number, Store& store);
  absl::Status Start();

  const tickerplant::ClusterMember& member() const { return *member_; }
  // nullptr: it does not lead.
  const tickerplant::TickerplantService* leader() const { return leader_.get(); }
  // True if it leads and clients are not refused.
  bool serves() const { return leader_ != nullptr && leader_->logged().date != kNullInt; }

 private:
  void End(const absl::Status& why);
  absl::Status Lead();
  absl::StatusOr<std::unique_ptr<wire::Server>> Listen(wire::ServerHandler* handler);

  Process& process_;
  const ClusterOptions& options_;
  const StackOptions stack_;
  const size_t number_;
  Store::Client store_;
  std::unique_ptr<tickerplant::ClusterMember> member_;
  std::unique_ptr<tickerplant::TickerplantService> leader_;
  wire::Timer note_timer_;
  std::unique_ptr<wire::Server> server_;  // First the standby's, then the leader's.
};

absl::StatusOr<std::unique_ptr<Program>> StartMember(Process& process,
                                                     const ClusterOptions& options, size_t number,
                                                     Store& store);

}  // namespace tickstack::simulate
