// Goal: docs/q.md tells the truth. Method: run each line that starts with `q)` in it and compare
// with the line below.

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "query/testing.h"

namespace tickstack::query {
namespace {

TEST(Docs, EveryExampleOfTheSubsetGivesTheResultBelowIt) {
  TestEnvironment environment;
  AddSampleTables(environment);
  std::ifstream file("docs/q.md");
  ASSERT_TRUE(file) << "run from the root of the source tree";
  int examples = 0;
  std::string line, result;
  while (std::getline(file, line)) {
    if (!line.starts_with("q)")) continue;
    ASSERT_TRUE(std::getline(file, result)) << line;
    EXPECT_EQ(environment.Ask(line.substr(2)), result) << line;
    ++examples;
  }
  EXPECT_GE(examples, 40);
}

}  // namespace
}  // namespace tickstack::query
