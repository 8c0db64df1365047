#pragma once

// Real files to test against: logs, databases and tick archives that others wrote. They are not
// part of this repository; a test that finds none is skipped, and says so.
//
//   TEST(LeanSource, ReadsADay) {
//     TS_REQUIRE_FIXTURE(path, "lean-ticks/aig/20131007_trade.zip");
//
// TICKSTACK_FIXTURES names their folder (`../shared/fixtures` beside the source tree by default).
// With TICKSTACK_REQUIRE_FIXTURES=1, as in continuous integration, a missing fixture is a failure.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

namespace tickstack {

inline std::filesystem::path FixturePath(std::string_view name) {
  const char* folder = std::getenv("TICKSTACK_FIXTURES");
  return std::filesystem::path(folder != nullptr ? folder : "../shared/fixtures") / name;
}

inline bool FixturesAreRequired() {
  const char* required = std::getenv("TICKSTACK_REQUIRE_FIXTURES");
  return required != nullptr && std::string_view(required) == "1";
}

}  // namespace tickstack

// Defines `variable` as the path of fixture `name`, or ends the test: skipped, or failed if
// fixtures are required.
#define TS_REQUIRE_FIXTURE(variable, name)                                                 \
  const std::filesystem::path variable = ::tickstack::FixturePath(name);                   \
  if (!std::filesystem::exists(variable)) {                                                \
    if (::tickstack::FixturesAreRequired()) FAIL() << "no fixture " << variable;           \
    GTEST_SKIP() << "no fixture " << variable << " (TICKSTACK_FIXTURES names the folder)"; \
  }                                                                                        \
  static_cast<void>(0)
