#include "gateway/replicas.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tickstack::gateway {

Replicas::Replicas(std::string name, const std::vector<wire::Address>& addresses,
                   const std::vector<wire::Address>& urgent, ReplicaOptions options)
    : name_(std::move(name)), options_(std::move(options)), has_urgent_(!urgent.empty()) {
  const auto add = [this](const wire::Address& address, bool is_urgent) {
    replicas_.push_back(std::make_unique<Replica>());
    replicas_.back()->address = address;
    replicas_.back()->urgent = is_urgent;
  };
  for (const wire::Address& address : addresses) add(address, false);
  for (const wire::Address& address : urgent) add(address, true);
}

std::optional<size_t> Replicas::Choose(const std::vector<bool>& tried, std::string_view user) {
  const int64_t now_ns = SteadyNs();
  const bool urgent =
      has_urgent_ && std::ranges::find(options_.urgent_users, user) != options_.urgent_users.end();
  // Equally busy ones take turns.
  const size_t first = next_.fetch_add(1, std::memory_order_relaxed);
  std::optional<size_t> best;
  std::tuple<int, bool, int64_t> least;
  for (size_t i = 0; i < replicas_.size(); ++i) {
    const size_t at = (first + i) % replicas_.size();
    if (tried[at]) continue;
    const Replica& replica = *replicas_[at];
    const Health health = replica.health.load(std::memory_order_relaxed);
    const bool rests = replica.rests_until_ns.load(std::memory_order_relaxed) > now_ns;
    const int doubtful = IsRefused(health)             ? 4
                         : replica.IsSilent(now_ns)    ? 3
                         : rests                       ? 2
                         : health == Health::kDoubtful ? 1
                                                       : 0;
    const std::tuple<int, bool, int64_t> rank{doubtful, has_urgent_ && replica.urgent != urgent,
                                              replica.under_way.load(std::memory_order_relaxed)};
    if (best && rank >= least) continue;
    best = at;
    least = rank;
  }
  return best;
}

}  // namespace tickstack::gateway
