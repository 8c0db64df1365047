#pragma once

// Which leader of a cluster of tickerplants a client follows.
//
// A leader that was paused may not know yet that it was replaced, and its log may lack rows that
// the next leader published. So a leader with an earlier epoch than one that was followed before is
// left, and the next address tried. After 10 s it is followed: the cluster was begun again.
//
// Only the answers of leaders count. A standby refuses the next question anyway, and may know of a
// leader that a cluster which was begun again does not have. A tickerplant without standbys was not
// replaced.

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "table/value.h"

namespace tickstack::tplog {

// The question for a tickerplant's epoch, `.u.replica[]`.
Value EpochRequest();
// Returns the epoch of a leader's answer; nullopt for any other answer.
std::optional<int64_t> EpochOf(const absl::StatusOr<Value>& answer);

// Threads: one.
class LeaderEpoch {
 public:
  static constexpr int64_t kReplacedNs = 10 * kNsPerSecond;

  // Follows the tickerplant that has given this answer to EpochRequest from now on.
  // kFailedPrecondition, with the reason, if it is a leader that was replaced. `now_ns`: monotonic.
  absl::Status Follow(const absl::StatusOr<Value>& answer, int64_t now_ns);
  // True if the tickerplant that is followed leads standbys.
  bool has_standbys() const { return has_standbys_; }

 private:
  int64_t epoch_ = 0;  // The last followed leader's; 0: no leader had standbys.
  bool has_standbys_ = false;
  std::optional<int64_t> replaced_since_ns_;  // Since when only earlier leaders have answered.
};

}  // namespace tickstack::tplog
