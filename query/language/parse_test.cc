// Goal: a parse tree is as the public reference says (code.kx.com/q/ref/parse), and evaluating it
// equals evaluating its text.
// Method: pairs of a text and its tree; and a list of expressions, each evaluated in both ways.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "query/pair_testing.h"
#include "query/testing.h"

namespace tickstack::query {
namespace {

TEST(Parse, GivesTheTree) {
  constexpr Pair kPairs[] = {
      {"parse \"1+2\"", "(+;1;2)"},
      {"parse \"1 2 3\"", "1 2 3"},
      {"parse \"a\"", "`a"},
      {"parse \"`a\"", ",`a"},
      {"parse \"`a`b\"", ",`a`b"},
      {"parse \"f x\"", "`f`x"},
      {"parse \"max x\"", "(max;`x)"},
      {"parse \"1 2 3 +/: 5 7\"", "((/:;+);1 2 3;5 7)"},
      {"parse \"x f/: y\"", "((/:;`f);`x;`y)"},
      {"parse \"+/1 2 3\"", "((/;+);1 2 3)"},
      {"parse \"(1;`a)\"", "(enlist;1;,`a)"},
      {"parse \"x[1;]\"", "(`x;1;)"},
      {"parse \"f[]\"", "(`f;::)"},
      {"parse \"a:1\"", "(:;`a;1)"},
      {"parse \"a+:1\"", "(flip;`a;1)"},
      {"parse \"a[0]:1\"", "(:;(`a;0);1)"},
      {"parse \"a:1;b\"", "(\";\";(:;`a;1);`b)"},
      {"parse \"$[a;1;2]\"", "($;`a;1;2)"},
      {"parse \"if[a;b]\"", "`if`a`b"},
      {"parse \"{x+y}\"", "{x+y}"},
      {"parse \"select from t\"", "(?;`t;();0b;())"},
      {"parse \"select from t where a>1\"", "(?;`t;,,(>;`a;1);0b;())"},
      {"parse \"select max p by s from t where a>1,b=`x\"",
       "(?;`t;,((>;`a;1);(=;`b;,`x));,`s!,`s;,`p!,(max;`p))"},
      {"parse \"select distinct s from t\"", "(?;`t;();1b;,`s!,`s)"},
      {"parse \"select[5;>p] from t\"", "(?;`t;();0b;();5;,(idesc;`p))"},
      {"parse \"exec p from t\"", "(?;`t;();();,`p)"},
      {"parse \"exec max p by s from t\"", "(?;`t;();,`s;,(max;`p))"},
      {"parse \"exec a:p,q from t\"", "(?;`t;();();`a`q!`p`q)"},
      {"parse \"update p:2*p from t\"", "(!;`t;();0b;,`p!,(*;2;`p))"},
      {"parse \"update p:0 from `t\"", "(!;,`t;();0b;,`p!,0)"},
      {"parse \"delete p,q from t\"", "(!;`t;();0b;,`p`q)"},
      {"parse \"delete from t where a\"", "(!;`t;,,`a;0b;`symbol$())"},
      {"parse \"([]a:1 2)\"", "(flip;(!;,,`a;(enlist;1 2)))"},
      {"parse \"\"", "::"},
      {"parse \"'x\"", "'nyi: parse of a signal"},
      {"parse \"1+\"", "(+;1;)"},
      {"parse \"(1\"", "'("},
      {"parse 1", "'type"},
      {"parse \"wibble wobble\"", "`wibble`wobble"},
  };
  ExpectAll(kPairs);
}

TEST(Parse, UnaryFormsAndIteratorsAreValues) {
  constexpr Pair kPairs[] = {
      {"(#:) 1 2 3", "3"},
      {"(-:;#:;*:) @\\: 1 2", "(-1 -2;2;1)"},
      {"(#:)~count", "1b"},
      {"eval (#:;1 2 3)", "3"},
      {"?[trade;();();(#:;`i)]", "4"},
      {"?[trade;();0b;();2;(>:;`price)]", "2#`price xdesc trade"},
      {"type (/)", "103h"},
      {"eval (/;+)", "+/"},
      {"eval ((/;+);(til;(+;2;2)))", "6"},
      {"(;1) 5", "5 1"},
      {"(;)[1;2]", "1 2"},
      {"(1;;3) 2", "1 2 3"},
      {"(`a;) each 1 2", "((`a;1);(`a;2))"},
      {"(1;2", "'("},
  };
  TestEnvironment environment;
  AddSampleTables(environment);
  for (const Pair& pair : kPairs) {
    const bool expression = pair.result.find("xdesc") != std::string_view::npos;
    const std::string expected =
        expression ? environment.Ask(pair.result) : std::string(pair.result);
    EXPECT_EQ(environment.Ask(pair.expression), expected) << pair.expression;
  }
}

// `a`, `f`, `t` and `d` are variables of the request.
constexpr std::string_view kExpressions[] = {
    "1+2*3",
    "a",
    "`a",
    "a*2-a",
    "max 1 5 2",
    "f[1;2]",
    "f[;2] 1",
    "f[1]'[2 3]",
    "neg each 1 2 3",
    "1 2+/:3 4",
    "1 2,\\:3 4",
    "(+/)1 2 3",
    "+/[10;1 2]",
    "f/[1 2 3]",
    "a within 1 10",
    "a<>3",
    "(1 2;3 4)[1;0]",
    "(1 2;3 4)[;0]",
    "(1;`a;\"text\";2.5)",
    "(1;2;3;4;5;6;7;8;9;10)",
    "`a`b!1 2",
    "d`b",
    "d[`b]+1",
    "$[a>3;`big;`small]",
    "$[0b;1;0b;2;3]",
    "b:a+1;b*2",
    "b:1 2 3;b[1]:9;b",
    "b:1 2 3;b[0 2]+:10;b",
    "b:5;b+:1;b-:2;b",
    "b:0;i:0;while[i<5;b+:i;i+:1];b",
    "b:0;do[3;b+:2];b",
    "b:0;if[a>1;b:7];b",
    "b:1;{b::x}[5];b",
    "{x+y}[1;2]",
    "{[u]u*2} each 1 2",
    "'[neg;+][1;2]",
    "([]x:1 2;y:`p`q)",
    "([]x:1 2;y:5)",
    "([k:`p`q]v:1 2)",
    "enlist 5",
    "()",
    "\"abc\"",
    "value \"1+1\"",
    "@[{1+`a};0;{x}]",
    "2013.10.07D09:30 2013.10.07D09:31",
    "count trade",
    "trade[1;`price]",
    "select from trade",
    "select price,size from trade where sym=`aig",
    "select price from trade where sym in `aig`bac,size>150,time within 09:31 09:32",
    "select notional:price*size,price from trade",
    "select last price,sum size by sym from trade",
    "select n:count i,price wavg size by sym,time.minute from trade where size>100",
    "select by sym from trade",
    "select distinct sym from trade",
    "select[2] from trade",
    "select[-1] sym from trade",
    "select[2;>price] sym,price from trade",
    "select[<size] size from trade",
    "select[1 2] size from trade",
    "select s:`x,n:1 from trade",
    "select price,price,2*price from trade",
    "select from trade where price=(max;price) fby sym",
    "select from (select sum size by sym from trade) where size>500",
    "select from trade where cond like \"A*\"",
    "select n:count each cond from trade",
    "select f[size;1] from trade",
    "select from trade where size>a*50",
    "select from trade where (sym=`aig)|size>300",
    "exec price from trade",
    "exec max price from trade where sym=`bac",
    "exec hi:max price,lo:min price from trade",
    "exec p:price from trade",
    "exec price by sym from trade",
    "exec sum size by sym from trade",
    "exec last price,sum size by sym from trade",
    "exec m:max price by sym from trade",
    "exec price by s:sym from trade",
    "exec max price by sym,time.minute from trade",
    "exec from trade",
    "exec distinct sym from trade",
    "exec `x from trade",
    "update price:2*price from trade",
    "update price:0f from trade where sym=`aig",
    "update hi:max price by sym from trade",
    "update s:`x,n:1 from trade where size>100",
    "update x:a from t",
    "update x:x+1 from `t;t",
    "delete from trade where size>150",
    "delete from trade where sym=`aig,size>100",
    "delete time,cond from trade",
    "delete size from select sym,size from trade",
    "delete from `t where x=1;t",
    "aj[`sym`time;trade;quote]",
    "(select sum size by sym from trade) lj select last bid by sym from quote",
    "wj[(exec time from trade;exec time from trade);`sym`time;trade;(quote;(max;`ask))]",
    "t,t",
    "`t upsert 9;t",
    "t[0;`x]:7;t",
};

TEST(Parse, ToEvaluateTheTreeIsToEvaluateTheText) {
  constexpr std::string_view kVariables = "a:5;f:{x+y};t:([]x:1 2 3);d:`a`b!1 2;";
  TestEnvironment environment;
  AddSampleTables(environment);
  for (const std::string_view expression : kExpressions) {
    std::string quoted;
    for (const char c : expression) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    const std::string expected = environment.Ask(std::string(kVariables) + std::string(expression));
    EXPECT_NE(expected[0], '\'') << expression << " " << expected;
    EXPECT_EQ(environment.Ask(fmt::format("{}eval parse \"{}\"", kVariables, quoted)), expected)
        << expression << "\n"
        << environment.Ask(fmt::format("parse \"{}\"", quoted));
  }
}

}  // namespace
}  // namespace tickstack::query
