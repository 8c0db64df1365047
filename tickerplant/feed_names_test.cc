#include "tickerplant/feed_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status.h"

namespace tickstack::tickerplant {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class FeedNamesTest : public testing::Test {
 protected:
  class SetClock final : public Clock {
   public:
    int64_t NowNs() const override { return now_ns; }
    int64_t MonotonicNs() const override { return now_ns; }
    int64_t now_ns = DaysFromCivil(2020, 3, 9) * kNsPerDay;
  };

  static FeedNames::Sender Of(uint64_t connection) {
    static const std::string kPeer = "10.0.0.7:41234";
    return {.connection = connection, .peer = kPeer, .user = "feed"};
  }
  absl::StatusOr<FeedNames::Grant> Claim(uint64_t connection, std::string_view instance,
                                         bool takeover = false) {
    return names_.Claim("f", instance, takeover, Of(connection));
  }
  std::string WhyMayNotSend(uint64_t connection) {
    return std::string(Message(names_.MaySend("f", connection)));
  }

  SetClock clock_;
  FeedNames names_{&clock_};
};

TEST_F(FeedNamesTest, GivesAFreeNameToTheFirstThatClaimsIt) {
  const absl::StatusOr<FeedNames::Grant> grant = Claim(1, "a");
  ASSERT_TRUE(grant.ok()) << grant.status();
  EXPECT_TRUE(grant->changed);
  EXPECT_EQ(grant->taken_from, 0u);
  EXPECT_TRUE(names_.MaySend("f", 1).ok());
  EXPECT_FALSE(Claim(1, "a")->changed) << "it had the name already";
  EXPECT_EQ(names_.Find("f")->epoch, 1u);
}

TEST_F(FeedNamesTest, RefusesASecondInstanceAndNamesTheFirst) {
  ASSERT_TRUE(Claim(1, "a").ok());
  const absl::Status refused = Claim(2, "b").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(refused)),
              AllOf(StartsWith("held: feed f is held by 10.0.0.7:41234 (user 'feed', instance a) "
                               "since 2020.03.09D00:00:00"),
                    HasSubstr("epoch 1"), HasSubstr(".u.feed[name;instance;`takeover]")));
  EXPECT_THAT(WhyMayNotSend(2), StartsWith("held: feed f"));
  EXPECT_TRUE(names_.MaySend("f", 1).ok());
  EXPECT_EQ(names_.counters().claims_refused, 1u);
  EXPECT_EQ(names_.counters().upds_refused, 1u);
}

TEST_F(FeedNamesTest, GivesTheNameToTheSameInstanceOnANewConnection) {
  ASSERT_TRUE(Claim(1, "a").ok());
  const absl::StatusOr<FeedNames::Grant> grant = Claim(2, "a");
  ASSERT_TRUE(grant.ok()) << grant.status();
  EXPECT_TRUE(grant->changed);
  EXPECT_TRUE(names_.MaySend("f", 2).ok());
  EXPECT_THAT(WhyMayNotSend(1), StartsWith("taken: feed f"));
  EXPECT_EQ(names_.Find("f")->epoch, 2u);
  EXPECT_EQ(names_.counters().takeovers, 0u);
  names_.OnConnectionGone(1);  // The old connection is found dead at last.
  EXPECT_TRUE(names_.MaySend("f", 2).ok());
  EXPECT_NE(names_.Find("f"), nullptr);
}

TEST_F(FeedNamesTest, TakesANameOverIfAskedTo) {
  ASSERT_TRUE(Claim(1, "a").ok());
  clock_.now_ns += kNsPerSecond;
  const absl::StatusOr<FeedNames::Grant> grant = Claim(2, "b", /*takeover=*/true);
  ASSERT_TRUE(grant.ok()) << grant.status();
  EXPECT_EQ(grant->taken_from, 1u);
  EXPECT_THAT(
      WhyMayNotSend(1),
      AllOf(StartsWith("taken: feed f was taken over by 10.0.0.7:41234"), HasSubstr("instance b"),
            HasSubstr("since 2020.03.09D00:00:01"), HasSubstr("epoch 2")));
  EXPECT_THAT(std::string(Message(Claim(1, "a").status())), StartsWith("held: "));
  EXPECT_EQ(names_.counters().takeovers, 1u);
}

TEST_F(FeedNamesTest, GivesAFreeNameToWhoSendsRows) {
  EXPECT_TRUE(names_.MaySend("f", 1).ok());
  EXPECT_EQ(names_.Find("f"), nullptr) << "no row was accepted yet";
  names_.OnAccepted("f", Of(1));
  EXPECT_TRUE(names_.MaySend("f", 1).ok());
  EXPECT_THAT(WhyMayNotSend(2), HasSubstr("no instance"));
  EXPECT_FALSE(Claim(2, "b").ok());
  EXPECT_TRUE(Claim(1, "a").ok());
  EXPECT_EQ(names_.Find("f")->instance, "a");
}

TEST_F(FeedNamesTest, ReleasesANameWithItsConnection) {
  ASSERT_TRUE(Claim(1, "a").ok());
  names_.OnConnectionGone(2);
  EXPECT_NE(names_.Find("f"), nullptr);
  names_.OnConnectionGone(1);
  EXPECT_EQ(names_.Find("f"), nullptr);
  const uint64_t changes = names_.changes();
  EXPECT_TRUE(names_.MaySend("f", 3).ok());
  EXPECT_EQ(names_.changes(), changes);
  EXPECT_TRUE(Claim(2, "b").ok());
  EXPECT_GT(names_.changes(), changes);
  EXPECT_EQ(names_.Find("f")->epoch, 2u) << "an epoch is not used twice";
}

TEST_F(FeedNamesTest, BoundsWhatComesFromOutside) {
  EXPECT_THAT(std::string(Message(names_.Claim("", "a", false, Of(1)).status())),
              StartsWith("length: "));
  EXPECT_THAT(std::string(Message(Claim(1, "").status())), StartsWith("length: "));
  EXPECT_FALSE(Claim(1, std::string(FeedNames::kInstanceBytesMax + 1, 'x')).ok());
  EXPECT_FALSE(
      names_.Claim(std::string(FeedNames::kNameBytesMax + 1, 'x'), "a", false, Of(1)).ok());
  for (size_t i = 0; i < FeedNames::kNamesMax; ++i) {
    const uint64_t connection = 10 + i / FeedNames::kNamesOfOneMax;
    ASSERT_TRUE(names_.Claim(fmt::format("n{}", i), "a", false, Of(connection)).ok());
  }
  EXPECT_THAT(std::string(Message(Claim(10, "a").status())),
              StartsWith("limit: this connection owns 1000 names"));
  EXPECT_THAT(std::string(Message(Claim(2, "a").status())), StartsWith("limit: 10000 names"));
  EXPECT_THAT(WhyMayNotSend(2), StartsWith("limit: "));
  for (uint64_t connection = 10; connection < 20; ++connection) {
    names_.OnConnectionGone(connection);
  }
  EXPECT_TRUE(names_.Names().empty());
  EXPECT_TRUE(Claim(2, "a").ok());
}

}  // namespace
}  // namespace tickstack::tickerplant
