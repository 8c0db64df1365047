#include "base/duration_buckets.h"

#include <gtest/gtest.h>

#include <numeric>

namespace tickstack {
namespace {

size_t OnlyBucketOf(int64_t ns) {
  DurationBuckets durations;
  durations.Record(ns);
  const DurationBuckets::Counts counts = durations.Read();
  EXPECT_EQ(std::accumulate(counts.of_bucket.begin(), counts.of_bucket.end(), uint64_t{0}), 1u);
  size_t bucket = 0;
  while (counts.of_bucket[bucket] == 0) ++bucket;
  return bucket;
}

TEST(DurationBuckets, ABoundBelongsToItsBucketAndTheNextValueToTheNext) {
  for (size_t i = 0; i < DurationBuckets::kBounded; ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(OnlyBucketOf(DurationBuckets::UpperNs(i)), i);
    EXPECT_EQ(OnlyBucketOf(DurationBuckets::UpperNs(i) + 1), i + 1);
  }
  EXPECT_EQ(DurationBuckets::UpperNs(0), 1024);
  EXPECT_EQ(DurationBuckets::UpperNs(DurationBuckets::kBounded - 1), int64_t{1} << 36);
}

TEST(DurationBuckets, ExtremesAreInTheFirstAndInTheLast) {
  for (const int64_t least : {INT64_MIN, int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{2}}) {
    EXPECT_EQ(OnlyBucketOf(least), 0u) << least;
  }
  EXPECT_EQ(OnlyBucketOf(INT64_MAX), DurationBuckets::kBounded);
}

TEST(DurationBuckets, TheSumIsThatOfTheDurations) {
  DurationBuckets durations;
  for (const int64_t ns : {int64_t{5}, int64_t{-7}, int64_t{2'000'000}}) durations.Record(ns);
  EXPECT_EQ(durations.Read().sum_ns, 2'000'005u);
}

}  // namespace
}  // namespace tickstack
