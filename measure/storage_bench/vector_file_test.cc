#include "measure/storage_bench/vector_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/file.h"
#include "base/status.h"
#include "measure/storage_bench/page_cache.h"
#include "measure/storage_bench/scratch_directory.h"

namespace tickstack::measure::storage_bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class VectorFile : public testing::Test {
 protected:
  std::vector<int64_t> Items() const {
    const Mapping mapping = *Mapping::OfFile(path_);
    const std::span<const int64_t> items = ItemsOf<int64_t>(mapping);
    return {items.begin(), items.end()};
  }

  ScratchDirectory scratch_ = *ScratchDirectory::In(testing::TempDir());
  const std::string path_ = scratch_.path() + "/vector";
};

TEST_F(VectorFile, IsKdbsVectorAfterEachChange) {
  constexpr std::array<int64_t, 3> kItems = {5, 6, 7};
  ASSERT_TRUE(WriteVector(path_, Type::kLong, BytesOf(kItems)).ok());
  ASSERT_TRUE(AppendItems(path_, BytesOf(kItems)).ok());
  ASSERT_TRUE(ReplaceItems(path_, std::array<size_t, 2>{0, 5}, 42).ok());
  EXPECT_THAT(Items(), ElementsAre(42, 6, 7, 5, 6, 42));
  std::ifstream file(path_, std::ios::binary);
  std::string header(16, ' ');
  file.read(header.data(), 16);
  EXPECT_EQ(header, std::string("\xfe\x20\x07\0\0\0\0\0\6\0\0\0\0\0\0\0", 16));
}

TEST_F(VectorFile, AppendingCreatesAFile) {
  constexpr std::array<int64_t, 1> kItems = {9};
  ASSERT_TRUE(AppendItems(path_, BytesOf(kItems)).ok());
  EXPECT_THAT(Items(), ElementsAre(9));
}

TEST_F(VectorFile, WritingReplacesALongerVector) {
  ASSERT_TRUE(WriteVector(path_, Type::kLong, BytesOf(std::vector<int64_t>(1'000, 1))).ok());
  constexpr std::array<int64_t, 1> kItems = {9};
  ASSERT_TRUE(WriteVector(path_, Type::kLong, BytesOf(kItems)).ok());
  EXPECT_THAT(Items(), ElementsAre(9));
}

TEST_F(VectorFile, PagesAreInTheCacheUntilTheyAreDropped) {
  ASSERT_TRUE(WriteVector(path_, Type::kLong, BytesOf(std::vector<int64_t>(100'000, 1))).ok());
  const Pages written = *PagesOf(path_);
  EXPECT_EQ(written.resident, written.total);
  EXPECT_EQ(written.total, (800'016u + 4'095) / 4'096);
  const Pages below = *PagesBelow(scratch_.path());
  EXPECT_EQ(below.total, written.total);
  EXPECT_EQ(below.resident, written.resident);
  if (FileSystemOf(scratch_.path())->is_memory) GTEST_SKIP() << "a file system in memory";
  EXPECT_EQ(*DropPages(scratch_.path(), CacheDrop::kFiles), CacheDrop::kFiles);
  EXPECT_EQ(PagesOf(path_)->resident, 0u);
}

TEST_F(VectorFile, PagesOfRangesAreThoseThatTheyTouch) {
  ASSERT_TRUE(WriteVector(path_, Type::kLong, BytesOf(std::vector<int64_t>(100'000, 1))).ok());
  const std::array<ByteRange, 2> ranges = {ByteRange{4'095, 4'097}, ByteRange{8'192, 12'288}};
  EXPECT_EQ(PagesOf(path_, ranges)->total, 3u);
  EXPECT_EQ(PagesOf(path_, ranges)->resident, 3u);
  const std::array<ByteRange, 1> beyond = {ByteRange{0, 800'017}};
  EXPECT_THAT(std::string(Message(PagesOf(path_, beyond).status())),
              HasSubstr(path_ + ": 800016 bytes, expected at least 800017"));
}

// Only the blocks that random reads have read are in the cache when they read again.
TEST_F(VectorFile, PagesOfWhatWasReadAreInTheCache) {
  if (FileSystemOf(scratch_.path())->is_memory) GTEST_SKIP() << "a file system in memory";
  ASSERT_TRUE(WriteVector(path_, Type::kLong, BytesOf(std::vector<int64_t>(100'000, 1))).ok());
  ASSERT_TRUE(DropPages(scratch_.path(), CacheDrop::kFiles).ok());
  const File file = *File::OpenForReading(path_);
  ASSERT_EQ(::posix_fadvise(file.fd(), 0, 0, POSIX_FADV_RANDOM), 0);  // No reading ahead.
  std::array<std::byte, 10> bytes{};
  ASSERT_TRUE(file.ReadAt(400'000, bytes).ok());
  const std::array<ByteRange, 1> read = {ByteRange{400'000, 400'010}};
  EXPECT_EQ(PagesOf(path_, read)->resident, 1u);
  EXPECT_LT(PagesOf(path_)->resident, PagesOf(path_)->total);
}

TEST_F(VectorFile, ErrorsNameThePath) {
  const std::string missing = scratch_.path() + "/none/vector";
  for (const absl::Status& status :
       {WriteVector(missing, Type::kLong, {}), AppendItems(missing, {}), SyncFile(missing),
        ReplaceItems(missing, {}, 1), PagesOf(missing).status()}) {
    EXPECT_THAT(std::string(Message(status)), HasSubstr(missing + ": open: No such file"));
  }
}

TEST(ScratchDirectory, RemovesItselfAndNothingElse) {
  const std::string parent = testing::TempDir() + "/scratch_directory_test";
  std::filesystem::create_directories(parent);
  std::ofstream(parent + "/precious") << "x";
  std::string path;
  {
    const ScratchDirectory scratch = *ScratchDirectory::In(parent);
    path = scratch.path();
    EXPECT_THAT(path, testing::StartsWith(parent + "/tickstack-bench."));
    std::filesystem::create_directory_symlink(parent, path + "/link");
    std::ofstream(path + "/file") << "x";
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(std::filesystem::exists(parent + "/precious"));
  std::filesystem::remove_all(parent);
}

TEST(ScratchDirectory, ErrorsNameItsParent) {
  const absl::Status status = ScratchDirectory::In("/nowhere").status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(Message(status)), HasSubstr("/nowhere: "));
}

TEST(ScratchDirectory, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(CheckFits(testing::TempDir(), 1).ok());
  const absl::Status status = CheckFits(testing::TempDir(), uint64_t{1} << 60);
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(Message(status)), HasSubstr("are free, the benchmark writes up to "));
}

}  // namespace
}  // namespace tickstack::measure::storage_bench
