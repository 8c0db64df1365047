// Goal: update and delete return changed copies, and ?[t;c;b;a] and ![t;c;b;a] equal the queries
// that they describe (code.kx.com/q/basics/funsql). Method: pairs.

#include <gtest/gtest.h>

#include "query/pair_testing.h"

namespace tickstack::query {
namespace {

TEST(FunctionalForms, UpdateAndDeleteAnswerAChangedCopy) {
  constexpr Pair kPairs[] = {
      {"update a:a*2 from ([]a:1 2)", "([]a:2 4)"},
      {"update a:`x from ([]a:1 2)", "([]a:`x`x)"},
      {"update b:a+1,c:5 from ([]a:1 2)", "([]a:1 2;b:2 3;c:5 5)"},
      {"update a:0 from ([]a:1 2 3) where a>1", "([]a:1 0 0)"},
      {"update a:`x from ([]a:1 2 3) where a>1", "'type"},
      {"update a:5i from ([]a:1 2 3) where a>1", "'type"},
      {"update a:`x from ([]a:`a`b`c) where a<>`b", "([]a:`x`b`x)"},
      {"update a:enlist 1 2 from ([]a:(1 2;3 4)) where i=1", "([]a:(1 2;1 2))"},
      {"update b:1 from ([]a:1 2 3) where a=2", "([]a:1 2 3;b:0N 1 0N)"},
      {"update b:`x from ([]a:1 2) where a=2", "([]a:1 2;b:``x)"},
      {"update a:0 from ([]a:1 2) where a>5", "([]a:1 2)"},
      {"update a:10 20 from ([]a:1 2 3) where a<3", "([]a:10 20 3)"},
      {"update a:1 2 3 from ([]a:1 2)", "'length"},
      {"update a:1 2 3 from ([]a:1 2) where a=1", "'length"},
      {"update a:a*2 from ([]a:0#0)", "([]a:`long$())"},
      {"update m:max a by b from ([]a:1 2 3;b:`x`y`x)", "([]a:1 2 3;b:`x`y`x;m:3 2 3)"},
      {"update a:a-first a by b from ([]a:1 2 5;b:`x`y`x)", "([]a:0 0 4;b:`x`y`x)"},
      {"update m:sums a by b from ([]a:1 2 5;b:`x`y`x) where a<3", "([]a:1 2 5;b:`x`y`x;m:1 2 0N)"},
      {"update v:v+1 from ([k:`a`b]v:1 2)", "([k:`a`b]v:2 3)"},
      {"update price:0f from `trade", "'assign: trade"},
      {"update price:0f from `vtrade", "'assign: vtrade"},
      {"update price:0f from `nope", "'nope"},
      {"delete from `trade", "'assign: trade"},
      {"t:([]a:1 2);update a:5 from `t", "`t"},
      {"t:([]a:1 2);delete from `t where a=1;t", "([]a:,2)"},
      {"{t:([]a:1 2);update a:5 from `t;t}[]", "([]a:5 5)"},
      {"exec price from update price:0f from trade where sym=`aig", "0 13.75 0 14"},
      {"exec price from trade", "48.5 13.75 48.25 14"},
      {"count update x:1 from trade", "4"},
      {"cols update x:1 from trade", "`time`sym`price`size`cond`x"},
      {"exec cond from update cond:enlist \"zz\" from trade where i=0",
       "(\"zz\";\"\";,\"C\";\"AB\")"},
      {"exec sym from update sym:`z from trade where price>48.3", "`z`bac`aig`bac"},
      {"update from trade", "'update"},
      {"delete from ([]a:1 2)", "([]a:`long$())"},
      {"delete from ([]a:1 2 3) where a=2", "([]a:1 3)"},
      {"delete a from ([]a:1 2;b:3 4)", "([]b:3 4)"},
      {"delete nope from ([]a:1 2)", "'nope"},
      {"delete a from ([]a:1 2)", "'length"},
      {"delete a from ([]a:1 2;b:1 2) where b=1", "'nyi: delete of columns where"},
      {"count delete from trade where sym=`aig,size>100", "3"},
      {"select from (update p:2*price from trade where sym=`aig) where p>96.9",
       "([]time:,2013.10.07D09:30:00.000000000;sym:,`aig;price:,48.5;size:,100i;cond:,\"AB\";p:,"
       "97f)"},
      {"select sum p by sym from update p:1 from trade", "([sym:`aig`bac]p:2 2)"},
      {"2#update p:til 4 from select sym from trade where size>0", "([]sym:`aig`bac;p:0 1)"},
  };
  ExpectAll(kPairs);
}

TEST(FunctionalForms, FunctionalFormsAreTheQueriesThatTheyDescribe) {
  constexpr std::pair<std::string_view, std::string_view> kSame[] = {
      {"?[trade;();0b;()]", "select from trade"},
      {"?[`trade;();0b;()]", "select from trade"},
      {"?[trade;enlist (=;`sym;enlist `aig);0b;()]", "select from trade where sym=`aig"},
      {"?[trade;((>;`size;100);(in;`sym;enlist `aig`bac));0b;()]",
       "select from trade where size>100,sym in `aig`bac"},
      {"?[trade;();0b;`a`b!(`price;(*;2;`size))]", "select a:price,b:2*size from trade"},
      {"?[trade;();1b;(enlist `sym)!enlist `sym]", "select distinct sym from trade"},
      {"?[trade;();(enlist `sym)!enlist `sym;`m`n!((max;`price);(count;`i))]",
       "select m:max price,n:count i by sym from trade"},
      {"?[trade;();(enlist `m)!enlist ($;enlist `minute;`time);(enlist `s)!enlist (sum;`size)]",
       "select s:sum size by m:`minute$time from trade"},
      {"?[trade;();();`price]", "exec price from trade"},
      {"?[trade;();();(max;`price)]", "exec max price from trade"},
      {"?[trade;();();`a`b!((max;`price);(min;`price))]",
       "exec a:max price,b:min price from trade"},
      {"?[trade;();`sym;`price]", "exec price by sym from trade"},
      {"?[trade;();`sym;(sum;`size)]", "exec sum size by sym from trade"},
      {"?[trade;();0b;();2]", "select[2] from trade"},
      {"?[trade;();0b;();-1]", "select[-1] from trade"},
      {"?[trade;enlist (within;`time;09:31 09:32);0b;()]",
       "select from trade where time within 09:31 09:32"},
      {"?[trade;enlist ({x>100};`size);0b;()]", "select from trade where size>100"},
      {"?[trade;();0b;(enlist `n)!enlist (each;count;`cond)]",
       "select n:count each cond from trade"},
      {"?[trade;();0b;(enlist `v)!enlist (wavg;`size;`price)]",
       "select v:size wavg price from trade"},
      {"![vtrade;();0b;(enlist `price)!enlist (*;2;`price)]", "update price:2*price from vtrade"},
      {"![trade;enlist (=;`sym;enlist `aig);0b;(enlist `price)!enlist 0f]",
       "update price:0f from trade where sym=`aig"},
      {"![trade;();(enlist `sym)!enlist `sym;(enlist `m)!enlist (max;`price)]",
       "update m:max price by sym from trade"},
      {"![trade;enlist (>;`size;150);0b;`symbol$()]", "delete from trade where size>150"},
      {"![trade;();0b;`time`cond]", "delete time,cond from trade"},
      {"?[trade;0 2;`price]", "trade[0 2;`price]"},
  };
  TestEnvironment environment;
  AddSampleTables(environment);
  environment.SetValue("vtrade", *Evaluate("select from trade", environment));
  for (const auto& [functional, text] : kSame) {
    const std::string expected = environment.Ask(text);
    EXPECT_NE(expected[0], '\'') << text << " " << expected;
    EXPECT_EQ(environment.Ask(functional), expected) << functional;
  }
  constexpr Pair kPairs[] = {
      {"eval (+;1;2)", "3"},
      {"eval (max;(enlist;1;5;2))", "5"},
      {"eval enlist `a", "`a"},
      {"eval enlist `a`b", "`a`b"},
      {"a:5;eval `a", "5"},
      // The variables of a lambda are not seen.
      {"a:5;{a:6;eval `a}[]", "5"},
      {"{a:6;eval `a}[]", "'a"},
      {"a:5;{a:6;eval (+;`a;1)}[]", "6"},
      {"{eval `x}[6]", "'x"},
      {"a:5;{a:6;(value `a;get `a;value \"a\";a)}[]", "5 5 5 6"},
      {"{a:6;value `a}[]", "'a"},
      {"eval (`max;1 2)", "2"},
      {"eval ($;1b;2;3)", "2"},
      {"eval 5", "5"},
      {"eval ({x+y};1;2)", "3"},
      {"eval (`system;\"ls\")", "'nyi: \\ls"},
      {"eval (value;\"hopen\")", "'nyi: hopen"},
      {"![`trade;();0b;(enlist `price)!enlist 0f]", "'assign: trade"},
      {"![`trade;();0b;`symbol$()]", "'assign: trade"},
      {"t:([]a:1 2);![`t;();0b;(enlist `a)!enlist 5];t", "([]a:5 5)"},
      {"?[`nope;();0b;()]", "'nope"},
      {"?[trade;();0b;5]", "'type"},
      {"?[trade;1;0b;()]", "'type"},
      {"![trade;();0b;5]", "'type"},
      {"![1;2;3]", "'rank"},
      {"10 20 30?20", "1"},
      {"10 20 30?20 99", "1 3"},
      {"`a`b?`b", "1"},
      {"\"abc\"?\"c\"", "2"},
      {"(1 2;3 4)?3 4", "1"},
      {"(\"ab\";\"cd\")?(\"cd\";\"x\")", "1 2"},
      {"(1;`a)?`a", "1"},
      {"(`a`b!1 2)?2", "`b"},
      {"(`a`b!1 2)?5", "`"},
      {"1 2 0N?0N", "2"},
      {"1 2?`a", "'type"},
      {"1 2.5?2.5", "1"},
      {"(0#0)?1", "0"},
      {"?[101b;1 2 3;4 5 6]", "1 5 3"},
      {"?[10b;1;2]", "1 2"},
      {"?[1b;1;2]", "1"},
      {"?[10b;1 2 3;2]", "'length"},
      {"(max;1 5 2 7) fby `a`a`b`b", "5 5 7 7"},
      {"({x-min x};1 5 2 7) fby `a`b`a`b", "0 0 1 2"},
      {"(sum;1 2 3) fby ([]a:`x`x`y;b:1 1 1)", "3 3 3"},
      {"(max;1 2) fby `a`b`c", "'length"},
      {"(max;1 5 2 7) fby \"abab\"", "2 7 2 7"},
      {"(sum;1 2 3) fby 101b", "4 2 4"},
      {"(sum;1 2 3) fby ([]a:\"xyx\";b:101b)", "4 2 4"},
      {"(sum;1 2) fby ([k:1 2]v:3 4)", "'type"},
      {"(sum;1 2) fby (\"a\";`b)", "1 2"},
      {"exec price from trade where price=(min;price) fby ([]sym;size>200)", "48.5 13.75 48.25 14"},
      {"select sym,price from trade where price=(max;price) fby sym",
       "([]sym:`aig`bac;price:48.5 14)"},
      {"exec sym from trade where 1<(count;i) fby sym", "`aig`bac`aig`bac"},
  };
  ExpectAll(kPairs);
}

}  // namespace
}  // namespace tickstack::query
