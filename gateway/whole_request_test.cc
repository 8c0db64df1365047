// Goal: only requests that mean the same in an rdb are sent to one as they are. Method: requests of
// each kind.

#include "gateway/whole_request.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace tickstack::gateway {
namespace {

// Returns "whole", "whole, once" if it may not be sent twice, or "here".
std::string KindOf(const Value& request, bool has_all_days = false) {
  bool only_reads = false;
  const auto is_own = [](std::string_view name) { return name == "mine" || name == "past"; };
  if (!IsForOneProcess(request, is_own, has_all_days, &only_reads)) return "here";
  return only_reads ? "whole" : "whole, once";
}

Value ListOf(std::vector<Value> items) { return Value::List(std::move(items)); }

TEST(WholeRequestTest, WhatOneProcessCanAnswerIsWhole) {
  for (const char* const text :
       {"1+1", "select from trade", "select max price by 0D00:01 xbar time from trade where sym=`A",
        "aj[`sym`time;trade;quote]", "exec last price from trade where time>.z.n-0D01",
        "count trade", "?[`trade;();0b;()]", "trade lj select last bid by sym from quote",
        "sum each til each 3 4", "select from trade where size>avg size", "meta trade",
        "f[trade;1]", "?[101b;1 2 3;0]"}) {
    EXPECT_EQ(KindOf(Value::String(text)), "whole") << text;
  }
}

TEST(WholeRequestTest, WhatDependsOnTheClientOrOtherProcessesIsNot) {
  for (const char* const text : {"",
                                 "select from trade where date=.z.d",
                                 "date",
                                 "count date",
                                 "x:1",
                                 "mine+1",
                                 "select from trade where sym in mine",
                                 "past",
                                 "select from past",
                                 ".z.w",
                                 ".z.u",
                                 "\\p",
                                 "system \"p\"",
                                 "value \"1+1\"",
                                 ".Q.pv",
                                 ".hdb.stats[]",
                                 ".gateway.stats[]",
                                 ".gateway.stats",
                                 "{x+1}[2]",
                                 "update price:1f from trade",
                                 "tables[]",
                                 "1+)",
                                 "?[`trade;enlist(=;`date;2024.01.30);0b;()]",
                                 "?[`mine;();0b;()]",
                                 "eval(+;1;1)",
                                 "select date from trade",
                                 "select from trade where date.month=2024.01m",
                                 "v::trade",
                                 "`t set trade",
                                 "mine[]",
                                 "date[]",
                                 "6?100",
                                 "-3?trade",
                                 "?[10;100]",
                                 "rand 5",
                                 "rand each 5 6",
                                 "10 20(?)'100",
                                 "select from trade where i in 5?100",
                                 "select from select from past"}) {
    EXPECT_EQ(KindOf(Value::String(text)), "here") << text;
  }
}

TEST(WholeRequestTest, AProcessWithAllDaysAnswersWhatNamesThem) {
  for (const char* const text : {"select from trade where date=2024.01.30", "date",
                                 "?[`trade;enlist(=;`date;last date);0b;()]", "cols trade",
                                 "select from trade where date.month=2024.01m"}) {
    EXPECT_EQ(KindOf(Value::String(text), /*has_all_days=*/true), "whole") << text;
  }
  EXPECT_EQ(KindOf(Value::String("select from mine where date=2024.01.30"), true), "here");
}

TEST(WholeRequestTest, FunctionsOfTheProcessAreCalledOnce) {
  EXPECT_EQ(KindOf(Value::String(".rdb.latency[`reset]")), "whole, once");
  EXPECT_EQ(KindOf(Value::String(".rdb.stats[]")), "whole, once");
}

TEST(WholeRequestTest, ListsApplyTextsAndNames) {
  EXPECT_EQ(KindOf(ListOf({Value::String("+"), Value::Long(1), Value::Long(2)})), "whole");
  EXPECT_EQ(KindOf(ListOf({Value::Symbol("count"), Value::Symbol("trade")})), "whole");
  EXPECT_EQ(KindOf(ListOf({Value::Symbol("count"), Value::Symbol("past")})), "here");
  EXPECT_EQ(KindOf(ListOf({Value::Symbol("mine"), Value::Long(1)})), "here");
  EXPECT_EQ(KindOf(ListOf({Value::String("{x}"), Value::Long(1)})), "here");
  EXPECT_EQ(KindOf(ListOf({Value::Long(1), Value::Long(1)})), "here");
  EXPECT_EQ(KindOf(ListOf({Value::String("?"), Value::Long(5), Value::Long(9)})), "here");
  EXPECT_EQ(KindOf(ListOf({Value::Symbol("rand"), Value::Long(9)})), "here");
  EXPECT_EQ(KindOf(Value::Long(1)), "here");
  EXPECT_EQ(KindOf(Value::Symbol("trade")), "here");
}

}  // namespace
}  // namespace tickstack::gateway
