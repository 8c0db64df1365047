// Goal: runs are where their definition has them, and grouping by runs equals grouping by rows.

#include "query/grouping/time_buckets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "query/grouping/group_numbers.h"

namespace tickstack::query {
namespace {

constexpr int64_t kBucketNs = 100;

// Returns nearly ascending times, about 40 to a bucket, of all rows or of every third.
Slice RandomTimes(size_t rows, std::mt19937_64& rng) {
  std::vector<int64_t> time_ns(rows);
  for (size_t i = 0; i < rows; ++i) {
    time_ns[i] = static_cast<int64_t>(i) * 5 / 2 + 1'000;
    if (rng() % 300 == 0) time_ns[i] -= static_cast<int64_t>(rng() % 400);
  }
  Slice slice = Slice::Of(Value::Vector(Type::kTimespan, std::span<const int64_t>(time_ns)));
  if (rng() % 2 == 0) {
    ScratchVector<uint32_t> some;
    for (uint32_t row = 0; row < rows; row += 3) some.push_back(row);
    slice.rows = std::make_shared<const RowSet>(RowSet::FromRows(std::move(some)));
  }
  return slice;
}

int64_t TimeAt(const Slice& times, size_t i) {
  return times.column.value()->span<int64_t>()[times.rows->At(i)];
}

TEST(TimeBuckets, RunsAreThoseOfTheBuckets) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    const Slice times = RandomTimes(rng() % 2'000, rng);
    Limits limits;
    Budget budget(limits);
    const absl::StatusOr<std::optional<TimeRuns>> found = FindTimeRuns(times, kBucketNs, budget);
    ASSERT_TRUE(found.ok());
    if (!found->has_value()) continue;  // There are more runs than pay.
    const TimeRuns& runs = **found;
    size_t begin = 0;
    for (size_t run = 0; run < runs.ends.size(); ++run) {
      const int64_t bucket = TimeAt(times, begin) / kBucketNs;
      ASSERT_EQ(runs.first_rows[run], times.rows->At(begin));
      ASSERT_TRUE(begin == 0 || TimeAt(times, begin - 1) / kBucketNs != bucket);
      for (; begin < runs.ends[run]; ++begin) {
        ASSERT_EQ(TimeAt(times, begin) / kBucketNs, bucket);
      }
    }
    ASSERT_EQ(begin, times.count());
  }
}

TEST(TimeBuckets, TimesThatDoNotStayAreLeftToTheRows) {
  Limits limits;
  Budget budget(limits);
  std::vector<int64_t> time_ns(1'000);
  for (size_t i = 0; i < time_ns.size(); ++i) time_ns[i] = static_cast<int64_t>(i % 2) * kBucketNs;
  const auto runs_of = [&] {
    return FindTimeRuns(
               Slice::Of(Value::Vector(Type::kTimespan, std::span<const int64_t>(time_ns))),
               kBucketNs, budget)
        ->has_value();
  };
  EXPECT_FALSE(runs_of());
  std::ranges::fill(time_ns, 7);
  EXPECT_TRUE(runs_of());
  for (const int64_t strange : {kNullLong, int64_t{-1}, kInfinityLong}) {
    time_ns[500] = strange;
    EXPECT_FALSE(runs_of()) << strange;
  }
}

TEST(TimeBuckets, GroupsByRunsAreGroupsByRows) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    // Makes runs of random length, and their keys, some of which come again.
    ScratchVector<uint32_t> ends;
    std::vector<int32_t> run_keys, row_keys, others;
    const size_t runs = 1 + rng() % 30;
    for (size_t run = 0; run < runs; ++run) {
      run_keys.push_back(static_cast<int32_t>(rng() % 12));
      row_keys.insert(row_keys.end(), 1 + rng() % 60, run_keys.back());
      ends.push_back(static_cast<uint32_t>(row_keys.size()));
    }
    for (size_t row = 0; row < row_keys.size(); ++row) {
      others.push_back(static_cast<int32_t>(rng() % 5));
    }
    const auto slice = [](const std::vector<int32_t>& items) {
      return Slice::Of(Value::Vector(Type::kMinute, std::span<const int32_t>(items)));
    };
    std::vector<KeyColumn> by_runs, by_rows;
    by_runs.push_back({slice(run_keys), ends});
    by_rows.push_back({slice(row_keys)});
    if (rng() % 2 == 0) {
      by_runs.push_back({slice(others)});
      by_rows.push_back({slice(others)});
    }
    Limits limits;
    Budget budget(limits);
    const absl::StatusOr<NumberedKeys> a = NumberGroups(by_runs, budget);
    const absl::StatusOr<NumberedKeys> b = NumberGroups(by_rows, budget);
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(a->numbers.of_row, b->numbers.of_row);
    EXPECT_EQ(a->numbers.order, b->numbers.order);
    EXPECT_EQ(a->keys, b->keys);
  }
}

}  // namespace
}  // namespace tickstack::query
