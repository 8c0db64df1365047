#include "loadtest/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status.h"

namespace tickstack::loadtest {
namespace {

using testing::HasSubstr;
using Kind = Placement::Kind;

Placement Parsed(std::string_view text) {
  const absl::StatusOr<Placement> placement = ParsePlacement(text);
  EXPECT_TRUE(placement.ok()) << placement.status();
  return placement.value_or(Placement());
}

TEST(Placement, IsAKindAPathAndACount) {
  EXPECT_EQ(Parsed("dram").kind, Kind::kDram);
  EXPECT_EQ(Parsed("dram").rdbs, 1);
  EXPECT_EQ(Parsed("dram:2").rdbs, 2);
  const Placement files = Parsed("filesystem:/mnt/a:b:10");
  EXPECT_EQ(files.kind, Kind::kFilesystem);
  EXPECT_EQ(files.path, "/mnt/a:b");
  EXPECT_EQ(files.rdbs, 10);
  EXPECT_EQ(Parsed("pmem:/mnt/pmem0").kind, Kind::kFilesystem);
  EXPECT_EQ(Parsed("persistent:/mnt/x").path, "/mnt/x");
  EXPECT_EQ(Parsed("numa:1").node, 1);
  EXPECT_EQ(Parsed("numa:1").rdbs, 1);
  EXPECT_EQ(Parsed("numa:1:3").rdbs, 3);
  EXPECT_EQ(Parsed("hybrid:examples/hybrid.toml:2").path, "examples/hybrid.toml");
  EXPECT_EQ(Parsed("mine.toml").kind, Kind::kFile);
}

TEST(Placement, SaysWhatItExpected) {
  for (const std::string_view text : {"dram:x", "dram:0", "dram:101", "numa", "numa:x", "numa:-1",
                                      "filesystem", "filesystem:", "simulate:optane:/x", "", "x"}) {
    EXPECT_THAT(Message(ParsePlacement(text).status()), HasSubstr("expected")) << text;
  }
}

TEST(Placement, StacksAreNumberedByKind) {
  const std::vector<StackSpec> stacks =
      NameStacks({Parsed("dram"), Parsed("pmem:/x"), Parsed("dram:2"), Parsed("filesystem:/y")});
  ASSERT_EQ(stacks.size(), 4u);
  EXPECT_EQ(stacks[0].name, "dram-1");
  EXPECT_EQ(stacks[1].name, "filesystem-1");
  EXPECT_EQ(stacks[2].name, "dram-2");
  EXPECT_EQ(stacks[3].name, "filesystem-2");
}

}  // namespace
}  // namespace tickstack::loadtest
