// Goal: an error has the position of the token at fault in the text of the request, or of the call
// that led to it. Method: a caret under each expression.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "query/columns/errors.h"
#include "query/language/kept_names.h"
#include "query/query.h"
#include "query/testing.h"

namespace tickstack::query {
namespace {

std::string CaretOf(const absl::Status& status) {
  const std::optional<size_t> position = PositionOf(status);
  return position ? std::string(*position, ' ') + "^" : "none";
}

struct Marked {
  std::string_view text, caret;
};

TEST(ErrorPosition, IsThatOfTheToken) {
  constexpr Marked kMarked[] = {
      {"1+`a",  //
       " ^"},
      {"1+foo",  //
       "  ^"},
      {"1;2;`a+1",  //
       "      ^"},
      {"(1;2",  //
       "^"},
      {"1+)",  //
       "  ^"},
      {"2+\"abc",  //
       "  ^"},
      {"1+1x3 4",  //
       "  ^"},
      {"1+\x01",  //
       "  ^"},
      {"\"\xc3\xa9\",1+`a",  //
       "      ^"},
      {"a:1+`b",  //
       "   ^"},
      {"count 1+`a",  //
       "       ^"},
      {"(1;2+`a;3)",  //
       "    ^"},
      {"sum[1;2]",  //
       "^"},
      {"`a`b!1 2 3",  //
       "    ^"},
      {"$[1b;1+`a;2]",  //
       "      ^"},
      {"select price+`a from trade",  //
       "            ^"},
      {"select from nowhere",  //
       "            ^"},
      {"select from trade where prce>1",  //
       "                        ^"},
      {"select sum price by 1+`a from trade",  //
       "                     ^"},
      {"{x+`a} 1",  //
       "  ^"},
      {"{x+`a} each 1 2",  //
       "  ^"},
      {"{n:2;:x+n} `a",  //
       "       ^"},
      {"'oops",  //
       " ^"},
  };
  TestEnvironment environment;
  AddSampleTables(environment);
  for (const Marked& marked : kMarked) {
    const absl::StatusOr<Value> result = Evaluate(marked.text, environment);
    ASSERT_FALSE(result.ok()) << marked.text;
    EXPECT_EQ(CaretOf(result.status()), marked.caret) << marked.text << "\n" << result.status();
  }
}

// Offsets in a text that the request makes, or in a library function's, mean nothing to its reader.
TEST(ErrorPosition, OfAnotherTextIsThatOfTheCall) {
  constexpr Marked kMarked[] = {
      {"2+value \"count 1+`a\"",  //
       "  ^"},
      {"2+value \"(1\"",  //
       "  ^"},
      {"  .j.k \"[1,\"",  //
       "  ^"},
      {"1+(parse \"{x+`a}\")[1]",  //
       "   ^"},
  };
  TestEnvironment environment;
  for (const Marked& marked : kMarked) {
    const absl::StatusOr<Value> result = Evaluate(marked.text, environment);
    ASSERT_FALSE(result.ok()) << marked.text;
    EXPECT_EQ(CaretOf(result.status()), marked.caret) << marked.text << "\n" << result.status();
  }
}

// A function that was kept has positions of the text that defined it.
TEST(ErrorPosition, IsUnknownToAClientThatKeepsNames) {
  TestEnvironment environment;
  KeptNames names;
  ASSERT_TRUE(EvaluateRequest(Value::String("f:{x;x;x;1+`a}"), environment, Limits{}, &names).ok());
  const absl::StatusOr<Value> result =
      EvaluateRequest(Value::String("f 1"), environment, Limits{}, &names);
  EXPECT_EQ(QErrorText(result.status()), "type");
  EXPECT_EQ(CaretOf(result.status()), "none");
}

}  // namespace
}  // namespace tickstack::query
