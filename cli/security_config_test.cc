#include "cli/security_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/status.h"
#include "cli/stack_config.h"
#include "security/private_file.h"
#include "wire/link_credentials.h"

namespace tickstack::cli {
namespace {

using testing::HasSubstr;

class SecurityConfigTest : public testing::Test {
 protected:
  SecurityConfigTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("security_config_test." + std::to_string(::getpid()))) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~SecurityConfigTest() override {
    std::filesystem::remove_all(folder_);
    wire::SetLinkCredentials(nullptr);
  }
  StackConfig Parsed(std::string_view security) {
    absl::StatusOr<StackConfig> config =
        ParseStackConfig(fmt::format("[stack]\ndata = \"{}/data\"\n[security]\n{}\n[tickerplant]\n",
                                     folder_, security),
                         "stack.toml");
    EXPECT_TRUE(config.ok()) << config.status();
    return config.ok() ? *std::move(config) : StackConfig();
  }
  std::string Users() {
    const std::string path = folder_ + "/users";
    EXPECT_TRUE(security::WritePrivateFile(path, "# nobody\n").ok());
    return fmt::format("users = \"{}\"", path);
  }

  const std::string folder_;
};

TEST_F(SecurityConfigTest, ErrorsNameTheKey) {
  const auto error = [](std::string_view keys) {
    return std::string(
        Message(ParseStackConfig(fmt::format("[security]\n{}", keys), "stack.toml").status()));
  };
  EXPECT_THAT(error("users = ''"), HasSubstr("stack.toml:2:9: security.users: expected the path"));
  EXPECT_THAT(error("credentials = ''"), HasSubstr("security.credentials: expected the path"));
  EXPECT_THAT(error("insecure = 1"), HasSubstr("security.insecure: expected true or false"));
  EXPECT_THAT(error("user = 'x'"), HasSubstr("did you mean users?"));
}

TEST_F(SecurityConfigTest, WithoutUsersNothingIsNeeded) {
  StackConfig config = Parsed("");
  EXPECT_EQ(CredentialsPath(config), "");
  EXPECT_TRUE(BeginSecurity(config, config.tickerplant->listener).ok());
  EXPECT_EQ(config.tickerplant->listener.authenticator, nullptr);
  EXPECT_FALSE(wire::LinkCredentials().has_value());
  EXPECT_TRUE(CheckSecurity(config).ok());
}

TEST_F(SecurityConfigTest, WithUsersTheStackGetsASecretOfItsOwn) {
  StackConfig config = Parsed(Users());
  EXPECT_EQ(CredentialsPath(config), folder_ + "/data/stack.credentials");
  EXPECT_TRUE(absl::IsNotFound(BeginLinks(config, false)));
  ASSERT_TRUE(CheckSecurity(config).ok());
  ASSERT_TRUE(BeginSecurity(config, config.tickerplant->listener).ok());
  EXPECT_NE(config.tickerplant->listener.authenticator, nullptr);
  EXPECT_EQ(wire::LinkCredentials()->user, "stack");
  const std::string secret = wire::LinkCredentials()->password;
  EXPECT_EQ(secret.size(), 43u);
  ASSERT_TRUE(BeginLinks(config, false).ok());
  EXPECT_EQ(wire::LinkCredentials()->password, secret);
}

TEST_F(SecurityConfigTest, NamedCredentialsAreNotMadeUp) {
  StackConfig config = Parsed(fmt::format("{}\ncredentials = \"{}/other\"", Users(), folder_));
  EXPECT_TRUE(absl::IsNotFound(CheckSecurity(config)));
  ASSERT_TRUE(security::CreatePrivateFile(folder_ + "/other", "rdb-2:secret\n").ok());
  ASSERT_TRUE(BeginSecurity(config, config.tickerplant->listener).ok());
  EXPECT_EQ(wire::LinkCredentials()->user, "rdb-2");
}

TEST_F(SecurityConfigTest, BeyondLoopbackUpNeedsUsersOrIsInsecure) {
  for (const auto& [keys, is_ok] : {std::pair<std::string, bool>{"", false},
                                    {"insecure = false", false},
                                    {"insecure = true", true},
                                    {Users(), true}}) {
    StackConfig config = Parsed(keys);
    config.tickerplant->listener.host = "0.0.0.0";
    const absl::Status status = CheckSecurity(config);
    EXPECT_EQ(status.ok(), is_ok) << keys << ": " << status;
    if (is_ok) continue;
    EXPECT_THAT(std::string(Message(status)),
                HasSubstr("tickerplant: 0.0.0.0: other machines could connect"));
  }
}

}  // namespace
}  // namespace tickstack::cli
