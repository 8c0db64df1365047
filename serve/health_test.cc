#include "serve/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tickstack::serve {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Reasons Checked(absl::StatusOr<DiskSpace> space, HealthLimits limits = {}, bool must = true) {
  Reasons reasons;
  CheckDisk({"log", "/data/tplog", must}, space, limits, reasons);
  return reasons;
}

TEST(CheckDisk, ATenthMustBeFreeByDefault) {
  EXPECT_THAT(Checked(DiskSpace{100 << 20, 1000 << 20}), IsEmpty());
  EXPECT_THAT(Checked(DiskSpace{99 << 20, 1000 << 20}),
              ElementsAre("disk log: 99.0 MiB of 0.977 GiB are free at /data/tplog, expected 100 "
                          "MiB"));
}

TEST(CheckDisk, ALimitInBytesReplacesTheTenth) {
  const HealthLimits limits{.disk_free_bytes = 10 << 20};
  EXPECT_THAT(Checked(DiskSpace{10 << 20, 1000 << 20}, limits), IsEmpty());
  EXPECT_EQ(Checked(DiskSpace{9 << 20, 1000 << 20}, limits).size(), 1u);
}

TEST(CheckDisk, ADiskThatCannotBeAskedIsAReason) {
  EXPECT_THAT(Checked(absl::UnavailableError("/data/tplog: no such device")),
              ElementsAre("disk log: /data/tplog: no such device"));
  EXPECT_THAT(Checked(DiskSpace{0, 1000 << 20}, {}, false), IsEmpty());
}

TEST(SpaceOf, TakesTheNearestDirectoryThatExists) {
  const absl::StatusOr<DiskSpace> root = SpaceOf("/");
  ASSERT_TRUE(root.ok());
  EXPECT_GT(root->total_bytes, 0u);
  EXPECT_LE(root->free_bytes, root->total_bytes);
  EXPECT_EQ(SpaceOf("/no/such/directory")->total_bytes, root->total_bytes);
  EXPECT_TRUE(SpaceOf("not-there").ok());
  EXPECT_FALSE(SpaceOf("/proc/self/stat/x").ok()) << "a parent is a file";
}

}  // namespace
}  // namespace tickstack::serve
