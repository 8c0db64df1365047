#pragma once

// Moves old rows from the tiers of recent ones to the tier of older ones, as `then` and
// `older_than_minutes` of the placement say:
//
//   ingest thread   ... | chunk 7 | chunk 8 | chunk 9        appends to recent tiers
//   this thread     copies chunk 0 to the older tier, puts the copy in its place, frees the chunk
//   queries         read chunk 0 in either place: row numbers and bytes are the same
//
// A full chunk moves when
//
//   - all of its rows are older than the limit, by the column `time` or by their arrival; or
//   - it has bytes in a recent tier that is filled to 75 %. The chunk that arrived first in that
//     tier moves first, whatever its age.
//
// Memory that moved is free when the queries end that may read it. A table that has much of it
// waiting, for a long query or for its end of day, does not move for the second reason: that would
// free nothing.
//
// If rows arrive faster than chunks move, and a recent tier is full, new chunks and index entries
// are allocated in the older tier at once (mem/aged_tier.h). So capture does not wait for the
// older tier while recent ones have room, and rows are refused only if both are full. Indexes, the
// values of nested columns, and tables with a key do not move.
//
// Threads: a thread of this class, at nice value 5. One mover per rdb.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/logging.h"
#include "base/time.h"
#include "rdb/rdb.h"
#include "table/table.h"

namespace tickstack::rdb {

class RowMover {
 public:
  // `rdb`, whose placement must have an age rule, and `clock` must outlive this.
  RowMover(Rdb* rdb, const Clock* clock);
  ~RowMover();

  // Starts the thread, which looks for old rows ten times per second.
  void Start();
  // Moves everything that is due, and returns the bytes that this freed, or will free when running
  // queries end. Only for the thread, and for tests that have none.
  size_t MoveDue();

 private:
  // A table's chunks from `begin` on, and when the mover first saw each of them full.
  struct Known {
    std::weak_ptr<const Table> table;
    size_t begin = 0;
    std::deque<int64_t> full_since_ns;  // Monotonic; the first is that of chunk `begin`.
  };
  struct Due {
    std::shared_ptr<const Table> table;
    Table::AgedChunk chunk;
    int64_t full_since_ns;
  };
  using Tables = std::vector<std::shared_ptr<const Table>>;

  void Run();
  Tables LookAtTables();
  void Forget(const Table& table, Known& known);
  bool IsOld(const Due& due) const;
  // Each returns the chunk that arrived first among those that are due for one of the two reasons.
  std::optional<Due> FindOld(const Tables& tables) const;
  std::optional<Due> FindInCrowdedTier(const Tables& tables) const;
  bool Stopping() const { return stopping_.load(std::memory_order_relaxed); }

  Rdb* const rdb_;
  const Clock* const clock_;
  const int64_t older_than_ns_;
  std::map<const Table*, Known> known_;  // Used by MoveDue only, as the following ones.
  int64_t retry_ns_ = INT64_MIN;         // No attempt before this time, monotonic.
  LogLimit full_limit_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<bool> stopping_ = false;  // Set under mutex_; guards no other data.
  std::thread thread_;
};

}  // namespace tickstack::rdb
