#include "serve/page_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>
#include <string_view>

namespace tickstack::serve {
namespace {

TEST(PageFiles, HaveDifferentPathsThatCollideWithNoName) {
  std::set<std::string_view> paths;
  for (const wire::PageFile& file : PageFiles()) {
    EXPECT_TRUE(paths.insert(file.path).second) << file.path;
    EXPECT_FALSE(file.text.empty()) << file.path;
    const bool is_page = file.content_type == "text/html; charset=utf-8";
    EXPECT_TRUE(is_page || file.path.starts_with("/page/")) << file.path;
    EXPECT_TRUE(!is_page || file.path.find('.') == std::string_view::npos) << file.path;
  }
}

// Goal: a page works without a network, and nothing in it needs an exception from the policy.
TEST(PageFiles, OfAPageNameOnlyOtherFilesAndHaveNoInlineCode) {
  const std::regex named(R"re((?:src|href)="([^"]*)")re");
  for (const wire::PageFile& file : PageFiles()) {
    if (!file.content_type.starts_with("text/html")) continue;
    const std::string text(file.text);
    for (std::sregex_iterator at(text.begin(), text.end(), named), end; at != end; ++at) {
      const std::string target = (*at)[1];
      const bool is_own = target.starts_with("#") || target.starts_with("data:") || target == "/" ||
                          target == "/?" || wire::FindPageFile(PageFiles(), target) != nullptr;
      EXPECT_TRUE(is_own) << file.path << " names " << target;
    }
    EXPECT_FALSE(std::regex_search(text, std::regex(R"re(<style|<script>| style=| on[a-z]+=)re")))
        << file.path;
  }
}

}  // namespace
}  // namespace tickstack::serve
