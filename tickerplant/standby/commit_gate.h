#pragma once

// What must happen between staging a block and logging it: with standby tickerplants, that each
// standby in the in-sync set has the block in its log (standbys.h).
//
// Threads: the tickerplant's.

#include "absl/status/status.h"
#include "tickerplant/standby/replication_messages.h"
#include "tplog/tplog_writer.h"

namespace tickstack::tickerplant {

class CommitGate {
 public:
  // Blocks that are offered and not logged yet. Fewer than the ends of blocks that a standby tells,
  // so that one of those is in the leader's log.
  static constexpr size_t kBlocksMax = kReplicaEndsMax / 2;

  // A block of this size gets no more upds, so that it is sent as one message.
  static constexpr size_t kBlockBytes = size_t{64} << 20;

  virtual ~CommitGate() = default;
  // Takes a block that will be logged at `at`, in the order of the log. Each block is offered once,
  // and is logged later with the same contents. An error is final.
  virtual absl::Status Offer(ReplicaPlace at, const tplog::TplogBlock& block) = 0;
  // False: too much is offered and not logged yet, so nothing may be offered now.
  virtual bool HasRoom() const = 0;
  // True if everything that was offered up to `place` may be logged. Stays true.
  virtual bool IsAcknowledged(ReplicaPlace place) const = 0;
  // Returns the time by which days end, for this process's own time `now_ns`: the clocks of other
  // members may contradict it.
  virtual int64_t DayNs(int64_t now_ns) const { return now_ns; }
  // Records that everything up to `place` is logged.
  virtual void OnLogged(ReplicaPlace place) = 0;
};

}  // namespace tickstack::tickerplant
