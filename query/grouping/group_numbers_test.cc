// Goal: groups are the distinct tuples of keys, ascending, and each row is in its own. Method:
// columns long enough to be cut into parts, whose items form one run each, several runs each, or
// none; on one thread and on three.

#include "query/grouping/group_numbers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "base/worker_pool.h"

namespace tickstack::query {
namespace {

constexpr size_t kRows = 600'000;

using Ints = std::vector<int32_t>;

template <typename F>
Ints Column(F item) {
  Ints items(kRows);
  for (size_t row = 0; row < kRows; ++row) items[row] = static_cast<int32_t>(item(row));
  return items;
}

Value VectorOf(const Ints& items) { return Value::Vector(Type::kInt, std::span(items)); }

void ExpectGroups(const Ints& a, const Ints& b, WorkerPool* workers) {
  Limits limits;
  limits.workers = workers;
  Budget budget(limits);
  const std::vector<KeyColumn> keys = {{Slice::Of(VectorOf(a))}, {Slice::Of(VectorOf(b))}};
  const absl::StatusOr<NumberedKeys> numbered = NumberGroups(keys, budget);
  ASSERT_TRUE(numbered.ok()) << numbered.status();

  std::vector<std::pair<int32_t, int32_t>> groups(a.size());
  for (size_t row = 0; row < a.size(); ++row) groups[row] = {a[row], b[row]};
  std::ranges::sort(groups);
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  const GroupNumbers& numbers = numbered->numbers;
  ASSERT_EQ(numbers.order.size(), groups.size());
  std::vector<size_t> group_of(numbers.slots, groups.size());  // By group number.
  for (size_t group = 0; group < groups.size(); ++group) {
    ASSERT_EQ(numbered->keys[0].span<int32_t>()[group], groups[group].first) << group;
    ASSERT_EQ(numbered->keys[1].span<int32_t>()[group], groups[group].second) << group;
    ASSERT_LT(numbers.order[group], numbers.slots);
    group_of[numbers.order[group]] = group;
  }
  ASSERT_EQ(numbers.of_row.size(), a.size());
  for (size_t row = 0; row < a.size(); ++row) {
    ASSERT_LT(numbers.of_row[row], numbers.slots);
    const size_t group = group_of[numbers.of_row[row]];
    ASSERT_LT(group, groups.size());
    ASSERT_TRUE(groups[group].first == a[row] && groups[group].second == b[row]) << row;
  }
}

TEST(NumberGroups, AgreesWithTheDefinitionForEveryKindOfRuns) {
  std::mt19937_64 rng(1);
  const Ints once = Column([](size_t row) { return row / 9'000; });
  const Ints coarse = Column([](size_t row) { return row / 400'000; });
  const Ints descending = Column([](size_t row) { return -static_cast<int64_t>(row / 70'000); });
  const Ints again = Column([](size_t row) { return row / 50'000 % 3; });
  const Ints scattered = Column([&rng](size_t) { return rng() % 500; });
  const Ints sparse = Column([&rng](size_t) { return rng() % 1'000'000; });
  const std::pair<const Ints*, const Ints*> pairs[] = {
      {&once, &scattered},  {&scattered, &once},      {&coarse, &scattered},
      {&descending, &once}, {&again, &scattered},     {&once, &again},
      {&again, &once},      {&scattered, &scattered}, {&scattered, &descending},
      {&once, &sparse},     {&sparse, &scattered},    {&once, &once},
  };
  WorkerPool pool(2);
  for (size_t i = 0; i < std::size(pairs); ++i) {
    SCOPED_TRACE(i);
    ExpectGroups(*pairs[i].first, *pairs[i].second, nullptr);
    ExpectGroups(*pairs[i].first, *pairs[i].second, &pool);
  }
}

}  // namespace
}  // namespace tickstack::query
