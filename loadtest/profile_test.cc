#include "loadtest/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status.h"

namespace tickstack::loadtest {
namespace {

using testing::HasSubstr;

TEST(Profile, KnowsThePapersAndOthersByName) {
  const absl::StatusOr<Profile> march = LoadProfile("march2020");
  ASSERT_TRUE(march.ok());
  EXPECT_EQ(march->UpdatesPerSecond(), 48'000);
  EXPECT_EQ(march->seconds, 1'800);
  EXPECT_EQ(march->quotes_per_trade, 10);
  const absl::StatusOr<Profile> bursts = LoadProfile("bursts");
  ASSERT_TRUE(bursts.ok());
  EXPECT_NEAR(bursts->UpdatesPerSecond(), 48'000, 1e-3);
  EXPECT_THAT(Message(LoadProfile("march2021").status()),
              HasSubstr("march2020, march2020-volume, bursts, or a file"));
  EXPECT_EQ(LoadProfile("nowhere.toml").status().code(), absl::StatusCode::kNotFound);
}

TEST(Profile, ReadsAFile) {
  const absl::StatusOr<Profile> profile = ParseProfile(
      "seconds = 4\nsymbols = 50\nquotes_per_trade = 3\nseed = 9\n"
      "[[phase]]\nseconds = 1\nrate = 1000\n[[phase]]\nseconds = 2\nrate = 4000\n",
      "x/close.toml");
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->name, "close");
  EXPECT_EQ(profile->symbols, 50);
  EXPECT_EQ(profile->quotes_per_trade, 3);
  EXPECT_EQ(profile->seed, 9u);
  EXPECT_DOUBLE_EQ(profile->UpdatesPerSecond(), (1'000 + 8'000 + 1'000) / 4.0);
}

TEST(Profile, ReadsTheExample) {
  const absl::StatusOr<Profile> close = LoadProfile("examples/close.toml");
  ASSERT_TRUE(close.ok()) << close.status();
  EXPECT_EQ(close->name, "close");
  EXPECT_NEAR(close->UpdatesPerSecond(), (1'200 * 30 + 480 * 60 + 110 * 120 + 10 * 400) / 1.8, 1);
}

TEST(Profile, KeepsItsShapeAtAnotherRate) {
  Profile profile = *LoadProfile("bursts");
  profile.SetUpdatesPerSecond(4'800);
  EXPECT_DOUBLE_EQ(profile.phases[0].rate, 4'000);
  EXPECT_DOUBLE_EQ(profile.phases[1].rate, 12'000);
  EXPECT_NEAR(profile.UpdatesPerSecond(), 4'800, 1e-6);
}

TEST(Profile, NamesThePlaceOfWhatIsWrong) {
  const auto error = [](std::string_view text) {
    return std::string(Message(ParseProfile(text, "p.toml").status()));
  };
  EXPECT_THAT(error("rate = -1\n"), HasSubstr("p.toml:1:8: rate: expected a number above 0"));
  EXPECT_THAT(error("speed = 1\n"), HasSubstr("p.toml:1:1: speed: unknown key"));
  EXPECT_THAT(error("rate = 5\n[[phase]]\nseconds = 1\nrate = 1\n"),
              HasSubstr("rate: expected either this or [[phase]]"));
  EXPECT_THAT(error("[[phase]]\nseconds = 1\n"), HasSubstr("an update in one of them"));
}

}  // namespace
}  // namespace tickstack::loadtest
