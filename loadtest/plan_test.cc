#include "loadtest/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status.h"

namespace tickstack::loadtest {
namespace {

using testing::HasSubstr;

constexpr uint64_t kGiB = uint64_t{1} << 30;

PlanInput Input(std::vector<PlanInput::Stack> stacks, std::map<std::string, uint64_t> free) {
  PlanInput input;
  input.profile.seconds = 60;
  input.stacks = std::move(stacks);
  input.free.bytes = std::move(free);
  return input;
}

TEST(Plan, TheRowsOfARunAreThoseOfItsRate) {
  Profile profile;
  profile.seconds = 11;
  profile.rate = 1'000;
  EXPECT_EQ(RowsOfRun(profile), (RowCounts{10'000, 1'000}));
}

TEST(Plan, TakesThePapersRowsWhereTheyFit) {
  const absl::StatusOr<Plan> plan =
      PlanPrestress(Input({{1, {"memory"}}}, {{"memory", 900 * kGiB}}));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->prestress, (RowCounts{kPaperQuotes, kPaperTrades}));
  EXPECT_THAT(plan->explanation, HasSubstr("as the paper's"));
}

// Goal: what is planned fits, and a tenth more would not. Method: stacks that share places.
TEST(Plan, SharesTheTightestPlaceAmongItsRdbs) {
  const PlanInput input = Input({{2, {"memory"}}, {3, {"files", "memory"}}, {1, {"files"}}},
                                {{"memory", 30 * kGiB}, {"files", 8 * kGiB}});
  const absl::StatusOr<Plan> plan = PlanPrestress(input);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->explanation, HasSubstr("what fits files"));
  const uint64_t each = TierBytes(plan->prestress, input.profile);
  EXPECT_LE(4 * each, 8 * kGiB * 3 / 4);
  EXPECT_GT(4 * each, 8 * kGiB * 3 / 4 * 9 / 10);
  EXPECT_NEAR(
      static_cast<double>(plan->prestress.quotes) / static_cast<double>(plan->prestress.trades),
      650.0 / 85, 0.8);
}

TEST(Plan, ReckonsWithTheLogs) {
  PlanInput input = Input({{1, {"memory"}}}, {{"memory", 30 * kGiB}, {"disk", kGiB}});
  input.logs = {"disk"};
  EXPECT_TRUE(PlanPrestress(input).ok());
  input.profile.seconds = 3'600;
  EXPECT_THAT(Message(PlanPrestress(input).status()), HasSubstr("disk: "));
}

TEST(Plan, StaysWithinTheTierOfAStacksOwnFile) {
  const PlanInput input = Input({{1, {"memory"}, 2 * kGiB}}, {{"memory", 900 * kGiB}});
  const absl::StatusOr<Plan> plan = PlanPrestress(input);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_LT(BytesOfRows(plan->prestress) + BytesOfRows(RowsOfRun(input.profile)), 2 * kGiB);
}

TEST(Plan, RefusesWhatWasAskedForAndDoesNotFit) {
  PlanInput input = Input({{1, {"memory"}}}, {{"memory", 8 * kGiB}});
  input.quotes = 1'000'000;
  const absl::StatusOr<Plan> asked = PlanPrestress(input);
  ASSERT_TRUE(asked.ok()) << asked.status();
  EXPECT_EQ(asked->prestress, (RowCounts{1'000'000, 0}));
  input.quotes = 500'000'000;
  const absl::Status refused = PlanPrestress(input).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(refused), HasSubstr("500,000,000 quotes"));
  EXPECT_THAT(Message(refused), HasSubstr("memory has room for"));
}

TEST(Plan, RefusesARunThatDoesNotFitAtAll) {
  PlanInput input = Input({{1, {"memory"}}}, {{"memory", kGiB}});
  input.profile.seconds = 3'600;
  EXPECT_THAT(Message(PlanPrestress(input).status()), HasSubstr("memory: "));
}

TEST(Plan, LooksAtThisMachine) {
  const std::vector<StackSpec> stacks =
      NameStacks({*ParsePlacement("dram:2"), *ParsePlacement("filesystem:/tmp")});
  const absl::StatusOr<PlanInput> input = ReadMachine(Profile(), stacks, "/tmp");
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_GT(input->free.bytes.at("memory"), 0u);
  EXPECT_EQ(input->stacks[0].rdbs, 2);
  ASSERT_FALSE(input->logs.empty());
  EXPECT_EQ(input->logs, input->stacks[1].rows) << "one file system, one place";
  EXPECT_FALSE(
      ReadMachine(Profile(), NameStacks({*ParsePlacement("filesystem:/nowhere")}), "/tmp").ok());
}

}  // namespace
}  // namespace tickstack::loadtest
