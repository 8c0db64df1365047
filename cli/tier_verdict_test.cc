#include "cli/tier_verdict.h"

#include <gtest/gtest.h>

namespace tickstack::cli {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

mem::TierOptions Files(size_t capacity_bytes, size_t overflow_bytes = 0) {
  mem::TierOptions options{.name = "pmem", .kind = mem::TierKind::kFilesystem, .path = "/mnt"};
  options.capacity_bytes = capacity_bytes;
  options.overflow_bytes = overflow_bytes;
  return options;
}

std::string TextFor(const mem::TierOptions& options, size_t row_bytes) {
  return TextOf(JudgeTier(options, row_bytes), options);
}

// A tier of 1,000 MiB has pages of 2 MiB, of which 13 may be partly unused.
TEST(TierVerdict, CountsThePartsOfPagesThatStayUnused) {
  EXPECT_EQ(JudgeTier(Files(1000 * kMiB), 774 * kMiB).needed_bytes, 800 * kMiB);
  EXPECT_EQ(JudgeTier(Files(1000 * kMiB), 774 * kMiB).fit, Fit::kFits);
  EXPECT_EQ(JudgeTier(Files(1000 * kMiB), 785 * kMiB).fit, Fit::kNearlyFull);
  EXPECT_EQ(JudgeTier(Files(1000 * kMiB), 974 * kMiB).fit, Fit::kNearlyFull);
  EXPECT_EQ(JudgeTier(Files(1000 * kMiB), 974 * kMiB + 1).fit, Fit::kTooSmall);
  EXPECT_EQ(JudgeTier(Files(16 * kMiB), 15 * kMiB).fit, Fit::kNearlyFull) << "pages of 64 KiB";
  EXPECT_EQ(JudgeTier(Files(16 * kMiB), 0).fit, Fit::kFits);
}

TEST(TierVerdict, AnOverflowTakesTheRest) {
  EXPECT_EQ(JudgeTier(Files(1000 * kMiB, 100 * kMiB), 1074 * kMiB).fit, Fit::kOverflows);
  EXPECT_EQ(JudgeTier(Files(1000 * kMiB, 100 * kMiB), 1074 * kMiB + 1).fit, Fit::kTooSmall);
}

TEST(TierVerdict, IsASentence) {
  EXPECT_EQ(TextFor(Files(2000 * kMiB), 974 * kMiB),
            "tier pmem is large enough: the rows need 0.977 GiB of 1.95 GiB (50 %)");
  EXPECT_EQ(TextFor(Files(1000 * kMiB), 1974 * kMiB),
            "tier pmem is too small, rows will be refused: the rows need 1.95 GiB of 0.977 GiB "
            "(200 %)");
  EXPECT_EQ(TextFor(mem::TierOptions(), 10 * kMiB),
            "tier dram has no limit: the rows need 10.0 MiB");
}

}  // namespace
}  // namespace tickstack::cli
