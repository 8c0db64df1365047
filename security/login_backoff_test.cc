#include "security/login_backoff.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tickstack::security {
namespace {

constexpr int64_t kS = kNsPerSecond;

TEST(LoginBackoff, PausesGrowByUserAndAddress) {
  LoginBackoff backoff;
  int64_t now_ns = 0;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(backoff.WaitNs("bob", "10.0.0.1", false, now_ns), 0);
    backoff.OnFailure("bob", "10.0.0.1", now_ns);
  }
  for (const int64_t pause_s : {1, 2, 4, 8, 16, 32, 60, 60}) {
    EXPECT_EQ(backoff.WaitNs("bob", "10.0.0.1", true, now_ns), pause_s * kS)
        << "a known password waits, too";
    EXPECT_EQ(backoff.WaitNs("bob", "10.0.0.1", false, now_ns + pause_s * kS), 0);
    now_ns += pause_s * kS;
    backoff.OnFailure("bob", "10.0.0.1", now_ns);
  }
  EXPECT_EQ(backoff.WaitNs("bob", "10.0.0.2", false, now_ns), 0);
  EXPECT_EQ(backoff.WaitNs("eve", "10.0.0.1", false, now_ns), 0);
  backoff.OnSuccess("bob", "10.0.0.1", 0);
  EXPECT_EQ(backoff.WaitNs("bob", "10.0.0.1", false, now_ns), 0);
}

TEST(LoginBackoff, AnAddressWithManyUsersPausesButNotThisMachine) {
  LoginBackoff backoff;
  for (const char* address : {"10.0.0.1", "127.0.0.1", "unix", "[::1]"}) {
    for (int i = 0; i < 20; ++i) backoff.OnFailure(fmt::format("u{}", i), address, 0);
  }
  EXPECT_EQ(backoff.WaitNs("bob", "10.0.0.1", false, 0), kS);
  EXPECT_EQ(backoff.WaitNs("bob", "127.0.0.1", false, 0), 0);
  EXPECT_EQ(backoff.WaitNs("bob", "unix", false, 0), 0);
  EXPECT_EQ(backoff.WaitNs("bob", "[::1]", false, 0), 0);
}

TEST(LoginBackoff, AUserUnderAttackFromEverywhereKeepsWorking) {
  LoginBackoff backoff;
  for (int i = 0; i < 120; ++i) backoff.OnFailure("bob", fmt::format("10.0.1.{}", i), 0);
  EXPECT_EQ(backoff.WaitNs("bob", "10.0.0.1", false, 0), 5 * kS);
  EXPECT_EQ(backoff.WaitNs("bob", "10.0.0.1", true, 0), 0);
  // Where the user has logged in before, a password that is not known any more is accepted, too.
  backoff.OnSuccess("bob", "10.0.0.1", 0);
  EXPECT_TRUE(backoff.IsTrusted("bob", "10.0.0.1", 0));
  EXPECT_FALSE(backoff.IsTrusted("bob", "10.0.0.2", 0));
  EXPECT_EQ(backoff.WaitNs("bob", "10.0.0.1", false, 0), 0);
  EXPECT_FALSE(backoff.IsTrusted("bob", "10.0.0.1", int64_t{86'400} * kS)) << "a day later";
  backoff.OnFailure("bob", "10.0.0.1", 0);
  EXPECT_FALSE(backoff.IsTrusted("bob", "10.0.0.1", 0));
  EXPECT_EQ(backoff.WaitNs("bob", "10.0.0.1", false, 0), 5 * kS);
}

TEST(LoginBackoff, ForgetsWhatIsOldAndIsBounded) {
  LoginBackoff backoff;
  for (int i = 0; i < 5; ++i) backoff.OnFailure("bob", "10.0.0.1", 0);
  backoff.OnFailure("bob", "10.0.0.1", 601 * kS);
  EXPECT_EQ(backoff.WaitNs("bob", "10.0.0.1", false, 601 * kS), 0) << "one failure";
  for (int i = 0; i < 4'000; ++i) {
    backoff.OnFailure(fmt::format("u{}", i), fmt::format("a{}", i), 601 * kS + i);
  }
  EXPECT_LE(backoff.size(), LoginBackoff::kCountsMax);
}

}  // namespace
}  // namespace tickstack::security
