#include "tplog/leader_epoch.h"

#include <string_view>

#include "base/logging.h"
#include "base/status.h"
#include "wire/protocol.h"

namespace tickstack::tplog {

Value EpochRequest() { return Value::String(fmt::format("{}[]", wire::protocol::kReplica)); }

std::optional<int64_t> EpochOf(const absl::StatusOr<Value>& answer) {
  const bool has_names = answer.ok() && answer->is_dict() && answer->keys().is(Type::kSymbol) &&
                         answer->values().is_list() &&
                         answer->values().count() == answer->keys().count();
  if (!has_names) return std::nullopt;
  std::optional<int64_t> epoch;
  bool leads = false;
  for (size_t i = 0; i < answer->keys().count(); ++i) {
    const std::string_view name = answer->keys().symbols()[i];
    const Value& value = answer->values().items()[i];
    if (name == "role") leads = value == Value::Symbol("leader");
    if (name == "epoch" && value.is_atom_of(Type::kLong)) epoch = value.as<int64_t>();
  }
  return leads ? epoch : std::nullopt;
}

absl::Status LeaderEpoch::Follow(const absl::StatusOr<Value>& answer, int64_t now_ns) {
  const std::optional<int64_t> epoch = EpochOf(answer);
  has_standbys_ = epoch.has_value();
  if (!epoch) return absl::OkStatus();
  if (*epoch < epoch_) {
    if (!replaced_since_ns_) replaced_since_ns_ = now_ns;
    if (now_ns - *replaced_since_ns_ < kReplacedNs) {
      return FailedPrecondition(
          "this tickerplant was replaced: its epoch is {}, expected {} or a later one", *epoch,
          epoch_);
    }
    LogWarn("following an earlier leader: no later one has answered for {} s epoch={} was={}",
            kReplacedNs / kNsPerSecond, *epoch, epoch_);
  }
  replaced_since_ns_.reset();
  epoch_ = *epoch;
  return absl::OkStatus();
}

}  // namespace tickstack::tplog
