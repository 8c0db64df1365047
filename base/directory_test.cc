#include "base/directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace tickstack {
namespace {

TEST(ListDirectory, TellsDirectoriesFilesAndTheRestApartByName) {
  const std::filesystem::path root = testing::TempDir() + "/directory_test";
  std::filesystem::remove_all(root);
  std::filesystem::create_directories(root / "b");
  std::ofstream(root / "a").flush();
  std::filesystem::create_symlink("b", root / "link");
  std::filesystem::create_symlink("nowhere", root / "dangling");
  ASSERT_EQ(::mkfifo((root / "pipe").c_str(), 0600), 0);

  const absl::StatusOr<std::vector<DirectoryEntry>> entries = ListDirectory(root);
  ASSERT_TRUE(entries.ok()) << entries.status();
  std::string text;
  for (const DirectoryEntry& entry : *entries) {
    text += entry.name + (entry.is_directory ? "/ " : entry.is_file ? " " : "? ");
  }
  EXPECT_EQ(text, "a b/ dangling? link/ pipe? ");
  EXPECT_TRUE(*IsDirectory(root / "link"));
  EXPECT_FALSE(*IsDirectory(root / "a"));
  EXPECT_FALSE(*IsDirectory(root / "a/b"));
  EXPECT_FALSE(*IsDirectory(root / "none"));
  std::filesystem::create_symlink("loop", root / "loop");
  EXPECT_FALSE(IsDirectory(root / "loop").ok());
  std::filesystem::remove_all(root);
  EXPECT_EQ(ListDirectory(root).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tickstack
