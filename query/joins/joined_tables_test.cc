// Goal: a table that consists of several captured ones, one behind the other, answers like one
// table with all of their rows.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "query/testing.h"

namespace tickstack::query {
namespace {

// Queries that use every way to read a table: ranges and scattered rows, the index, bounds of
// times, groups by symbol and by value, joins, sorts, lists.
constexpr std::string_view kQueries[] = {
    "count T",
    "cols T",
    "select from T",
    "T 150",
    "T[`price]",
    "select from T where sym=`s1",
    "select from T where sym in `s0`s2",
    "select from T where sym<>`s1,price>50",
    "select count i by sym from T",
    "select sum size,first price,last time by sym from T",
    "select from T where sym=`s1,time within 0D00:00:20 0D00:02",
    "select time,price from T where time>0D00:01",
    "select avg price by 0D00:01 xbar time from T",
    "select max price by sym,time.minute from T where size>3",
    "select wavg[size;price],dev price by sym from T where sym in `s1`s2",
    "exec distinct sym from T",
    "select distinct sym,size from T",
    "select i from T where sym=`s2",
    "select by sym from T",
    "select[5;>price] from T",
    "select[-7] from T where size=2",
    "`price xdesc T",
    "select text from T where i within 95 105",
    "exec last text by sym from T",
    "select sums size,prev price by sym from T",
    "aj[`sym`time;T;T]",
    "aj[`sym`time;select sym,time from T;select sym,time,bid:price from T]",
    "aj[`sym`time;select sym,time,size from T where sym=`s1;T]",
};

// Replaces T in a query by the name of a table.
std::string Over(std::string_view query, std::string_view table) {
  std::string text;
  for (const char c : query) {
    if (c == 'T') {
      text += table;
    } else {
      text += c;
    }
  }
  return text;
}

class SplitTables : public TestEnvironment {
 public:
  // Makes `whole`, and `joined` with the same rows in parts that end before `ends`.
  SplitTables(std::mt19937& random, size_t rows, const std::vector<size_t>& ends) {
    std::string time, sym, price, size, text;
    for (size_t i = 0; i < rows; ++i) {
      time += fmt::format(" {}", i * 1'000'000'000 + random() % 900'000'000);
      sym += fmt::format("`s{}", random() % 3);
      price += fmt::format(" {}.5", random() % 100);
      size += fmt::format(" {}", random() % 5);
      text += fmt::format("{}\"t{} \"", i == 0 ? "" : ";", random() % 4);
    }
    const std::string all = fmt::format("([]time:`timespan${};sym:{};price:{};size:{};text:({}))",
                                        time, sym, price, size, text);
    CaptureTable("whole", all);
    std::vector<std::string> parts;
    size_t begin = 0;
    for (const size_t end : ends) {
      parts.push_back(fmt::format("part{}", parts.size()));
      CaptureTable(parts.back(), fmt::format("select[{} {}] from whole", begin, end - begin));
      begin = end;
    }
    JoinTables("joined", parts);
  }
};

TEST(JoinedTables, AnswerAsTheWholeTable) {
  std::mt19937 random(7);
  for (const std::vector<size_t>& ends : {std::vector<size_t>{100, 200},
                                          {0, 1, 64, 200},
                                          {199, 200},
                                          {200, 200},
                                          {63, 64, 65, 200}}) {
    SplitTables tables(random, 200, ends);
    for (const std::string_view query : kQueries) {
      ASSERT_EQ(tables.Ask(Over(query, "joined")), tables.Ask(Over(query, "whole")))
          << query << ", parts " << ends.size();
    }
  }
}

// Goal: each query has an answer; otherwise the test above would compare errors.
TEST(JoinedTables, AreAskedWhatCanBeAnswered) {
  std::mt19937 random(7);
  SplitTables tables(random, 200, {200});
  for (const std::string_view query : kQueries) {
    EXPECT_FALSE(tables.Ask(Over(query, "whole")).starts_with("'"))
        << query << ": " << tables.Ask(Over(query, "whole"));
  }
}

TEST(JoinedTables, KeyedTablesKeepTheirKeys) {
  TestEnvironment tables;
  tables.CaptureTable("day1", "([sym:`a`b;minute:09:30 09:30]v:1 2)");
  tables.CaptureTable("day2", "([sym:`b`a;minute:09:31 09:31]v:3 4)");
  tables.CaptureTable("both", "([sym:`a`b`b`a;minute:09:30 09:30 09:31 09:31]v:1 2 3 4)");
  tables.JoinTables("joined", {"day1", "day2"});
  for (const std::string_view query :
       {"T", "keys T", "select from T where sym=`a", "select sum v by sym from T"}) {
    EXPECT_EQ(tables.Ask(Over(query, "joined")), tables.Ask(Over(query, "both"))) << query;
  }
}

}  // namespace
}  // namespace tickstack::query
