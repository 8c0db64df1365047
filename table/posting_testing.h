#pragma once

// Helpers for tests of searches in postings: a run of postings with given times, and times that are
// hard for coarse clocks.

#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "base/check.h"
#include "mem/tier.h"
#include "table/column.h"
#include "table/symbol_index.h"

namespace tickstack {

inline void WriteTimes(Column& column, std::span<const int64_t> time_ns, size_t begin_row) {
  const ColumnView view{column.type(), Attribute::kNone, time_ns.size(), std::as_bytes(time_ns)};
  TS_CHECK(column.Reserve(view, begin_row).ok());
  column.Write(view, begin_row, false);
}

// Returns up to `most` times for a clock with base `base_ns`: many in the same coarse unit, at the
// borders of units, at the end of the clock, and nulls and infinities.
inline std::vector<int64_t> TimesForTest(std::mt19937_64& rng, int64_t base_ns, size_t most) {
  std::vector<int64_t> times(rng() % (most + 1));
  const uint64_t kinds = 1 + rng() % 4;
  for (int64_t& ns : times) {
    switch (rng() % kinds) {
      case 0:  // Few distinct times, in 4 units.
        ns = base_ns + static_cast<int64_t>(rng() % 64 << 11);
        break;
      case 1:  // A border of units, the first included.
        ns = base_ns + static_cast<int64_t>(rng() % 4 << 15) + static_cast<int64_t>(rng() % 3) - 1;
        break;
      case 2:  // The last unit, or later.
        ns = base_ns + (int64_t{UINT32_MAX} << 15) + static_cast<int64_t>(rng() % 8 << 13) - 16'384;
        break;
      default: {
        const int64_t extremes[] = {kNullLong, -kInfinityLong, kInfinityLong, 0, base_ns - 1};
        ns = extremes[rng() % 5];
      }
    }
  }
  return times;
}

// A run of postings with these times, at rows 2, 5, 8 ... of a column.
class PostingsForTest {
 public:
  PostingsForTest(const std::vector<int64_t>& time_ns, int64_t base_ns)
      : times_(&column_, base_ns) {
    std::vector<int64_t> in_rows(3 * time_ns.size(), kNullLong);
    for (size_t i = 0; i < time_ns.size(); ++i) {
      rows_.push_back(static_cast<uint32_t>(3 * i + 2));
      in_rows[rows_.back()] = time_ns[i];
      coarse_.push_back(times_.CoarseOf(time_ns[i]));
    }
    WriteTimes(column_, in_rows, 0);
  }
  PostingRun run() const { return {rows_, coarse_}; }
  const PostingTimes& times() const { return times_; }

 private:
  std::unique_ptr<mem::Tier> tier_ = mem::MakeDramTier("postings");
  Column column_{Type::kTimestamp, ChunkLayout(64), tier_.get()};
  PostingTimes times_;
  std::vector<uint32_t> rows_, coarse_;
};

}  // namespace tickstack
