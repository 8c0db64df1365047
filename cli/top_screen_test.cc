#include "cli/top_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tickstack::cli {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

ProcessFigures Process(std::string name, std::optional<double> rows_in) {
  ProcessFigures process;
  process.name = std::move(name);
  process.role = "rdb";
  process.state = "live";
  process.answers = true;
  process.rows_in_per_s = rows_in;
  return process;
}

StackFigures Stack() {
  StackFigures figures;
  figures.day = "2020.03.09";
  figures.processes = {Process("beta", 1200), Process("alpha", std::nullopt),
                       Process("gamma", 34'000)};
  figures.processes[0].memory_bytes = 2048;
  figures.processes[1].answers = false;
  figures.processes[1].state = "down";
  figures.problems = {"alpha: refused"};
  figures.tiers = {{"beta", "dram", 1024, 2048, 0}};
  return figures;
}

std::vector<std::string> Names(const std::vector<std::string>& lines) {
  std::vector<std::string> names;
  for (size_t i = 3; i < 6; ++i) names.push_back(lines[i].substr(0, lines[i].find(' ')));
  return names;
}

TEST(TopScreen, ShowsProcessesProblemsAndTiers) {
  const std::vector<std::string> lines =
      TopLines(Stack(), {.title = "stack.toml", .time = "12:00:00"});
  EXPECT_EQ(lines[0], "12:00:00  stack.toml  2 of 3 processes answer  day 2020.03.09");
  EXPECT_THAT(lines[2], StartsWith("NAME"));
  EXPECT_THAT(lines, Contains(HasSubstr("1,200")));
  EXPECT_THAT(lines, Contains(HasSubstr("2.00 KiB")));
  EXPECT_THAT(lines, Contains("  alpha: refused"));
  EXPECT_THAT(lines, Contains("  beta dram: 1.00 KiB of 2.00 KiB, 50 %"));
  EXPECT_THAT(lines.back(), StartsWith("q quit"));
}

TEST(TopScreen, SortsTextsUpAndNumbersDown) {
  TopView view;
  EXPECT_THAT(Names(TopLines(Stack(), view)), ElementsAre("beta", "alpha", "gamma"));
  view.order = {true, TopColumn::kName};
  EXPECT_THAT(Names(TopLines(Stack(), view)), ElementsAre("alpha", "beta", "gamma"));
  view.order = {true, TopColumn::kRowsIn};
  EXPECT_THAT(Names(TopLines(Stack(), view)), ElementsAre("gamma", "beta", "alpha"));
  EXPECT_THAT(TopLines(Stack(), view)[2], HasSubstr("*ROWS/S IN"));
}

TEST(TopScreen, SteppingVisitsEachColumnAndTheOrderOfTheStack) {
  TopOrder order;
  order.Step(1);
  EXPECT_TRUE(order.by_column);
  EXPECT_EQ(order.column, TopColumn::kName);
  order.Step(-1);
  EXPECT_FALSE(order.by_column);
  order.Step(-1);
  EXPECT_EQ(order.column, TopColumn::kClients);
  order.Step(1);
  EXPECT_FALSE(order.by_column);
}

TEST(TopScreen, FitsEveryTerminal) {
  for (size_t width = 0; width < 150; ++width) {
    for (size_t height = 0; height < 15; ++height) {
      const std::vector<std::string> lines =
          TopLines(Stack(), {.title = "stack.toml", .width = width, .height = height});
      ASSERT_LE(lines.size(), height);
      for (const std::string& line : lines) ASSERT_LE(line.size(), width);
    }
  }
}

TEST(TopScreen, ANarrowTerminalLacksTheColumnsThatMatterLeast) {
  const std::string heads = TopLines(Stack(), {.width = 40})[2];
  EXPECT_THAT(heads, HasSubstr("STATE"));
  EXPECT_THAT(heads, HasSubstr("ROWS/S IN"));
  EXPECT_THAT(heads, Not(HasSubstr("CLIENTS")));
}

TEST(TopScreen, WithoutKeysTheLastLineIsNotAboutThem) {
  EXPECT_THAT(TopLines(Stack(), {.has_keys = false}), Each(Not(HasSubstr("q quit"))));
  EXPECT_THAT(TopLines({}, {.has_keys = false}), SizeIs(3));
}

TEST(TopScreen, HugeNumbersAreShown) {
  StackFigures figures;
  figures.processes = {Process("beta", std::numeric_limits<double>::infinity())};
  EXPECT_THAT(TopLines(figures, {}), Contains(HasSubstr("9,000,000,000,000,000")));
  EXPECT_TRUE(nlohmann::json::parse(TopJson(figures))["processes"][0]["rows_in_per_s"].is_null());
}

TEST(TopScreen, JsonHasTheFigures) {
  const nlohmann::json json = nlohmann::json::parse(TopJson(Stack()));
  EXPECT_EQ(json["day"], "2020.03.09");
  EXPECT_EQ(json["processes"][0]["rows_in_per_s"], 1200);
  EXPECT_TRUE(json["processes"][1]["rows_in_per_s"].is_null());
  EXPECT_EQ(json["processes"][1]["answers"], false);
  EXPECT_EQ(json["tiers"][0]["used_bytes"], 1024);
  EXPECT_EQ(json["problems"][0], "alpha: refused");
}

}  // namespace
}  // namespace tickstack::cli
