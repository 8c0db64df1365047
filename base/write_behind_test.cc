#include "base/write_behind.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/byte_buffer.h"

namespace tickstack {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

// A file on the disk of the tests: tmpfs could not drop its pages.
class WriteBehindTest : public testing::Test {
 protected:
  WriteBehindTest() : path_("write_behind_test." + std::to_string(getpid())) {}
  void SetUp() override {
    constexpr long kTmpfs = 0x01021994;
    struct statfs facts = {};
    ASSERT_EQ(statfs(".", &facts), 0);
    if (facts.f_type == kTmpfs) GTEST_SKIP() << "the test's directory is tmpfs";
    absl::StatusOr<File> made = File::OpenOrCreate(path_);
    ASSERT_TRUE(made.ok()) << made.status();
    file_ = *std::move(made);
  }
  ~WriteBehindTest() override { std::filesystem::remove(path_); }

  std::unique_ptr<WriteBehind> Start(uint64_t keep_bytes) {
    auto behind = WriteBehind::Start(path_, bytes_, keep_bytes);
    EXPECT_TRUE(behind.ok()) << behind.status();
    return *std::move(behind);
  }
  void Append(uint64_t bytes) {
    const std::vector<std::byte> ones(bytes, std::byte{1});
    ASSERT_TRUE(file_.WriteAt(bytes_, ones).ok());
    bytes_ += bytes;
  }
  // Returns how many of the bytes [begin, end) are in the page cache.
  uint64_t Cached(uint64_t begin, uint64_t end) const {
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    void* const at =
        mmap(nullptr, end - begin, PROT_READ, MAP_SHARED, file_.fd(), static_cast<off_t>(begin));
    EXPECT_NE(at, MAP_FAILED);
    std::vector<unsigned char> in_cache((end - begin) / page);
    EXPECT_EQ(mincore(at, end - begin, in_cache.data()), 0);
    munmap(at, end - begin);
    uint64_t pages = 0;
    for (const unsigned char each : in_cache) pages += each & 1;
    return pages * page;
  }
  // Returns whether only that many stay cached in time; nobody else reads the file.
  bool Drops(uint64_t begin, uint64_t end) const {
    for (int i = 0; i < 2000 && Cached(begin, end) > 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return Cached(begin, end) == 0;
  }

  const std::string path_;
  File file_;
  uint64_t bytes_ = 0;
};

TEST_F(WriteBehindTest, DropsWhatIsOlderThanTheLastBytesAndKeepsThose) {
  const auto behind = Start(16 * kMiB);
  for (int i = 0; i < 40; ++i) {
    Append(kMiB);
    behind->OnGrown(bytes_);
  }
  EXPECT_TRUE(Drops(0, 24 * kMiB));
  EXPECT_EQ(Cached(24 * kMiB, 40 * kMiB), 16 * kMiB);
  EXPECT_FALSE(behind->failed()) << behind->status();
  std::vector<std::byte> back(bytes_);
  EXPECT_EQ(*file_.ReadAt(0, back), bytes_);
  EXPECT_EQ(back, std::vector<std::byte>(bytes_, std::byte{1}));
}

TEST_F(WriteBehindTest, LeavesAloneWhatWasThereBefore) {
  Append(24 * kMiB);
  const auto behind = Start(0);
  Append(24 * kMiB);
  behind->OnGrown(bytes_);
  EXPECT_TRUE(Drops(24 * kMiB, 40 * kMiB));
  EXPECT_EQ(Cached(0, 24 * kMiB), 24 * kMiB);
  // The last step is being written, and stays cached however little is to be kept.
  EXPECT_EQ(Cached(40 * kMiB, 48 * kMiB), 8 * kMiB);
}

TEST_F(WriteBehindTest, StopsOnceOrMore) {
  const auto behind = Start(0);
  behind->Stop();
  Append(9 * kMiB);
  behind->OnGrown(bytes_);
  behind->Stop();
  EXPECT_FALSE(behind->failed());
}

TEST_F(WriteBehindTest, EndsAtAnyMoment) {
  for (const uint64_t bytes : {uint64_t{0}, kMiB, 9 * kMiB, 100 * kMiB}) {
    const auto behind = Start(0);
    if (bytes > 0) Append(bytes);
    behind->OnGrown(bytes_);
  }
  EXPECT_EQ(*file_.Bytes(), bytes_);
}

TEST_F(WriteBehindTest, SaysWhichFileIsMissing) {
  const auto behind = WriteBehind::Start(path_ + ".none", 0, 0);
  ASSERT_FALSE(behind.ok());
  EXPECT_EQ(behind.status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(behind.status().message().find(path_ + ".none"), std::string::npos);
}

}  // namespace
}  // namespace tickstack
