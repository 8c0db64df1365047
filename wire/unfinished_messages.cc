#include "wire/unfinished_messages.h"

#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "wire/connection.h"
#include "wire/connection_counts.h"

namespace tickstack::wire {

void UnfinishedMessages::Set(Connection& connection, size_t bytes) {
  if (bytes == 0) return Remove(connection);
  size_t& held = held_[&connection];
  bytes_ += bytes - held;
  ConnectionCounts::OfProcess().unfinished_bytes += static_cast<int64_t>(bytes - held);
  held = bytes;
  while (bytes_ > bytes_max_) {
    Connection* const largest = Largest();
    if (largest == nullptr) return;
    const size_t together = bytes_, own = held_.at(largest);
    Remove(*largest);
    ConnectionCounts::OfProcess().CountRefused(RefusedFor::kUnfinishedMessages);
    static LogLimit limit;
    if (const std::optional<uint64_t> withheld = limit.Pass()) {
      LogWarn("client cut off host={} user={} reason=\"unfinished messages\" bytes={} withheld={}",
              largest->peer(), largest->user(), own, *withheld);
    }
    largest->Close(
        ResourceExhausted("{}: the unfinished messages of all clients hold {} bytes, the bound is "
                          "{}, and this is the largest one with {}",
                          largest->peer(), together, bytes_max_, own));
  }
}

void UnfinishedMessages::Remove(Connection& connection) {
  const auto found = held_.find(&connection);
  if (found == held_.end()) return;
  bytes_ -= found->second;
  ConnectionCounts::OfProcess().unfinished_bytes -= static_cast<int64_t>(found->second);
  held_.erase(found);
}

// Only connections that are inside of a message: a block that one of them keeps for its next
// message is no reason to close it.
Connection* UnfinishedMessages::Largest() const {
  std::map<std::pair<PlaceClass, std::string>, size_t> of_users;
  for (const auto& [connection, bytes] : held_) {
    of_users[{connection->place(), connection->user()}] += bytes;
  }
  Connection* largest = nullptr;
  std::tuple<int, size_t, size_t> most;
  for (const auto& [connection, bytes] : held_) {
    if (!connection->IsInsideMessage()) continue;
    const std::tuple<int, size_t, size_t> rank{
        -static_cast<int>(connection->place()),
        of_users.at({connection->place(), connection->user()}), bytes};
    if (largest != nullptr && rank <= most) continue;
    largest = connection;
    most = rank;
  }
  return largest;
}

}  // namespace tickstack::wire
