#include "security/users_edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status.h"
#include "security/users_file.h"

namespace tickstack::security {
namespace {

constexpr std::string_view kOne =
    "$argon2id$v=19$m=8,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
constexpr std::string_view kTwo =
    "$argon2id$v=19$m=8,t=1,p=1$BBBBBBBBBBBBBBBBBBBBBA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

std::string File() {
  return fmt::format(
      "# Who may do what.\n[groups.desk]\nquery = [\"*\"]\n\n"
      "[users.alice]  # since May\npassword = \"{0}\"\ngroups = [\"desk\"]\n\n"
      "# Bob left out:\n[users.\"bob.x\"]\n  password=\"{0}\"\npublish = [\n  \"trade\",\n]\n",
      kOne);
}

TEST(UsersEdit, AddsASectionAtTheEnd) {
  const std::string text = *AddUser("", "alice", kOne, "query = [\"*\"]\n");
  EXPECT_EQ(text, fmt::format("[users.alice]\npassword = \"{}\"\nquery = [\"*\"]\n", kOne));
  const std::string more = *AddUser(text, "first.last", kTwo, "");
  EXPECT_EQ(more.find(text), 0u);
  const Users users = *ParseUsers(more, "users");
  EXPECT_EQ(users.at("first.last").password, kTwo);
  EXPECT_TRUE(users.at("alice").grants.query.all);
  EXPECT_TRUE(absl::IsAlreadyExists(AddUser(more, "alice", kOne, "").status()));
  EXPECT_FALSE(AddUser(more, "carol", kOne, "[users.eve]\n").ok());
  EXPECT_FALSE(AddUser(more, "stack", kOne, "").ok());
}

TEST(UsersEdit, ReplacesAHashAndNothingElse) {
  const std::string text = *ReplaceHash(File(), "bob.x", kTwo);
  EXPECT_EQ(ParseUsers(text, "users")->at("bob.x").password, kTwo);
  EXPECT_EQ(ParseUsers(text, "users")->at("alice").password, kOne);
  EXPECT_NE(text.find("# since May"), std::string::npos);
  const std::string back = *ReplaceHash(text, "bob.x", kOne);
  EXPECT_EQ(*ParseUsers(back, "users"), *ParseUsers(File(), "users"));
  EXPECT_TRUE(absl::IsNotFound(ReplaceHash(File(), "carol", kTwo).status()));
}

TEST(UsersEdit, RemovesASectionAndLeavesTheCommentsOfTheNext) {
  const std::string text = *RemoveUser(File(), "alice");
  EXPECT_FALSE(ParseUsers(text, "users")->contains("alice"));
  EXPECT_TRUE(ParseUsers(text, "users")->contains("bob.x"));
  EXPECT_NE(text.find("# Bob left out:\n[users.\"bob.x\"]"), std::string::npos) << text;
  const std::string none = *RemoveUser(text, "bob.x");
  EXPECT_TRUE(ParseUsers(none, "users")->empty());
  EXPECT_TRUE(absl::IsNotFound(RemoveUser(none, "bob.x").status()));
}

TEST(UsersEdit, WritesNothingWhereALineIsNotEnough) {
  const std::string inlined = fmt::format("users.alice = {{ password = \"{}\" }}\n", kOne);
  ASSERT_TRUE(ParseUsers(inlined, "users").ok());
  EXPECT_FALSE(ReplaceHash(inlined, "alice", kTwo).ok());
  EXPECT_FALSE(RemoveUser(inlined, "alice").ok());
  EXPECT_TRUE(absl::IsInvalidArgument(RemoveUser("[users", "alice").status()));
}

}  // namespace
}  // namespace tickstack::security
