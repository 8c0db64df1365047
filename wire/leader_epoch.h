#pragma once

// Which leader of a cluster of tickerplants a client follows.
//
// A leader that was paused may not know yet that it was replaced, and its log may lack rows that
// the next leader published. So a leader with an earlier epoch than one that was followed before is
// left, and the next address tried. After 10 s it is followed: the cluster was begun again.

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "table/value.h"
#include "wire/protocol.h"

namespace tickstack::wire {

// The request `.u.replica[]`, and the leader's epoch in its answer; 0 if there is none, as that of a
// tickerplant without standbys.
inline Value EpochRequest() { return Value::String(fmt::format("{}[]", protocol::kReplica)); }
inline int64_t EpochOf(const absl::StatusOr<Value>& answer) {
  const bool has_names = answer.ok() && answer->is_dict() && answer->keys().is(Type::kSymbol) &&
                         answer->values().is_list() &&
                         answer->values().count() == answer->keys().count();
  if (!has_names) return 0;
  const SymbolVector& names = answer->keys().symbols();
  for (size_t i = 0; i < names.size(); ++i) {
    const Value& value = answer->values().items()[i];
    if (names[i] == "epoch" && value.is_atom_of(Type::kLong)) return value.as<int64_t>();
  }
  return 0;
}

class LeaderEpoch {
 public:
  static constexpr int64_t kReplacedNs = 10 * kNsPerSecond;

  // Follows a leader with this epoch from now on. kFailedPrecondition, with the reason, if it was
  // replaced. `now_ns`: monotonic.
  absl::Status Follow(int64_t epoch, int64_t now_ns);
  int64_t epoch() const { return epoch_; }  // Of the leader that is followed; 0: none.

 private:
  int64_t epoch_ = 0;
  std::optional<int64_t> replaced_since_ns_;  // Since when only earlier leaders have answered.
};

inline absl::Status LeaderEpoch::Follow(int64_t epoch, int64_t now_ns) {
  if (epoch < epoch_) {
    if (!replaced_since_ns_) replaced_since_ns_ = now_ns;
    if (now_ns - *replaced_since_ns_ < kReplacedNs) {
      return FailedPrecondition(
          "this tickerplant was replaced: its epoch is {}, expected {} or a later one", epoch,
          epoch_);
    }
    LogWarn("following an earlier leader: no later one has answered for {} s epoch={} was={}",
            kReplacedNs / kNsPerSecond, epoch, epoch_);
  }
  replaced_since_ns_.reset();
  epoch_ = epoch;
  return absl::OkStatus();
}

}  // namespace tickstack::wire
