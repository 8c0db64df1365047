#include "rdb/tier_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace tickstack::rdb {
namespace {

TEST(TierWatch, NamesATierFrom80PercentUntilItFallsBelow75) {
  constexpr size_t kBlock = size_t{2} << 20;
  const std::unique_ptr<mem::Tier> tier = mem::MakeDramTier("small", 10 * kBlock);
  const std::unique_ptr<mem::Tier> unbounded = mem::MakeDramTier("dram");
  TierWatch watch({tier.get(), unbounded.get()});
  std::vector<std::byte*> blocks;
  const auto fill_to = [&](size_t count) {
    for (; blocks.size() < count; blocks.push_back(*tier->Allocate(kBlock))) {
    }
    for (; blocks.size() > count; blocks.pop_back()) tier->Free(blocks.back(), kBlock);
  };
  fill_to(7);
  EXPECT_THAT(watch.Poll(), testing::IsEmpty());
  fill_to(8);
  EXPECT_THAT(watch.Poll(), testing::ElementsAre("small"));
  EXPECT_THAT(watch.Poll(), testing::ElementsAre("small"));
  fill_to(7);
  EXPECT_THAT(watch.Poll(), testing::IsEmpty());
  fill_to(0);
}

}  // namespace
}  // namespace tickstack::rdb
