// Goal: the bounds of a chunk hold for its rows, and are tight if times were recorded from the
// chunk's first row on.

#include "table/chunk_times.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "table/types.h"

namespace tickstack {
namespace {

void NoteAll(ChunkTimes& chunk_times, const ChunkLayout& layout, size_t begin_row,
             std::span<const int64_t> time_ns, std::mt19937_64& rng) {
  for (size_t row = begin_row; row < begin_row + time_ns.size();) {
    const size_t batch_end = std::min(begin_row + time_ns.size(), row + 1 + rng() % 90);
    EachPart(layout, row, batch_end, [&](size_t part, size_t end) {
      chunk_times.Note(layout, part, time_ns.subspan(part - begin_row, end - part));
    });
    row = batch_end;
  }
}

TEST(ChunkTimes, AreThoseOfTheChunksRows) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    const ChunkLayout layout(64);
    std::vector<int64_t> time_ns(1 + rng() % 400);
    for (size_t i = 0; i < time_ns.size(); ++i) {
      time_ns[i] = static_cast<int64_t>(i / 3);
      if (rng() % 100 == 0) time_ns[i] -= static_cast<int64_t>(rng() % 5);
      if (rng() % 200 == 0) time_ns[i] = kNullLong;
    }
    ChunkTimes chunk_times;
    NoteAll(chunk_times, layout, 0, time_ns, rng);
    for (size_t chunk = 0; chunk < layout.Chunks(time_ns.size()); ++chunk) {
      const size_t begin = layout.BeginRow(chunk);
      const std::span<const int64_t> rows =
          std::span(time_ns).subspan(begin, std::min(layout.Rows(chunk), time_ns.size() - begin));
      const TimeBounds bounds = chunk_times.Of(chunk);
      EXPECT_EQ(bounds.min_ns, *std::ranges::min_element(rows));
      EXPECT_EQ(bounds.max_ns, *std::ranges::max_element(rows));
      EXPECT_EQ(bounds.ascends, std::ranges::is_sorted(rows));
    }
  }
}

TEST(ChunkTimes, ClaimNothingOfChunksWhoseBeginWasNotNoted) {
  const ChunkLayout layout(64);
  ChunkTimes chunk_times;
  chunk_times.Skip(2);
  std::vector<int64_t> time_ns(64, 5);
  chunk_times.Note(layout, 100, std::span(time_ns).first(28));
  chunk_times.Note(layout, 128, time_ns);
  for (const size_t chunk : {0u, 1u}) {
    const TimeBounds bounds = chunk_times.Of(chunk);
    EXPECT_EQ(bounds.min_ns, INT64_MIN);
    EXPECT_EQ(bounds.max_ns, INT64_MAX);
    EXPECT_FALSE(bounds.ascends);
  }
  EXPECT_EQ(chunk_times.Of(2).min_ns, 5);
  EXPECT_TRUE(chunk_times.Of(2).ascends);
}

}  // namespace
}  // namespace tickstack
