#include "base/mapping.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/byte_buffer.h"

namespace tickstack {
namespace {

std::string Scratch(const std::string& name) { return testing::TempDir() + "/mapping_" + name; }

TEST(Mapping, ShowsAFilesBytes) {
  const std::string path = Scratch("file");
  std::ofstream(path) << "some bytes";
  const absl::StatusOr<Mapping> mapping = Mapping::OfFile(path);
  ASSERT_TRUE(mapping.ok()) << mapping.status();
  EXPECT_EQ(AsText(mapping->bytes()), "some bytes");
  std::filesystem::remove(path);
  EXPECT_EQ(AsText(mapping->bytes()), "some bytes");  // A removed file stays while it is mapped.
}

TEST(Mapping, OfAnEmptyFileIsEmpty) {
  const std::string path = Scratch("empty");
  std::ofstream(path).flush();
  const absl::StatusOr<Mapping> mapping = Mapping::OfFile(path);
  ASSERT_TRUE(mapping.ok()) << mapping.status();
  EXPECT_TRUE(mapping->bytes().empty());
  std::filesystem::remove(path);
}

TEST(Mapping, OfWhatIsNoFileIsAnErrorAndNeverWaits) {
  EXPECT_EQ(Mapping::OfFile(Scratch("nothing")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Mapping::OfFile(testing::TempDir()).status().code(),
            absl::StatusCode::kInvalidArgument);
  const std::string pipe = Scratch("pipe");
  std::filesystem::remove(pipe);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(Mapping::OfFile(pipe).status().code(), absl::StatusCode::kInvalidArgument);
  std::filesystem::remove(pipe);
}

TEST(Mapping, OfMemoryIsZeroAndWritable) {
  absl::StatusOr<Mapping> memory = Mapping::OfMemory(10'000);
  ASSERT_TRUE(memory.ok()) << memory.status();
  for (std::byte byte : memory->bytes()) ASSERT_EQ(byte, std::byte{0});
  memory->writable_bytes().back() = std::byte{7};
  const Mapping moved = std::move(*memory);
  EXPECT_EQ(moved.bytes().back(), std::byte{7});
  EXPECT_EQ(Mapping::OfMemory(size_t{1} << 60).status().code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace tickstack
