#include "query/columns/name_copy.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/worker_pool.h"
#include "query/columns/elements.h"

namespace tickstack::query {
namespace {

std::string NameOf(size_t bytes, std::mt19937_64& rng) {
  std::string name;
  while (name.size() < bytes) name.push_back(static_cast<char>('!' + rng() % 90));
  return name;
}

// Goal: a copy has the names of its numbers, to the byte. Method: names of 0 to 40 bytes, around
// the length that is copied at once, in one part and in several, compared with appending each name.
TEST(NumberedNames, CopyAgreesWithAppendingEachName) {
  WorkerPool pool(2);
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    Limits limits;
    if (seed % 2 == 0) limits.workers = &pool;
    Budget budget(limits);
    const size_t longest = seed % 3 == 0 ? 40 : 17;
    SymbolVector names;
    NumberedNames numbered;
    std::vector<std::string> texts;
    for (size_t i = 0; i < 1 + rng() % 50; ++i) texts.push_back(NameOf(rng() % longest, rng));
    for (const std::string& text : texts) numbered.Add(text), names.push_back(text);

    std::vector<uint32_t> numbers(seed % 4 == 0 ? 150'000 + rng() % 1000 : rng() % 200);
    SymbolVector expected;
    for (uint32_t& number : numbers) {
      number = static_cast<uint32_t>(rng() % texts.size());
      expected.push_back(texts[number]);
    }
    const absl::StatusOr<Value> copied = numbered.Copy(numbers, budget);
    ASSERT_TRUE(copied.ok()) << copied.status();
    ASSERT_EQ(copied->count(), numbers.size());
    EXPECT_TRUE(copied->symbols() == expected);
    for (size_t i = 0; i < numbers.size(); i += 1 + numbers.size() / 100) {
      EXPECT_EQ(copied->symbols()[i], texts[numbers[i]]);
    }
    const absl::StatusOr<Value> taken = CopyNames(Value::Symbols(names), numbers, budget);
    ASSERT_TRUE(taken.ok()) << taken.status();
    EXPECT_TRUE(taken->symbols() == expected);
  }
}

TEST(CopyNames, HasTheEmptyNameWhereThereIsNoItem) {
  const Limits limits;
  Budget budget(limits);
  const Value names = Value::Symbols({"a", "bc"});
  const std::vector<uint32_t> positions = {1, kNoItem, 0, 0, 1, kNoItem};
  const absl::StatusOr<Value> copied = CopyNames(names, positions, budget);
  ASSERT_TRUE(copied.ok()) << copied.status();
  EXPECT_EQ(*copied, Value::Symbols({"bc", "", "a", "a", "bc", ""}));
}

TEST(NumberedNames, ChargesForWhatItCopies) {
  Limits limits;
  limits.max_result_bytes = 10'000;
  NumberedNames names;
  names.Add("IBM");
  Budget enough(limits), short_of_it(limits);
  EXPECT_TRUE(names.Copy(std::vector<uint32_t>(500), enough).ok());
  EXPECT_FALSE(names.Copy(std::vector<uint32_t>(1'000), short_of_it).ok());
}

}  // namespace
}  // namespace tickstack::query
