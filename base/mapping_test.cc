#include "base/mapping.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/byte_buffer.h"
#include "base/status.h"

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
  // A removed file stays valid while it is mapped.
  EXPECT_EQ(AsText(mapping->bytes()), "some bytes");
}

// Some mappings are left to the rest of the process, and some of these to a MappingReserve.
TEST(Mapping, LeavesSomeOfTheProcesssMappingsToOthers) {
  const std::string path = Scratch("many");
  std::ofstream(path) << "some bytes";
  const size_t before = Mapping::Live();
  Mapping::SetProcessMax(before + 32);
  std::vector<Mapping> mappings;
  const auto map_all = [&] {
    absl::StatusOr<Mapping> mapping = Mapping::OfFile(path);
    for (; mapping.ok(); mapping = Mapping::OfFile(path)) mappings.push_back(*std::move(mapping));
    return mapping.status();
  };
  const absl::Status refused = map_all();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(
      Message(refused).find(fmt::format("{}: not mapped: {} mappings are in use of at most {}",
                                        path, Mapping::Max(), Mapping::Max())),
      std::string_view::npos)
      << refused;
  EXPECT_EQ(Mapping::Live(), Mapping::Max());
  EXPECT_FALSE(Mapping::OfMemory(1).ok());
  {
    MappingReserve reserve;
    EXPECT_TRUE(Mapping::OfFile(path).ok());
    EXPECT_TRUE(reserve.refused().ok());
    EXPECT_FALSE(map_all().ok());
    EXPECT_EQ(reserve.refused().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_GT(Mapping::Live(), Mapping::Max());
    EXPECT_LT(Mapping::Live(), before + 32);
    const MappingReserve inner;
    EXPECT_TRUE(inner.refused().ok());
  }
  EXPECT_FALSE(Mapping::OfFile(path).ok());  // The reserve no longer exists.
  mappings.clear();
  EXPECT_EQ(Mapping::Live(), before);
  EXPECT_TRUE(Mapping::OfFile(path).ok());
  Mapping::SetProcessMax(0);
  std::filesystem::remove(path);
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
