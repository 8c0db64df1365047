#pragma once

// Which connections are not read at the moment, and why. Bytes that are not read wait in the
// client's socket, so the client is slowed down, no row is lost, and none overtakes another.
//
//   kDiskFull  It staged rows that the full disk keeps out of the log. Released when the log can be
//              written again.
//   kStandbys  It staged rows, and too much waits for the standbys, or too few of them are there.
//   kNextDay   A message of it waits for the end of the day (day_end.h).
//   kBehind    It is a subscriber that is behind, and sent a request, which is held here until it
//              has caught up (catch_up.h). Its answer then comes after the rows before it.
//   kWindow    It asked to wait for subscribers that are behind (feed_windows.h).
//
// A connection may have several reasons, which end in any order. It is read again when it has none.
// In particular, the end of one reason does not let its later rows overtake a message that is held
// for another one.
//
// Threads: the service's loop. Errors: none.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "tickerplant/held_message.h"

namespace tickstack::tickerplant {

class ReadGate {
 public:
  enum class Reason : uint8_t { kDiskFull, kStandbys, kNextDay, kBehind, kWindow };

  // `set_reading` begins or ceases to read a connection. It is called by the functions below, and
  // must deliver no message before it returns.
  explicit ReadGate(std::function<void(uint64_t connection, bool is_read)> set_reading)
      : set_reading_(std::move(set_reading)) {}

  // Stops reading a connection for `reason`. Does nothing if it is not read for that reason.
  void Stop(uint64_t connection, Reason reason) {
    uint8_t& reasons = stopped_[connection].reasons;
    const bool was_read = reasons == 0;
    reasons |= BitOf(reason);
    if (was_read) set_reading_(connection, false);
  }
  // Ends `reason` for a connection: it is read again if it has no other one. kBehind does not end
  // while a request is held.
  void Release(uint64_t connection, Reason reason) {
    const auto found = stopped_.find(connection);
    if (found == stopped_.end() || (found->second.reasons & BitOf(reason)) == 0) return;
    if (reason == Reason::kBehind && !found->second.requests.empty()) return;
    found->second.reasons &= static_cast<uint8_t>(~BitOf(reason));
    if (found->second.reasons != 0) return;
    stopped_.erase(found);
    set_reading_(connection, true);
  }
  // Ends `reason` for all connections, in the order of their numbers.
  void ReleaseAll(Reason reason) {
    for (const uint64_t connection : StoppedFor(reason)) Release(connection, reason);
  }
  // Returns the connections that are not read for `reason`, in ascending order.
  std::vector<uint64_t> StoppedFor(Reason reason) const {
    std::vector<uint64_t> connections;
    for (const auto& [connection, stopped] : stopped_) {
      if ((stopped.reasons & BitOf(reason)) != 0) connections.push_back(connection);
    }
    return connections;
  }
  bool is_read(uint64_t connection) const { return !stopped_.contains(connection); }

  // Keeps a request of a subscriber that is behind, and stops reading its connection: kBehind.
  void HoldRequest(HeldMessage request) {
    const uint64_t connection = request.connection;
    Stop(connection, Reason::kBehind);
    stopped_[connection].requests.push_back(std::move(request));
  }
  // Removes and returns the requests that a subscriber has made while it was behind, in their
  // order. The caller takes them, and then releases kBehind: until then later ones wait.
  std::vector<HeldMessage> TakeRequests(uint64_t connection) {
    const auto found = stopped_.find(connection);
    if (found == stopped_.end()) return {};
    return std::exchange(found->second.requests, {});
  }

  // Forgets a connection that has ended, and its requests.
  void OnConnectionGone(uint64_t connection) { stopped_.erase(connection); }

 private:
  struct Stopped {
    uint8_t reasons = 0;  // A bit for each Reason.
    std::vector<HeldMessage> requests;
  };
  static uint8_t BitOf(Reason reason) {
    return static_cast<uint8_t>(1U << static_cast<unsigned>(reason));
  }

  const std::function<void(uint64_t connection, bool is_read)> set_reading_;
  // By connection. Ordered, so that a simulated run repeats itself.
  std::map<uint64_t, Stopped> stopped_;
};

}  // namespace tickstack::tickerplant
