#include "wire/page_files.h"

#include <gtest/gtest.h>

#include <array>
#include <string_view>

#include "wire/http_question.h"

namespace tickstack::wire {
namespace {

constexpr std::array kFiles = {PageFile{"/", "text/html", "home"},
                               PageFile{"/console", "text/html", "console"},
                               PageFile{"/page/a.js", "text/javascript", "a"}};

std::string_view TextAt(std::string_view target) {
  const PageFile* const file = FindPageFile(kFiles, target);
  return file == nullptr ? "none" : file->text;
}

TEST(PageFiles, AreFoundByTheirPath) {
  EXPECT_EQ(TextAt("/page/a.js"), "a");
  EXPECT_EQ(TextAt("/page/a.js?v=1#top"), "a");
  EXPECT_EQ(TextAt("/console?select%20from%20trade"), "console");
  for (const std::string_view target :
       {"", "page/a.js", "/page/", "/page/a.jsx", "/page/../page/a.js", "/page/%61.js", "//"}) {
    EXPECT_EQ(TextAt(target), "none") << target;
  }
}

TEST(PageFiles, AQuestionAtTheRootIsNoFile) {
  EXPECT_EQ(TextAt("/"), "home");
  EXPECT_EQ(TextAt("/#feeds"), "home");
  EXPECT_EQ(TextAt("/?"), "none");
  EXPECT_EQ(TextAt("/?1+1"), "none");
}

TEST(PageFiles, NoQuestionHasThePathOfAFile) {
  for (const std::string_view target : {"/page/a.js", "/page/a.csv", "/page/a.txt", "/console"}) {
    EXPECT_FALSE(ParseTarget(target).has_value()) << target;
  }
}

}  // namespace
}  // namespace tickstack::wire
