#pragma once

// When rows were last logged: by table, and by feed for those that number their rows. Tells a feed
// that has gone silent from one that is quiet only in some tables.
//
// Threads: one owner.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/name_map.h"
#include "tickerplant/upd_stage.h"

namespace tickstack::tickerplant {

class Activity {
 public:
  explicit Activity(size_t tables) : table_ns_(tables, kNever) {}

  static constexpr int64_t kNever = INT64_MIN;

  // Records that a block was logged at `now_ns` (MonotonicNs).
  void OnLogged(const StagedBlock& block, int64_t now_ns) {
    for (size_t table = 0; table < table_ns_.size(); ++table) {
      if (block.rows_of(table) > 0) table_ns_[table] = now_ns;
    }
    if (block.feed().empty()) return;
    feed_ns_[block.feed()] = now_ns;
  }
  // Forgets the feeds, because the next day may have others.
  void OnDayEnded() { feed_ns_.clear(); }

  int64_t table_ns(size_t table) const { return table_ns_[table]; }  // kNever: none so far.
  const NameMap<int64_t>& feed_ns() const { return feed_ns_; }

 private:
  std::vector<int64_t> table_ns_;
  NameMap<int64_t> feed_ns_;
};

}  // namespace tickstack::tickerplant
