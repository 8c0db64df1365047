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
  const Placement slow = Parsed("simulate:optane-dc:/mnt/a:3");
  EXPECT_EQ(slow.kind, Kind::kSimulate);
  EXPECT_EQ(slow.model, "optane-dc");
  EXPECT_EQ(slow.path, "/mnt/a");
  EXPECT_EQ(slow.rdbs, 3);
  EXPECT_EQ(Parsed("simulate:cxl-slow:/mnt/a:b").path, "/mnt/a:b");
  EXPECT_EQ(Parsed("hybrid:examples/hybrid.toml:2").path, "examples/hybrid.toml");
  EXPECT_EQ(Parsed("mine.toml").kind, Kind::kFile);
}

TEST(Placement, SaysWhatItExpected) {
  for (const std::string_view text : {"dram:x", "dram:0", "dram:101", "numa", "numa:x", "numa:-1",
                                      "filesystem", "filesystem:", "simulate", "simulate:cxl",
                                      "simulate:cxl:", "simulate:optane:/x", "", "x"}) {
    EXPECT_THAT(Message(ParsePlacement(text).status()), HasSubstr("expected")) << text;
  }
  EXPECT_EQ(Message(ParsePlacement("simulate:optane:/x").status()),
            "stack simulate:optane:/x: expected one of the models optane-dc, cxl, cxl-fast, "
            "cxl-slow, found \"optane\"");
}

TEST(Placement, StacksAreNumberedByKind) {
  const std::vector<StackSpec> stacks = NameStacks(
      {Parsed("dram"), Parsed("pmem:/x"), Parsed("dram:2"), Parsed("filesystem:/y"),
       Parsed("simulate:cxl:/x"), Parsed("simulate:optane-dc:/x"), Parsed("simulate:cxl:/x")});
  ASSERT_EQ(stacks.size(), 7u);
  EXPECT_EQ(stacks[0].name, "dram-1");
  EXPECT_EQ(stacks[1].name, "filesystem-1");
  EXPECT_EQ(stacks[2].name, "dram-2");
  EXPECT_EQ(stacks[3].name, "filesystem-2");
  EXPECT_EQ(stacks[4].name, "sim-cxl-1");
  EXPECT_EQ(stacks[5].name, "sim-optane-dc-1");
  EXPECT_EQ(stacks[6].name, "sim-cxl-2");
}

}  // namespace
}  // namespace tickstack::loadtest
