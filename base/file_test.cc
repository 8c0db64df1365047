#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/status.h"

namespace {

using FileId = std::pair<dev_t, ino_t>;

FileId FileIdOf(const std::string& path) {
  struct stat found{};
  EXPECT_EQ(::stat(path.c_str(), &found), 0) << path;
  return {found.st_dev, found.st_ino};
}

// Files for which fsync was called; nullptr: they are not collected.
std::vector<FileId>* synced = nullptr;

}  // namespace

// Replaces the C library's function in this program.
extern "C" int fsync(int fd) {
  struct stat found{};
  if (synced != nullptr && ::fstat(fd, &found) == 0) {
    synced->emplace_back(found.st_dev, found.st_ino);
  }
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace tickstack {
namespace {

class FileTest : public testing::Test {
 protected:
  FileTest() {
    std::string name = (std::filesystem::temp_directory_path() / "ts_file_XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
  }
  ~FileTest() override { std::filesystem::remove_all(directory_); }
  std::string Path(const std::string& name) const { return directory_ + "/" + name; }
  std::string Content(const std::string& name) const {
    return std::string(AsText(ReadWholeFile(Path(name), 1 << 20).value().span()));
  }

  std::string directory_;
};

TEST_F(FileTest, WritesSegmentsInOrderWhateverTheirNumber) {
  // More than IOV_MAX segments, with empty ones at both ends and between.
  std::vector<std::string> texts;
  std::string expected;
  for (int i = 0; i < 2500; ++i) {
    texts.push_back(i % 3 == 0 || i >= 2490 ? "" : std::to_string(i));
    expected += texts.back();
  }
  std::vector<std::span<const std::byte>> segments;
  for (const std::string& text : texts) segments.push_back(AsBytes(text));

  File file = File::OpenOrCreate(Path("a")).value();
  ASSERT_TRUE(file.WriteAt(0, AsBytes("head")).ok());
  ASSERT_TRUE(file.WriteAt(4, segments).ok());
  EXPECT_EQ(Content("a"), "head" + expected);
  EXPECT_EQ(file.Bytes().value(), 4 + expected.size());
}

TEST_F(FileTest, ReadsFewerBytesOnlyAtTheEnd) {
  File file = File::OpenOrCreate(Path("a")).value();
  ASSERT_TRUE(file.WriteAt(0, AsBytes("0123456789")).ok());
  std::vector<std::byte> out(4);
  EXPECT_EQ(file.ReadAt(3, out).value(), 4u);
  EXPECT_EQ(AsText(out), "3456");
  EXPECT_EQ(file.ReadAt(8, out).value(), 2u);
  EXPECT_EQ(file.ReadAt(80, out).value(), 0u);
}

// Not every file system can write past the page cache, and none can at any offset. The file handles
// both, and the bytes are there in any case.
TEST_F(FileTest, WritesDirectlyWhatItCanAndTheRestTheUsualWay) {
  const auto deleter = [](char* memory) {
    ::operator delete(memory, std::align_val_t{File::kDirectAlignment});
  };
  const std::unique_ptr<char, decltype(deleter)> page(
      static_cast<char*>(
          ::operator new(File::kDirectAlignment, std::align_val_t{File::kDirectAlignment})),
      deleter);
  std::fill_n(page.get(), File::kDirectAlignment, 'p');
  const std::string_view bytes(page.get(), File::kDirectAlignment);
  File file = File::Create(Path("a")).value();
  file.SetDirect(true);
  const bool can = file.is_direct();
  ASSERT_TRUE(file.WriteAt(0, AsBytes(bytes)).ok());
  EXPECT_EQ(file.is_direct(), can);
  ASSERT_TRUE(file.WriteAt(bytes.size(), AsBytes("odd")).ok());
  EXPECT_FALSE(file.is_direct());
  ASSERT_TRUE(file.SyncData().ok());
  EXPECT_EQ(Content("a"), std::string(bytes) + "odd");
}

TEST_F(FileTest, CutsAndSyncs) {
  File file = File::OpenOrCreate(Path("a")).value();
  ASSERT_TRUE(file.WriteAt(0, AsBytes("0123456789")).ok());
  EXPECT_TRUE(file.Truncate(3).ok());
  EXPECT_TRUE(file.SyncData().ok());
  EXPECT_EQ(Content("a"), "012");
}

TEST_F(FileTest, LocksOutASecondWriterUntilTheFirstIsGone) {
  File second = File::OpenOrCreate(Path("a")).value();
  {
    File first = File::OpenOrCreate(Path("a")).value();
    EXPECT_FALSE(second.IsLockedByAnother().value());
    EXPECT_TRUE(first.TryLock().ok());
    EXPECT_FALSE(first.IsLockedByAnother().value());
    EXPECT_TRUE(second.IsLockedByAnother().value());
    EXPECT_TRUE(File::OpenForReading(Path("a")).value().IsLockedByAnother().value());
    const absl::Status locked = second.TryLock();
    EXPECT_EQ(locked.code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(Message(locked),
              fmt::format("{}: this process (pid {}) is writing it", Path("a"), ::getpid()));
  }
  EXPECT_TRUE(second.TryLock().ok());
}

TEST_F(FileTest, WaitsForAHolderThatEnds) {
  using namespace std::chrono_literals;
  auto first = std::make_unique<File>(File::OpenOrCreate(Path("a")).value());
  ASSERT_TRUE(first->TryLock().ok());
  File second = File::OpenOrCreate(Path("a")).value();
  EXPECT_EQ(second.LockWithin(50ms).code(), absl::StatusCode::kUnavailable);
  std::thread ends([&first] {
    std::this_thread::sleep_for(30ms);
    first = nullptr;
  });
  EXPECT_TRUE(second.LockWithin(1min).ok());
  ends.join();
}

TEST_F(FileTest, ErrorsNameThePath) {
  const auto missing = File::OpenForReading(Path("none")).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(missing.message().find(AbslView(Path("none"))), absl::string_view::npos) << missing;
  EXPECT_EQ(File::OpenForReading(directory_).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadWholeFile(Path("none"), 10).status().code(), absl::StatusCode::kNotFound);

  File file = File::OpenOrCreate(Path("a")).value();
  ASSERT_TRUE(file.WriteAt(0, AsBytes("0123456789")).ok());
  EXPECT_EQ(ReadWholeFile(Path("a"), 9).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(FileTest, RenamesOverWhatIsThere) {
  ASSERT_TRUE(File::OpenOrCreate(Path("old")).value().WriteAt(0, AsBytes("old")).ok());
  ASSERT_TRUE(File::OpenOrCreate(Path("new")).value().WriteAt(0, AsBytes("new")).ok());
  EXPECT_TRUE(RenameReplacing(Path("new"), Path("old")).ok());
  EXPECT_EQ(Content("old"), "new");
  EXPECT_FALSE(*FileExists(Path("new")));
  EXPECT_FALSE(RenameReplacing(Path("new"), Path("old")).ok());
}

TEST_F(FileTest, ExistsOrNotOrCannotBeLookedUp) {
  ASSERT_TRUE(File::OpenOrCreate(Path("a")).ok());
  EXPECT_TRUE(*FileExists(Path("a")));
  EXPECT_FALSE(*FileExists(Path("b")));
  EXPECT_FALSE(*FileExists(Path("a/below a file")));
  std::filesystem::create_symlink(Path("b"), Path("to nothing"));
  EXPECT_FALSE(*FileExists(Path("to nothing")));
  std::filesystem::create_symlink("loop", Path("loop"));
  const absl::Status unknown = FileExists(Path("loop")).status();
  EXPECT_EQ(Message(unknown), Path("loop") + ": stat: Too many levels of symbolic links");
}

TEST_F(FileTest, MakesDirectoriesAndKnowsTheOneOfAPath) {
  EXPECT_TRUE(CreateDirectories(Path("x/y/z")).ok());
  EXPECT_TRUE(CreateDirectories(Path("x/y/z")).ok());
  EXPECT_TRUE(CreateDirectories(Path("x/y/z/")).ok());
  EXPECT_TRUE(SyncDirectory(Path("x/y/z")).ok());
  EXPECT_FALSE(SyncDirectory(Path("x/none")).ok());
  EXPECT_EQ(DirectoryOf("data/tplog/sym"), "data/tplog");
  EXPECT_EQ(DirectoryOf("/sym"), "/");
  EXPECT_EQ(DirectoryOf("sym"), ".");
}

// Goal: a power cut after CreateDirectories loses none of its directories, even if an earlier call
// was interrupted. Method: some of the directories are there, as such a call leaves them, and the
// synced parents are compared. Names above the deepest of them are durable, because that call
// synced each name before it created the next one.
TEST_F(FileTest, SyncsTheNameThatAnInterruptedCallLeft) {
  const std::vector<std::string> paths = {directory_, Path("a"), Path("a/b"), Path("a/b/c"),
                                          Path("a/b/c/d")};
  for (size_t deepest = 1; deepest < paths.size(); ++deepest) {
    SCOPED_TRACE(paths[deepest]);
    std::filesystem::remove_all(Path("a"));
    std::filesystem::create_directories(paths[deepest]);
    std::vector<FileId> found;
    synced = &found;
    const absl::Status created = CreateDirectories(paths.back());
    synced = nullptr;
    ASSERT_TRUE(created.ok()) << created;
    std::vector<FileId> expected;
    for (size_t parent = deepest - 1; parent + 1 < paths.size(); ++parent) {
      expected.push_back(FileIdOf(paths[parent]));
    }
    EXPECT_EQ(found, expected);
  }
}

}  // namespace
}  // namespace tickstack
