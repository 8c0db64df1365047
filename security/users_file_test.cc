#include "security/users_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/status.h"
#include "security/private_file.h"

namespace tickstack::security {
namespace {

using testing::HasSubstr;

constexpr std::string_view kHash =
    "$argon2id$v=19$m=8,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

std::string WithUser(std::string_view more) {
  return fmt::format("[users.bob]\npassword = \"{}\"\n{}", kHash, more);
}

std::string ErrorOf(std::string_view text) {
  return std::string(Message(ParseUsers(text, "users").status()));
}

TEST(UsersFile, AUserHasItsRightsAndThoseOfItsGroups) {
  const absl::StatusOr<Users> users = ParseUsers(WithUser(R"(
groups = ["desk", "ops"]
publish = ["orders"]
query_timeout = "9s"
[groups.desk]
query = ["trade"]
subscribe = ["trade", "quote"]
symbols = ["IBM", "VOD"]
query_timeout = "5s"
query_max_bytes = "1MiB"
requests_per_second = 20
connections = 7
[groups.ops]
metrics = true
administer = true
query = ["*"]
subscribe = ["quote"]
query_max_bytes = 100
)"),
                                                 "users");
  ASSERT_TRUE(users.ok()) << users.status();
  const Grants& grants = users->at("bob").grants;
  EXPECT_TRUE(grants.publish.Has("orders"));
  EXPECT_FALSE(grants.publish.Has("trade"));
  EXPECT_TRUE(grants.query.Has("anything"));
  EXPECT_TRUE(grants.metrics);
  EXPECT_TRUE(grants.administer);
  EXPECT_TRUE(grants.SymbolsOf("trade").Has("IBM"));
  EXPECT_FALSE(grants.SymbolsOf("trade").Has("AAPL"));
  EXPECT_TRUE(grants.SymbolsOf("quote").Has("AAPL")) << "all symbols by the other group";
  EXPECT_TRUE(grants.SymbolsOf("bars").empty());
  EXPECT_FALSE(grants.SubscribesToAll());
  EXPECT_EQ(grants.query_timeout_ns, 9'000'000'000) << "its own limit replaces the group's";
  EXPECT_EQ(grants.query_max_bytes, 100u) << "the smaller one of two groups";
  EXPECT_EQ(grants.requests_per_second, 20);
  EXPECT_EQ(grants.connections, 7u);
}

TEST(UsersFile, WithoutKeysThereAreNoRights) {
  const Grants none = ParseUsers(WithUser(""), "users")->at("bob").grants;
  EXPECT_EQ(none, Grants());
  EXPECT_FALSE(none.metrics);
  EXPECT_FALSE(none.administer);
  EXPECT_TRUE(none.publish.empty() && none.query.empty() && none.subscribe.empty());
}

TEST(UsersFile, SymbolsOfEveryTable) {
  const Grants grants =
      ParseUsers(WithUser("subscribe = ['*']\nsymbols = ['IBM']\n"), "users")->at("bob").grants;
  EXPECT_TRUE(grants.SymbolsOf("trade").Has("IBM"));
  EXPECT_FALSE(grants.SymbolsOf("trade").all);
  EXPECT_FALSE(grants.SubscribesToAll());
  EXPECT_TRUE(
      ParseUsers(WithUser("subscribe = ['*']"), "users")->at("bob").grants.SubscribesToAll());
  EXPECT_TRUE(AllGrants().SubscribesToAll());
}

TEST(UsersFile, ErrorsNameLineColumnAndKey) {
  EXPECT_THAT(ErrorOf("[users.bob]\npassword = \"x\"\n"),
              HasSubstr("users:2:12: users.bob.password: expected an argon2id hash"));
  EXPECT_THAT(ErrorOf("[users.bob]\npublish = []"), HasSubstr("users.bob.password: expected"));
  EXPECT_THAT(ErrorOf(WithUser("query = 'trade'")),
              HasSubstr("users:3:9: users.bob.query: expected an array of strings"));
  EXPECT_THAT(ErrorOf(WithUser("qurey = ['trade']")),
              HasSubstr("users:3:1: users.bob.qurey: unknown key, did you mean query?"));
  EXPECT_THAT(ErrorOf(WithUser("groups = ['x']")), HasSubstr("no group \"x\""));
  EXPECT_THAT(ErrorOf(WithUser("symbols = ['x']")), HasSubstr("needs `subscribe`"));
  EXPECT_THAT(ErrorOf(WithUser("subscribe = ['t']\nsymbols = []")), HasSubstr("at least one"));
  EXPECT_THAT(ErrorOf(WithUser("query = ['']")), HasSubstr("found an empty one"));
  EXPECT_THAT(ErrorOf(WithUser("requests_per_second = 0")), HasSubstr("more than 0"));
  EXPECT_THAT(ErrorOf(WithUser("connections = 0")), HasSubstr("expected an integer from 1"));
  EXPECT_THAT(ErrorOf(WithUser("requests_per_second = nan")), HasSubstr("more than 0"));
  EXPECT_THAT(ErrorOf(WithUser("query_timeout = '-1s'")), HasSubstr("a duration"));
  EXPECT_THAT(ErrorOf("[users.stack]\n"), HasSubstr("the stack's own"));
  EXPECT_THAT(ErrorOf("[users.\"a b\"]\n"), HasSubstr("expected a name of 1 to 64"));
  EXPECT_THAT(ErrorOf("[user.bob]\n"), HasSubstr("did you mean users?"));
  EXPECT_THAT(ErrorOf("[users.bob\n"), HasSubstr("users:1:"));
}

class PrivateFileTest : public testing::Test {
 protected:
  PrivateFileTest()
      : path_(std::filesystem::temp_directory_path() /
              ("private_file_test." + std::to_string(::getpid()))) {
    std::filesystem::remove(path_);
  }
  ~PrivateFileTest() override { std::filesystem::remove(path_); }

  mode_t Mode() const {
    struct stat file{};
    EXPECT_EQ(::stat(path_.c_str(), &file), 0);
    return file.st_mode & 07777;
  }

  const std::string path_;
};

TEST_F(PrivateFileTest, IsNotReadIfOthersCanReadOrChangeIt) {
  std::ofstream(path_) << WithUser("");
  for (const mode_t bad : {0644u, 0604u, 0620u, 0660u, 0666u}) {
    ::chmod(path_.c_str(), bad);
    const absl::Status refused = LoadUsers(path_).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(Message(refused)), HasSubstr("expected 0600 or 0640"));
  }
  for (const mode_t good : {0600u, 0640u, 0400u}) {
    ::chmod(path_.c_str(), good);
    EXPECT_TRUE(LoadUsers(path_).ok());
  }
  ::chmod(path_.c_str(), 0640);
  EXPECT_FALSE(ReadPrivateFile(path_, kOwnerOnly).ok());
  EXPECT_TRUE(absl::IsNotFound(LoadUsers(path_ + ".not").status()));
  EXPECT_FALSE(ReadPrivateFile("/tmp", kOwnerOnly).ok());
}

TEST_F(PrivateFileTest, IsReplacedAsAWholeAndKeepsItsMode) {
  ::umask(0);
  ASSERT_TRUE(WritePrivateFile(path_, "one").ok());
  EXPECT_EQ(Mode(), 0600u);
  const FileStamp before = *StampOf(path_);
  ::chmod(path_.c_str(), 0640);
  ASSERT_TRUE(WritePrivateFile(path_, "two two").ok());
  EXPECT_EQ(Mode(), 0640u);
  EXPECT_EQ(*ReadPrivateFile(path_, kOwnerAndGroupReads), "two two");
  EXPECT_FALSE(*StampOf(path_) == before);
  EXPECT_TRUE(absl::IsAlreadyExists(CreatePrivateFile(path_, "three")));
  EXPECT_EQ(*ReadPrivateFile(path_, kOwnerAndGroupReads), "two two");
  std::filesystem::remove(path_);
  ASSERT_TRUE(CreatePrivateFile(path_, "three").ok());
  EXPECT_EQ(Mode(), 0600u);
  EXPECT_FALSE(WritePrivateFile("/nowhere/at/all", "x").ok());
}

}  // namespace
}  // namespace tickstack::security
