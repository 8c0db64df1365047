#pragma once

// Feeds that asked to wait for slow subscribers: `.u.window[rows]`. Such a feed is not read while a
// subscriber is more than `rows` rows behind, so its rows wait in the socket.
//
// Threads: one owner.

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace tickstack::tickerplant {

class FeedWindows {
 public:
  // Sets the window of the feed on this connection; 0: it never waits.
  void Set(uint64_t connection, uint64_t rows) { windows_[connection].rows = rows; }
  void OnConnectionGone(uint64_t connection) { windows_.erase(connection); }

  bool empty() const { return windows_.empty(); }
  // True if the feed has to wait while the slowest subscriber is this many rows behind.
  bool MustWait(uint64_t connection, uint64_t behind_rows) {
    const auto window = windows_.find(connection);
    if (window == windows_.end() || window->second.rows == 0) return false;
    if (behind_rows <= window->second.rows) return false;
    window->second.waits = true;
    return true;
  }
  // Returns the feeds that need not wait any longer. A feed is read again when the slowest
  // subscriber is at most half of its window behind, so that it does not stop for every message.
  std::vector<uint64_t> Release(uint64_t behind_rows) {
    std::vector<uint64_t> released;
    for (auto& [connection, window] : windows_) {
      if (!window.waits || (window.rows > 0 && behind_rows > window.rows / 2)) continue;
      window.waits = false;
      released.push_back(connection);
    }
    return released;
  }
  size_t waiting() const {
    size_t waiting = 0;
    for (const auto& [connection, window] : windows_) waiting += window.waits ? 1 : 0;
    return waiting;
  }

 private:
  struct Window {
    uint64_t rows = 0;
    bool waits = false;
  };
  std::unordered_map<uint64_t, Window> windows_;
};

}  // namespace tickstack::tickerplant
