#include "measure/storage_bench/sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status.h"

namespace tickstack::measure::storage_bench {
namespace {

constexpr uint64_t kMuchMemory = uint64_t{1} << 44;

TEST(StorageBenchSizes, AreNanosAtFullSize) {
  const Sizes sizes = SizesFor(1, 1, kMuchMemory);
  EXPECT_EQ(sizes.tiny, 2047u);
  EXPECT_EQ(sizes.small, 64'512u);
  EXPECT_EQ(sizes.medium, 520'192u);
  EXPECT_EQ(sizes.large, 32'505'856u);
  EXPECT_EQ(sizes.huge, 1'073'741'824u);
  EXPECT_EQ(sizes.random_read_items, 100'000'000u);
  EXPECT_NEAR(static_cast<double>(sizes.random_file_items * sizes.random_files), 4e9, 1e6);
  EXPECT_NEAR(static_cast<double>(sizes.table_rows), 250e6 + 31 * 1024 * 1024, 33e6);
}

TEST(StorageBenchSizes, MoreProcessesWriteLessEach) {
  const Sizes one = SizesFor(1, 1, kMuchMemory), four = SizesFor(1, 4, kMuchMemory);
  EXPECT_EQ(four.decay, 3u);
  EXPECT_NEAR(static_cast<double>(one.random_file_items),
              3.0 * static_cast<double>(four.random_file_items), 3.0 * 64'512);
}

TEST(StorageBenchSizes, HugeVectorsTakeAQuarterOfMemory) {
  constexpr uint64_t kMemory = uint64_t{8} << 30;
  for (const size_t processes : {1U, 2U, 16U}) {
    EXPECT_EQ(SizesFor(1, processes, kMemory).huge * kItemBytes * processes, kMemory / 4);
  }
}

// Files must have room for the largest block of the random reads, whatever the factor is.
TEST(StorageBenchSizes, TheSmallestDataHasABlockInEachFile) {
  const Sizes sizes = SizesFor(0.0001, 1024, kMuchMemory);
  EXPECT_GE(sizes.random_file_items * kItemBytes, 2'000'000u);
  EXPECT_GT(sizes.table_rows, sizes.large);
  EXPECT_EQ(sizes.random_file_items % sizes.small, 0u);
  EXPECT_LT(sizes.DiskBytes(), uint64_t{64} << 20);
}

TEST(StorageBenchSizes, NamesAreNanos) {
  EXPECT_EQ(*ParseSize("full"), 1);
  EXPECT_EQ(*ParseSize("double"), 2);
  EXPECT_EQ(*ParseSize("small"), 0.2);
  EXPECT_EQ(*ParseSize("tiny"), 0.05);
  EXPECT_EQ(*ParseSize("0.01"), 0.01);
  for (const char* text : {"", "huge", "0", "-1", "1e9", "nan", "0.1x"}) {
    const absl::StatusOr<double> size = ParseSize(text);
    ASSERT_TRUE(absl::IsInvalidArgument(size.status())) << text;
    EXPECT_THAT(std::string(Message(size.status())),
                testing::HasSubstr("expected full, double, small, tiny"));
  }
}

}  // namespace
}  // namespace tickstack::measure::storage_bench
