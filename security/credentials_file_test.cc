#include "security/credentials_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/status.h"

namespace tickstack::security {
namespace {

class CredentialsFileTest : public testing::Test {
 protected:
  CredentialsFileTest()
      : path_(std::filesystem::temp_directory_path() /
              ("credentials_file_test." + std::to_string(::getpid()))) {
    std::filesystem::remove(path_);
  }
  ~CredentialsFileTest() override { std::filesystem::remove(path_); }
  void Write(std::string_view text) {
    std::ofstream(path_) << text;
    ::chmod(path_.c_str(), 0600);
  }

  const std::string path_;
};

TEST_F(CredentialsFileTest, IsCreatedOnceWithTheStacksSecret) {
  EXPECT_TRUE(absl::IsNotFound(LoadCredentials(path_).status()));
  const FileCredentials first = *LoadOrCreateCredentials(path_);
  EXPECT_EQ(first.user, "stack");
  EXPECT_EQ(first.password.text().size(), 43u);
  struct stat file{};
  ASSERT_EQ(::stat(path_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 07777, 0600u);
  EXPECT_TRUE(LoadOrCreateCredentials(path_)->password.Equals(first.password.text()));
}

TEST_F(CredentialsFileTest, HasOneLine) {
  Write("rdb-2:pa:ss word\n");
  EXPECT_EQ(LoadCredentials(path_)->user, "rdb-2");
  EXPECT_EQ(LoadCredentials(path_)->password.text(), "pa:ss word");
  for (const char* wrong : {"", "rdb", "rdb:", ":x", "rdb:x\ny\n", "a b:x"}) {
    Write(wrong);
    const absl::Status status = LoadOrCreateCredentials(path_).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_EQ(Message(status).find("rdb:"), std::string_view::npos) << "no part of the file";
  }
  ::chmod(path_.c_str(), 0640);
  EXPECT_TRUE(absl::IsFailedPrecondition(LoadCredentials(path_).status()));
}

}  // namespace
}  // namespace tickstack::security
