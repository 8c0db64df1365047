#include "table/chunk_layout.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace tickstack {
namespace {

// Returns the sizes of the first chunks, written out as the header's drawing shows them.
std::vector<size_t> RowsByDefinition(size_t rows_per_chunk, size_t chunks) {
  std::vector<size_t> rows;
  size_t before = 0;
  for (size_t chunk = 0; chunk < chunks; ++chunk) {
    size_t of_chunk = before == 0 ? 1024 : before;
    if (of_chunk > rows_per_chunk) of_chunk = rows_per_chunk;
    rows.push_back(of_chunk);
    before += of_chunk;
  }
  return rows;
}

TEST(ChunkLayout, ChunksDoubleUntilTheyAreFull) {
  const ChunkLayout layout(size_t{1} << 18);
  const std::vector<size_t> rows = {1024,  1024,  2048,   4096,   8192,  16384,
                                    32768, 65536, 131072, 262144, 262144};
  for (size_t chunk = 0; chunk < rows.size(); ++chunk) EXPECT_EQ(layout.Rows(chunk), rows[chunk]);
}

TEST(ChunkLayout, ChunksOfFewRowsHaveOneSize) {
  for (const size_t rows_per_chunk : {64u, 512u, 1024u}) {
    const ChunkLayout layout(rows_per_chunk);
    for (size_t chunk = 0; chunk < 100; ++chunk) {
      ASSERT_EQ(layout.Rows(chunk), rows_per_chunk);
      ASSERT_EQ(layout.BeginRow(chunk), chunk * rows_per_chunk);
    }
  }
}

// Goal: the arithmetic agrees with the drawing in the header. Method: every size of full chunks
// that a table may have, and every row around every border of the first chunks.
TEST(ChunkLayout, EveryRowIsInTheChunkThatCoversIt) {
  for (size_t shift = 6; shift <= 24; ++shift) {
    SCOPED_TRACE(shift);
    const ChunkLayout layout(size_t{1} << shift);
    const std::vector<size_t> rows = RowsByDefinition(size_t{1} << shift, 60);
    size_t begin = 0;
    for (size_t chunk = 0; chunk < rows.size(); ++chunk) {
      const size_t end = begin + rows[chunk];
      ASSERT_EQ(layout.BeginRow(chunk), begin);
      ASSERT_EQ(layout.Rows(chunk), rows[chunk]);
      for (const size_t row : {begin, begin + 1, begin + rows[chunk] / 2, end - 2, end - 1}) {
        const ChunkLayout::Chunk of_row = layout.ChunkOf(row);
        ASSERT_EQ(of_row.number, chunk) << row;
        ASSERT_EQ(of_row.begin_row, begin) << row;
        ASSERT_EQ(of_row.end_row, end) << row;
        ASSERT_EQ(layout.Chunks(row + 1), chunk + 1) << row;
      }
      begin = end;
    }
  }
  EXPECT_EQ(ChunkLayout(64).Chunks(0), 0u);
}

TEST(ChunkLayout, OneChunkHoldsEveryRow) {
  constexpr ChunkLayout kOne = ChunkLayout::OneChunk();
  for (const size_t row : {size_t{0}, size_t{1} << 32, size_t{INT64_MAX}}) {
    const ChunkLayout::Chunk chunk = kOne.ChunkOf(row);
    EXPECT_EQ(chunk.number, 0u);
    EXPECT_EQ(chunk.begin_row, 0u);
    EXPECT_GT(chunk.end_row, row);
  }
}

// Goal: the parts of a range add up to the range and never cross a border. Method: random ranges,
// row by row.
TEST(ChunkLayout, PartsCoverARangeOnceAndNeverCrossABorder) {
  std::mt19937_64 rng(1);
  for (int round = 0; round < 2000; ++round) {
    const ChunkLayout layout(size_t{64} << rng() % 8);
    const size_t begin = rng() % 20'000, end = begin + rng() % 20'000;
    size_t next = begin;
    EachPart(layout, begin, end, [&](size_t first, size_t last) {
      ASSERT_EQ(first, next);
      ASSERT_LT(first, last);
      ASSERT_EQ(layout.NumberOf(first), layout.NumberOf(last - 1));
      ASSERT_TRUE(last == end || layout.NumberOf(last) != layout.NumberOf(first)) << "cut early";
      next = last;
    });
    ASSERT_EQ(next, end);
  }
}

TEST(ChunkLayout, ChunksOfAnySizesAreLookedUp) {
  const std::vector<size_t> begins = {0, 1, 5, 5'000'000'000, 5'000'000'007};
  const ChunkLayout layout = ChunkLayout::OfBegins(begins);
  for (size_t chunk = 0; chunk + 1 < begins.size(); ++chunk) {
    SCOPED_TRACE(chunk);
    EXPECT_EQ(layout.BeginRow(chunk), begins[chunk]);
    EXPECT_EQ(layout.Rows(chunk), begins[chunk + 1] - begins[chunk]);
    for (const size_t row : {begins[chunk], begins[chunk + 1] - 1}) {
      const ChunkLayout::Chunk of_row = layout.ChunkOf(row);
      EXPECT_EQ(of_row.number, chunk);
      EXPECT_EQ(of_row.begin_row, begins[chunk]);
      EXPECT_EQ(of_row.end_row, begins[chunk + 1]);
      EXPECT_EQ(layout.Chunks(row + 1), chunk + 1);
    }
  }
  EXPECT_EQ(layout.Chunks(0), 0u);
}

}  // namespace
}  // namespace tickstack
