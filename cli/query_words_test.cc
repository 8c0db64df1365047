#include "cli/query_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/line_editor.h"

namespace tickstack::cli {
namespace {

using testing::ElementsAre;

std::string WordOf(std::string_view text) { return std::string(text.substr(BeginOfWord(text))); }

TEST(QueryWords, AreNamesThatEndHere) {
  EXPECT_EQ(WordOf("select pri"), "pri");
  EXPECT_EQ(WordOf("max(pri"), "pri");
  EXPECT_EQ(WordOf("2*time.mi"), "time.mi");
  EXPECT_EQ(WordOf(".u.s"), ".u.s");
  EXPECT_EQ(WordOf("`tr"), "tr");
  EXPECT_EQ(WordOf("trade_mi"), "trade_mi");
  for (const char* none : {"", "select ", "1+", "12", "2013.10", "f["}) EXPECT_EQ(WordOf(none), "");
}

TEST(QueryWords, GoOnWhileSomethingIsOpen) {
  for (const char* open : {"(1;2", "f[x", "{x+y", "\"text", "\"a\\\"", "((1)", "f[\"]"}) {
    EXPECT_TRUE(IsIncomplete(open)) << open;
  }
  for (const char* closed :
       {"", "1+1", "(1;2)", "\"(\"", "\"a\\\"\"", "1 / a ( in a comment", "1)", "sum/[(1;2)]"}) {
    EXPECT_FALSE(IsIncomplete(closed)) << closed;
  }
  EXPECT_TRUE(IsIncomplete("(1 / a ) in a comment\n;2"));
}

TEST(QueryWords, AScriptHasAStatementALine) {
  const std::vector<Statement> found =
      StatementsOf("/ a comment\n1+1\n\nselect from trade\n  where sym=`a\r\n\n  ,size>1\n2");
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].line, 2u);
  EXPECT_EQ(found[0].text, "1+1");
  EXPECT_EQ(found[1].line, 4u);
  EXPECT_EQ(found[1].text, "select from trade\n  where sym=`a\n  ,size>1");
  EXPECT_EQ(found[2].line, 8u);
  EXPECT_TRUE(StatementsOf("").empty());
}

TEST(QueryWords, CompleteWhatBeginsAlike) {
  const std::vector<std::string> words = {"price", "prev", "prior", "size"};
  EXPECT_THAT(WordsThatBegin(words, "pr"), ElementsAre("price", "prev", "prior"));
  EXPECT_THAT(WordsThatBegin(words, "x"), ElementsAre());
  EXPECT_EQ(CommonBegin({"price", "prior"}), "pri");
  EXPECT_EQ(CommonBegin({"price"}), "price");
  EXPECT_EQ(CommonBegin({}), "");
}

}  // namespace
}  // namespace tickstack::cli
