#include "disk/partition_versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"
#include "disk/partition_testing.h"
#include "disk/table_revisions.h"

namespace tickstack::disk {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

class PartitionVersionsTest : public testing::Test {
 protected:
  // Makes a directory with the content of a version.
  void Make(const std::string& name, uint64_t version) const {
    fs::create_directories(folder_ / name + "/trade");
    if (version == 0) return;
    const std::vector<TableRevision> revisions = {{version, "merge", 1, 2, {}}};
    PutFile(folder_ / name + "/trade/.revisions", EncodeRevisions(revisions));
  }
  std::vector<std::string> Entries() const {
    std::vector<std::string> names;
    for (const fs::directory_entry& each : fs::directory_iterator(folder_.path())) {
      names.push_back(
          fmt::format("{} {}", each.path().filename().string(), *VersionOf(each.path().string())));
    }
    std::ranges::sort(names);
    return names;
  }

  const TemporaryFolder folder_{TemporaryFolder::InMemory()};
  const std::string day_ = folder_ / "2024.01.29";
};

// Somebody removed the partition, and the rdb wrote it again from its log.
TEST_F(PartitionVersionsTest, AKeptVersionOfARemovedPartitionIsNotPutBack) {
  Make("2024.01.29", 0);
  Make("replaced.2024.01.29.0$", 0);
  for (const absl::Status& status : {CheckNames(day_), UndoVersion(day_, Storage()).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(Message(status)), HasSubstr("replaced.2024.01.29.0$"));
  }
  EXPECT_THAT(Entries(), ElementsAre("2024.01.29 0", "replaced.2024.01.29.0$ 0"));
  fs::remove_all(folder_ / "replaced.2024.01.29.0$");
  EXPECT_TRUE(CheckNames(day_).ok());
}

// As on a mounted file system that gives a directory another inode number later on.
TEST_F(PartitionVersionsTest, ADirectoryWithAnotherInodeIsKnownByItsNameIfNothingWasReplaced) {
  Make("2024.01.29", 0);
  const VersionId now = IdOf(day_ + "/trade");
  ASSERT_NE(now.inode, 0U);
  const VersionId renumbered{now.inode + 1'000'000, now.born_ns}, unborn{renumbered.inode, 0};
  const VersionId other{renumbered.inode, now.born_ns + 1};
  const auto found = [&](const VersionId& id) { return FindVersion(day_, "/trade", id); };
  EXPECT_EQ(found(now), day_ + "/trade");
  EXPECT_EQ(found(renumbered), day_ + "/trade");
  EXPECT_EQ(found(unborn), day_ + "/trade");
  EXPECT_EQ(found(other), now.born_ns == 0 ? day_ + "/trade" : "");
  Make("replaced.2024.01.29.0$", 0);
  EXPECT_EQ(found(now), day_ + "/trade");
  EXPECT_EQ(found(renumbered), "");
  EXPECT_EQ(found(unborn), "");
  fs::remove_all(folder_ / "replaced.2024.01.29.0$");
  fs::remove_all(day_);
  EXPECT_EQ(found(renumbered), "");
}

TEST_F(PartitionVersionsTest, AnUndoSkipsNoVersion) {
  Make("2024.01.29", 2);
  Make("replaced.2024.01.29.0$", 0);  // Somebody removed version 1.
  const absl::Status status = UndoVersion(day_, Storage()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("version 0, expected the one before"));
  EXPECT_THAT(Entries(), ElementsAre("2024.01.29 2", "replaced.2024.01.29.0$ 0"));
  Make("replaced.2024.01.29.1$", 1);
  EXPECT_EQ(UndoVersion(day_, Storage())->number, 1u);
}

TEST_F(PartitionVersionsTest, ADirectoryIsFoundUnderItsNewName) {
  Make("2024.01.29", 0);
  Make("revised.2024.01.29.1$", 1);
  const VersionId old = IdOf(day_ + "/trade");
  ASSERT_NE(old.inode, 0u);
  EXPECT_EQ(FindVersion(day_, "/trade", old), day_ + "/trade");
  const std::string replaced = *ExchangeVersion(day_, folder_ / "revised.2024.01.29.1$", Storage());
  EXPECT_EQ(FindVersion(day_, "/trade", old), replaced + "/trade");
  EXPECT_EQ(FindVersion(replaced, "/trade", IdOf(day_ + "/trade")), day_ + "/trade");
  // Another directory that has its inode is not it.
  VersionId other = old;
  other.born_ns += 1;
  EXPECT_EQ(FindVersion(day_, "/trade", other).empty(), old.born_ns != 0);
  fs::remove_all(replaced);
  EXPECT_EQ(FindVersion(day_, "/trade", old), "");
}

TEST_F(PartitionVersionsTest, TryingAnExchangeLeavesNothing) {
  EXPECT_TRUE(CheckExchange(folder_.path(), Storage()).ok());
  EXPECT_TRUE(Entries().empty());
}

}  // namespace
}  // namespace tickstack::disk
