#include "security/password.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/status.h"
#include "security/password_strength.h"
#include "security/secret.h"

namespace tickstack::security {
namespace {

using testing::HasSubstr;

constexpr HashCost kCheap{8192, 1};  // The least that the library accepts.

TEST(Password, AHashIsOfItsPasswordAlone) {
  const std::string hash = *HashPassword("pa:ss word", kCheap);
  EXPECT_TRUE(hash.starts_with("$argon2id$v=19$m=8,t=1,p=1$")) << hash;
  EXPECT_TRUE(VerifyPassword(hash, "pa:ss word"));
  EXPECT_FALSE(VerifyPassword(hash, "pa:ss wore"));
  EXPECT_FALSE(VerifyPassword(hash, ""));
  EXPECT_NE(hash, *HashPassword("pa:ss word", kCheap)) << "it has a salt";
}

TEST(Password, TheDefaultCostIsHigh) {
  const HashCost cost = *CostOfHash(*HashPassword("x"));
  EXPECT_EQ(cost.memory_bytes, uint64_t{64} << 20);
  EXPECT_EQ(cost.passes, 2u);
}

TEST(Password, TextsThatAreNoHashesAreErrors) {
  for (const char* text :
       {"", "secret", "$argon2i$v=19$m=8,t=1,p=1$a$b", "$argon2id$v=19$m=8,t=1$a$b",
        "$argon2id$v=19$m=-8,t=1,p=1$a$b", "$argon2id$v=19$m=99999999999999999999,t=1,p=1$a$b"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CostOfHash(text).status())) << text;
    EXPECT_FALSE(VerifyPassword(text, "secret")) << text;
  }
  EXPECT_FALSE(CostOfHash("$argon2id$v=19$m=1048577,t=1,p=1$a$b").ok()) << "more than 1 GiB";
  EXPECT_FALSE(CostOfHash("$argon2id$v=19$m=8,t=17,p=1$a$b").ok());
  EXPECT_FALSE(VerifyPassword(std::string(10'000, '$'), "x"));
}

TEST(Password, BoundsOnNamesAndPasswords) {
  EXPECT_TRUE(CheckUserName("first.last-2_x").ok());
  for (const char* name : {"", "a b", "a:b", "ü", "a\n"}) EXPECT_FALSE(CheckUserName(name).ok());
  EXPECT_FALSE(CheckUserName(std::string(65, 'a')).ok());
  EXPECT_TRUE(CheckPassword(std::string(1024, 'p')).ok());
  EXPECT_TRUE(CheckPassword("blank and ü").ok());
  for (const char* password : {"", "a\x03", "a\nb", "\x7f"}) {
    EXPECT_FALSE(CheckPassword(password).ok());
  }
  EXPECT_FALSE(CheckPassword(std::string(1025, 'p')).ok());
}

TEST(Password, WeakOnesAreRefusedWithTheReason) {
  const auto why = [](std::string_view password) {
    return std::string(Message(CheckStrength(password, "alice")));
  };
  for (const char* password :
       {"a long password", "correct horse battery staple", "Tr0ub4dor&3x", "xkcd-936",
        "kl\u00fcger als ihr", "alice and the looking glass", "928374650192", "tick-tock-42"}) {
    EXPECT_EQ(why(password), "") << password;
  }
  for (const char* password :
       {"a", "abc", "S3cr!t7", "\u00fc\u00f6\u00e4\u00fc\u00f6\u00e4\u00df"}) {
    EXPECT_THAT(why(password), HasSubstr("weak password: expected at least 8 characters"))
        << password;
  }
  for (const char* password : {"20200309", "92837465019"}) {
    EXPECT_THAT(why(password), HasSubstr("digits alone")) << password;
  }
  for (const char* password :
       {"aaaaaaaaaaaa", "abababababab", "acacacacacac", "abcdefghijkl", "zyxwvutsrqp", "qwertyuiop",
        "asdfghjkl", "123456789012", "aaaabbbbcccc", "qweasdzxc", "1q2w1q2w1q2w", "        "}) {
    EXPECT_THAT(why(password), HasSubstr("repeats, counts or follows the keyboard")) << password;
  }
  for (const char* password :
       {"password", "Password1!", "P@ssw0rd123", "passwd2026", "letmein!!", "changeme",
        "welcome2026", "!!Dragon99", "Football1", "tickstack1"}) {
    EXPECT_THAT(why(password), HasSubstr("most common")) << password;
  }
  for (const char* password : {"alice2026!", "ALICEalice", "x-alice-7y"}) {
    EXPECT_THAT(why(password), HasSubstr("beside the name of the user")) << password;
  }
}

TEST(Password, SecretsAreRandomAndComparable) {
  const std::string text = RandomSecret();
  EXPECT_EQ(text.size(), 43u);
  EXPECT_TRUE(CheckUserName(text).ok()) << "letters, digits, - and _";
  EXPECT_EQ(text.find('.'), std::string::npos) << "a bearer token's password has no dot";
  EXPECT_NE(text, RandomSecret());
  Secret secret(text);
  EXPECT_TRUE(secret.Equals(text));
  EXPECT_FALSE(secret.Equals(text.substr(1)));
  EXPECT_FALSE(secret.Equals(std::string(43, 'a')));
  const Secret moved = std::move(secret);
  EXPECT_EQ(moved.text(), text);
  EXPECT_FALSE(Secret::Random(32).Equals(Secret::Random(32).text()));
}

}  // namespace
}  // namespace tickstack::security
