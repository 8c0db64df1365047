#include "wire/http_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tickstack::wire {
namespace {

using testing::HasSubstr;
using testing::Not;

Value Longs(size_t count) {
  std::vector<int64_t> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<int64_t>(i);
  return Value::Vector(Type::kLong, std::span<const int64_t>(values));
}

TEST(AnswerPage, ShowsATable) {
  const Value table =
      Value::Table({"sym", "size"}, {Value::Symbols({"IBM", ""}), Value::Longs({100, kNullLong})});
  const std::string page = AnswerPage("select from t", table);
  EXPECT_THAT(page, HasSubstr("<th>sym</th><th class=\"n\">size</th>"));
  EXPECT_THAT(page, HasSubstr("<tr><td>IBM</td><td class=\"n\">100</td></tr>"));
  EXPECT_THAT(page, HasSubstr("<tr><td></td><td class=\"n\"></td></tr>")) << "nulls are blank";
  EXPECT_THAT(page, HasSubstr("<p>2 rows</p>"));
  EXPECT_THAT(page, HasSubstr("href=\"/answer.csv?select%20from%20t\""));
}

TEST(AnswerPage, MarksKeys) {
  const Value keyed = Value::KeyedTable(Value::Table({"sym"}, {Value::Symbols({"IBM"})}),
                                        Value::Table({"n"}, {Value::Longs({1})}));
  EXPECT_THAT(AnswerPage("", keyed),
              HasSubstr("<tr><td class=\"k\">IBM</td><td class=\"n\">1</td></tr>"));
}

// Goal: nothing that a value, a name or a question holds becomes markup.
TEST(AnswerPage, EscapesEverything) {
  const std::string evil = "<script>\"'&</textarea>";
  const Value table = Value::Table({evil}, {Value::List({Value::String(evil)})});
  for (const std::string& page :
       {AnswerPage(evil, table), AnswerPage(evil, Value::String(evil)), ErrorPage(evil, evil),
        AnswerPage(evil, Value::Dict(Value::Symbols({evil}), Value::Symbols({evil}))),
        IndexPage({evil})}) {
    EXPECT_THAT(page, Not(HasSubstr("<script")));
    EXPECT_THAT(page, HasSubstr("&lt;script&gt;"));
    const size_t end = page.find("</textarea>");
    EXPECT_EQ(page.find("</textarea>", end + 1), std::string::npos) << page;
  }
}

TEST(AnswerPage, ShowsTheFirstRowsOfMany) {
  const std::string page = AnswerPage("t", Value::Table({"x"}, {Longs(kPageRows + 5)}));
  EXPECT_THAT(page, HasSubstr("<td class=\"n\">999</td>"));
  EXPECT_THAT(page, Not(HasSubstr("<td class=\"n\">1000</td>")));
  EXPECT_THAT(page, HasSubstr("showing the first 1000 of 1005 rows"));
}

TEST(AnswerPage, ShowsWhatIsNoTableAsQDoes) {
  EXPECT_THAT(AnswerPage("x", Value::Longs({1, 2})), HasSubstr("<pre>1 2\n</pre>"));
  EXPECT_THAT(AnswerPage("x", Value()), HasSubstr("the expression has no result"));
}

TEST(ErrorPage, KeepsTheQuestion) {
  const std::string page = ErrorPage("1+`a", "'type");
  EXPECT_THAT(page, HasSubstr("\n1+`a</textarea>"));
  EXPECT_THAT(page, HasSubstr("<p class=\"error\">&#39;type</p>"));
}

TEST(IndexPage, LinksToTables) {
  EXPECT_THAT(IndexPage({"trade"}),
              HasSubstr("<a href=\"/?select%5B-100%5D%20from%20trade\">trade"));
  EXPECT_THAT(IndexPage({}), HasSubstr("no tables"));
}

}  // namespace
}  // namespace tickstack::wire
