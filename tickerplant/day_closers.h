#pragma once

// Who has a last word before a day ends: engines that publish what they make of the day's rows.
// Rows of theirs that came after `.u.end` would be in the next day's log.
//
//   the day is over -> everything is published, (.u.closing; date) to each closer, feeds are not
//   read
//                   -> each publishes its rest and says .u.closed[name; date], or is gone, or too
//                   late
//                   -> the day ends, feeds are read again
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
  // What a day waits for those that do not answer.
  static constexpr int64_t kWaitNsMax = 5 * kNsPerSecond;

  // The closer's connection, to which the word is sent. A name that comes again takes the place of
  // the one before.
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
  // The connections that are to be told.
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
  // Those that have not answered, if the day needs to wait for them still.
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
    bool closed;  // One that comes while a day is closing has nothing of it.
  };
  std::vector<Closer> closers_;
  bool is_closing_ = false;
  int64_t give_up_ns_ = 0;
};

}  // namespace tickstack::tickerplant
