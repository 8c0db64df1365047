#pragma once

// The smallest and largest time in each chunk of a table, and whether the times ascend. The times
// of a feed nearly ascend, so a condition on time reads only the few chunks that contain its
// bounds.
//
// The writer records a batch's times before it publishes the batch. The bounds that a reader gets
// therefore cover all rows of its snapshot, and perhaps later rows: the range may be wider than
// necessary, and `ascends` may be false because of a later row, but it is never true for rows that
// do not ascend.
//
// Threads: one writer calls Skip and Note. Any thread may call Of for a chunk in which its snapshot
// has rows.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "table/chunk_layout.h"
#include "table/stable_array.h"

namespace tickstack {

struct TimeBounds {
  int64_t min_ns;
  int64_t max_ns;
  bool ascends;  // True if each time is at or after the one before it.
};

class ChunkTimes {
 public:
  // Marks the first `chunks` chunks as not recorded.
  void Skip(size_t chunks) { chunks_.Reserve(chunks); }

  // Records the times of rows [row, row + times.size()), which are in one chunk and follow the rows
  // recorded before.
  void Note(const ChunkLayout& layout, size_t row, std::span<const int64_t> time_ns) {
    if (time_ns.empty()) return;
    const size_t number = layout.NumberOf(row);
    chunks_.Reserve(number + 1);
    Chunk& chunk = chunks_[number];
    int64_t min = time_ns[0], max = time_ns[0];
    // A chunk whose first rows were not recorded has no bounds, now or later.
    bool descends = row != layout.BeginRow(number) && time_ns[0] < chunk.last_ns;
    for (size_t i = 1; i < time_ns.size(); ++i) {
      min = std::min(min, time_ns[i]);
      max = std::max(max, time_ns[i]);
      descends |= time_ns[i] < time_ns[i - 1];
    }
    chunk.last_ns = time_ns.back();
    if (row == layout.BeginRow(number)) {
      chunk.min_ns.store(min, std::memory_order_relaxed);
      chunk.max_ns.store(max, std::memory_order_relaxed);
      chunk.known.store(true, std::memory_order_relaxed);
    } else {
      Widen(chunk, min, max);
    }
    if (descends) chunk.descends.store(true, std::memory_order_relaxed);
  }

  // Returns the bounds of a chunk's times. If its first rows were not recorded, these are the
  // bounds of all possible times, which do not ascend.
  TimeBounds Of(size_t number) const {
    const Chunk& chunk = chunks_[number];
    if (!chunk.known.load(std::memory_order_relaxed)) return {INT64_MIN, INT64_MAX, false};
    return {chunk.min_ns.load(std::memory_order_relaxed),
            chunk.max_ns.load(std::memory_order_relaxed),
            !chunk.descends.load(std::memory_order_relaxed)};
  }

 private:
  // All accesses are relaxed: the table's row count, stored with release after Note and loaded with
  // acquire before Of, orders them.
  struct Chunk {
    std::atomic<int64_t> min_ns = 0;
    std::atomic<int64_t> max_ns = 0;
    std::atomic<bool> known = false;
    std::atomic<bool> descends = false;
    int64_t last_ns = 0;  // Used by the writer only.
  };

  static void Widen(Chunk& chunk, int64_t min, int64_t max) {
    if (min < chunk.min_ns.load(std::memory_order_relaxed)) {
      chunk.min_ns.store(min, std::memory_order_relaxed);
    }
    if (max > chunk.max_ns.load(std::memory_order_relaxed)) {
      chunk.max_ns.store(max, std::memory_order_relaxed);
    }
  }

  StableArray<Chunk> chunks_;
};

}  // namespace tickstack
