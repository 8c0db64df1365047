#pragma once

// Clients that publish final rows before the end of a day, such as aggregation engines. Rows that
// they published after `.u.end` would be in the next day's log.
//
//   the day is over  -> publish everything, send (.u.closing; date) to each closer,
//                       stop reading feeds
//                    -> each closer publishes its last rows and calls .u.closed[name; date],
//                       disconnects, or is given up after kWaitNsMax
//                    -> the day ends, feeds are read again
//
// Threads: one owner.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace tickstack::tickerplant {

class DayClosers {
 public:
  // How long a day waits for closers that do not answer.
  static constexpr int64_t kWaitNsMax = 5 * kNsPerSecond;

  // Registers a connection as the closer `name`. It replaces an earlier connection of that name.
  void Add(std::string_view name, uint64_t connection) {
    for (Closer& closer : closers_) {
      if (closer.name == name) {
        closer = {std::string(name), connection, is_closing_};
        return;
      }
    }
    closers_.push_back({std::string(name), connection, is_closing_});
  }
  void OnConnectionGone(uint64_t connection) {
    std::erase_if(closers_, [&](const Closer& closer) { return closer.connection == connection; });
  }

  bool empty() const { return closers_.empty(); }
  bool is_closing() const { return is_closing_; }
  // True if this connection registered a name, and no later one took its place.
  bool HasConnection(uint64_t connection) const {
    for (const Closer& closer : closers_) {
      if (closer.connection == connection) return true;
    }
    return false;
  }
  // Begins to close a day. Returns the connections to notify.
  std::vector<uint64_t> Begin(int64_t now_ns) {
    is_closing_ = true;
    give_up_ns_ = now_ns + kWaitNsMax;
    std::vector<uint64_t> connections;
    for (Closer& closer : closers_) {
      closer.closed = false;
      connections.push_back(closer.connection);
    }
    return connections;
  }
  // The closer has sent everything. False if this connection has not registered the name.
  bool OnClosed(std::string_view name, uint64_t connection) {
    for (Closer& closer : closers_) {
      if (closer.name != name || closer.connection != connection) continue;
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
    uint64_t connection;
    bool closed;  // Also true for a closer that registers while a day closes: it has no rows.
  };
  std::vector<Closer> closers_;
  bool is_closing_ = false;
  int64_t give_up_ns_ = 0;
};

}  // namespace tickstack::tickerplant
