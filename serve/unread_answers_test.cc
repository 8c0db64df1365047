#include "serve/unread_answers.h"

#include <gtest/gtest.h>

namespace tickstack::serve {
namespace {

constexpr int64_t kLimit = 5 * kNsPerSecond;

TEST(UnreadAnswers, CountsAnAnswerUntilItsLastByteHasLeft) {
  UnreadAnswers unread;
  EXPECT_EQ(unread.bytes(), 0u);
  unread.Add(100, 0);
  unread.Add(50, 0);
  EXPECT_EQ(unread.bytes(), 150u);
  EXPECT_EQ(unread.OnSent(99, 1), 0u);
  EXPECT_EQ(unread.bytes(), 150u);
  EXPECT_EQ(unread.OnSent(149, 2), 100u);
  EXPECT_EQ(unread.bytes(), 50u);
  unread.Add(10, 3);
  EXPECT_EQ(unread.OnSent(160, 4), 60u);
  EXPECT_EQ(unread.bytes(), 0u);
  EXPECT_EQ(unread.OnSent(160, 5), 0u);
}

TEST(UnreadAnswers, IsLateWhenTheFirstOneTakesTooLong) {
  UnreadAnswers unread;
  EXPECT_FALSE(unread.IsLate(kLimit, 100 * kNsPerSecond));
  unread.Add(100, 10 * kNsPerSecond);
  unread.Add(100, 11 * kNsPerSecond);
  EXPECT_FALSE(unread.IsLate(kLimit, 15 * kNsPerSecond));
  EXPECT_TRUE(unread.IsLate(kLimit, 15 * kNsPerSecond + 1));
  EXPECT_FALSE(unread.IsLate(0, 1000 * kNsPerSecond));  // There is no limit.
  // The second one's time begins when the first has left.
  unread.OnSent(100, 15 * kNsPerSecond);
  EXPECT_FALSE(unread.IsLate(kLimit, 20 * kNsPerSecond));
  EXPECT_TRUE(unread.IsLate(kLimit, 20 * kNsPerSecond + 1));
}

TEST(UnreadAnswers, GivesALongAnswerASecondMoreForEach4MiB) {
  UnreadAnswers unread;
  unread.Add(size_t{40} << 20, 0);
  EXPECT_FALSE(unread.IsLate(kLimit, 15 * kNsPerSecond));
  EXPECT_TRUE(unread.IsLate(kLimit, 15 * kNsPerSecond + 1));
}

}  // namespace
}  // namespace tickstack::serve
