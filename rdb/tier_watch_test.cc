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

TEST(TierWatch, NamesAnOverflowThatIsNearlyFull) {
  constexpr size_t kBlock = size_t{2} << 20;
  mem::TierOptions options{.name = "small", .kind = mem::TierKind::kFilesystem, .path = "/dev/shm"};
  options.capacity_bytes = 8 * kBlock;
  options.overflow_bytes = 5 * kBlock;
  const std::unique_ptr<mem::Tier> tier = *mem::OpenTier(options);
  TierWatch watch({tier.get()});
  std::vector<std::byte*> blocks;
  const auto fill_to = [&](size_t count) {
    while (blocks.size() < count) blocks.push_back(*tier->Allocate(kBlock));
  };
  testing::internal::CaptureStderr();
  fill_to(9);
  EXPECT_THAT(watch.Poll(), testing::ElementsAre("small"));
  fill_to(12);
  EXPECT_THAT(watch.Poll(), testing::ElementsAre("small", "small.overflow"));
  EXPECT_THAT(watch.Poll(), testing::ElementsAre("small", "small.overflow"));
  const std::string log = testing::internal::GetCapturedStderr();
  const std::string warning =
      "tier is full, new rows go to DRAM tier=small overflow_used_bytes=2097152 "
      "overflow_capacity_bytes=10485760";
  EXPECT_THAT(log, testing::HasSubstr(warning));
  EXPECT_EQ(log.find(warning), log.rfind("tier is full")) << "once: " << log;
  for (std::byte* block : blocks) tier->Free(block, kBlock);
  EXPECT_THAT(watch.Poll(), testing::IsEmpty());
}

}  // namespace
}  // namespace tickstack::rdb
