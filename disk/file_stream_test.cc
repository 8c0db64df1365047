#include "disk/file_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>

#include "base/byte_buffer.h"
#include "base/status.h"
#include "disk/partition_testing.h"

namespace tickstack::disk {
namespace {

constexpr size_t kPiece = size_t{2} << 20;

std::string RandomBytes(size_t bytes) {
  std::mt19937_64 rng(bytes);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(rng());
  return text;
}

// Goal: a file has what was appended, whatever its length and the file system. Method: lengths
// around a page and around the written pieces; by Append and by Room; on a disk and in memory.
TEST(FileStream, WritesWhatWasAppended) {
  for (const std::filesystem::path& where :
       {std::filesystem::temp_directory_path(), TemporaryFolder::InMemory()}) {
    const TemporaryFolder folder(where);
    for (const size_t bytes : {size_t{0}, size_t{1}, size_t{4095}, size_t{4096}, size_t{4097},
                               kPiece - 1, kPiece, kPiece + 4096, 2 * kPiece + 70'001}) {
      SCOPED_TRACE(folder / std::to_string(bytes));
      const std::string text = RandomBytes(bytes);
      const Storage storage;
      absl::StatusOr<FileStream> stream =
          FileStream::Create(folder / std::to_string(bytes), &storage);
      ASSERT_TRUE(stream.ok()) << stream.status();
      const size_t half = bytes / 2;
      ASSERT_TRUE(stream->Append(AsBytes(std::string_view(text).substr(0, half))).ok());
      for (size_t at = half; at < bytes;) {
        const size_t part = std::min(FileStream::kRoomMin - 1, bytes - at);
        ASSERT_GE(stream->Room().size(), part);
        std::memcpy(stream->Room().data(), text.data() + at, part);
        ASSERT_TRUE(stream->Filled(part).ok());
        at += part;
      }
      EXPECT_EQ(stream->bytes(), bytes);
      EXPECT_EQ(*stream->Finish(), bytes);
      EXPECT_TRUE(FileBytes(folder / std::to_string(bytes)) == text);
    }
  }
}

// A disk that is full after `writes` writes.
class FullDisk final : public StorageObserver {
 public:
  explicit FullDisk(int writes) : writes_(writes) {}
  absl::Status Before(StorageStep step, const std::string& path, size_t) override {
    if (step != StorageStep::kWrite || writes_-- > 0) return absl::OkStatus();
    return ResourceExhausted("{}: full", path);
  }

 private:
  int writes_;
};

TEST(FileStream, SaysWhenTheDiskIsFull) {
  const TemporaryFolder folder;
  const std::string text = RandomBytes(kPiece + 5000);
  for (int writes = 0; writes < 3; ++writes) {
    FullDisk disk(writes);
    const Storage storage(&disk);
    absl::StatusOr<FileStream> stream =
        FileStream::Create(folder / std::to_string(writes), &storage);
    ASSERT_TRUE(stream.ok());
    const absl::Status appended = stream->Append(AsBytes(text));
    EXPECT_EQ(appended.ok(), writes > 0);
    const absl::Status status = appended.ok() ? stream->Finish().status() : appended;
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << "write " << writes;
  }
}

}  // namespace
}  // namespace tickstack::disk
