#pragma once

// The standbys that may become the leader: those that have every row that a feed was told is
// logged. The set is kept outside of the members (election.h), so that whoever leads next is one of
// them.
//
// Threads: one owner.

#include <functional>
#include <set>
#include <string>

#include "absl/status/status.h"

namespace tickstack::tickerplant {

using MemberNames = std::set<std::string, std::less<>>;

class InSyncSet {
 public:
  virtual ~InSyncSet() = default;
  // Replaces the set, without the leader's own name. Calls `done` later: OK if the set consists of
  // `members` now. After an error it may be the old set or the new one. One write at a time.
  virtual void Write(const MemberNames& members, std::function<void(absl::Status)> done) = 0;
  // True while no other member can have become the leader.
  virtual bool HoldsLease() const { return true; }
};

}  // namespace tickstack::tickerplant
