// The main function of a folder's tests. `--source=NAME.cc`, which may be repeated, runs only the
// tests of that source file; ctest runs each test of a CMakeLists.txt in a process of its own so.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace {

// Returns true if `path` is `source`, or ends with it below some folder.
bool IsSource(std::string_view path, std::string_view source) {
  if (!path.ends_with(source)) return false;
  return path.size() == source.size() || path[path.size() - source.size() - 1] == '/';
}

// Returns GoogleTest's filter for the tests of a source file; empty if it has none.
std::string GetFilter(std::string_view source) {
  std::string filter;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const testing::TestInfo& test = *suite.GetTestInfo(t);
      if (IsSource(test.file(), source)) filter += fmt::format("{}.{}:", suite.name(), test.name());
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::string_view kSource = "--source=";
  testing::InitGoogleMock(&argc, argv);
  std::string filter;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const bool names_source = argument.starts_with(kSource);
    const std::string tests = names_source ? GetFilter(argument.substr(kSource.size())) : "";
    if (tests.empty()) {
      fmt::print(stderr, "{}: {} {}\n", argv[0],
                 names_source ? "found no test for" : "expected --source=NAME.cc, found", argument);
      return 2;
    }
    filter += tests;
  }
  if (!filter.empty()) {
    if (testing::GTEST_FLAG(filter) != "*") {
      fmt::print(stderr, "{}: expected --source or --gtest_filter, found both\n", argv[0]);
      return 2;
    }
    testing::GTEST_FLAG(filter) = filter;
  }
  return RUN_ALL_TESTS();
}
