#pragma once

// Clients that publish final rows before the end of a day, such as aggregation engines. Rows that
// they published after `.u.end` would be in the next day's log.
//
//   the day is over  -> publish everything, send (.u.closing; date) to each closer,
//                       let rows of others wait
//                    -> each closer publishes its last rows and calls .u.closed[name; date],
//                       disconnects, or is given up after kWaitNsMax
//                    -> the day ends, and rows that waited are logged in the next one
//
// Threads: one owner.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace tickstack::tickerplant {

class DayClosers {
 public:
  // Time for which a day waits for closers that do not answer.
  static constexpr int64_t kWaitNsMax = 5 * kNsPerSecond;

  // Registers a connection of the closer `name`, which may have several.
  void Add(std::string_view name, uint64_t connection) {
    for (const Closer& closer : closers_) {
      if (closer.name == name && closer.Has(connection)) return;
    }
    OnConnectionGone(connection);  // It may have had another name.
    for (Closer& closer : closers_) {
      if (closer.name == name) return closer.connections.push_back(connection);
    }
    closers_.push_back({std::string(name), {connection}, is_closing_});
  }
  // Removes a connection. A closer without connections is not waited for.
  void OnConnectionGone(uint64_t connection) {
    for (Closer& closer : closers_) std::erase(closer.connections, connection);
    std::erase_if(closers_, [](const Closer& closer) { return closer.connections.empty(); });
  }

  bool empty() const { return closers_.empty(); }
  bool is_closing() const { return is_closing_; }
  // True if this connection is one of a closer.
  bool HasConnection(uint64_t connection) const {
    return std::ranges::any_of(closers_,
                               [&](const Closer& closer) { return closer.Has(connection); });
  }
  // Starts closing a day. Returns the connections to notify.
  std::vector<uint64_t> Begin(int64_t now_ns) {
    is_closing_ = true;
    give_up_ns_ = now_ns + kWaitNsMax;
    std::vector<uint64_t> connections;
    for (Closer& closer : closers_) {
      closer.closed = false;
      connections.insert(connections.end(), closer.connections.begin(), closer.connections.end());
    }
    return connections;
  }
  // Records that the closer has sent everything. False if this connection does not belong to the
  // closer `name`.
  bool OnClosed(std::string_view name, uint64_t connection) {
    for (Closer& closer : closers_) {
      if (closer.name != name || !closer.Has(connection)) continue;
      closer.closed = true;
      return true;
    }
    return false;
  }
  // Returns the names of closers that have not answered.
  std::vector<std::string> Missing() const {
    std::vector<std::string> names;
    for (const Closer& closer : closers_) {
      if (!closer.closed) names.push_back(closer.name);
    }
    return names;
  }
  bool MustWait(int64_t now_ns) const { return now_ns < give_up_ns_ && !Missing().empty(); }
  void End() { is_closing_ = false; }

 private:
  struct Closer {
    std::string name;
    std::vector<uint64_t> connections;
    // True if it has nothing more to publish for the closing day. A closer that registers while a
    // day closes begins with true.
    bool closed;

    bool Has(uint64_t connection) const {
      return std::ranges::find(connections, connection) != connections.end();
    }
  };
  std::vector<Closer> closers_;
  bool is_closing_ = false;
  int64_t give_up_ns_ = 0;
};

}  // namespace tickstack::tickerplant
