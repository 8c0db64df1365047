// Goal: taking, dropping and keying do what the reference says (code.kx.com/q/ref: take, drop,
// enkey, keys, distinct). Method: pairs.

#include <gtest/gtest.h>

#include "query/pair_testing.h"

namespace tickstack::query {
namespace {

TEST(Take, GivesItemsFromEitherEndAndGoesRound) {
  constexpr Pair kPairs[] = {
      {"5#0 1 2 3 4 5 6 7 8", "0 1 2 3 4"},
      {"-5#0 1 2 3 4 5 6 7 8", "4 5 6 7 8"},
      {"5#`Arthur`Steve`Dennis", "`Arthur`Steve`Dennis`Arthur`Steve"},
      {"-5#`Arthur`Steve`Dennis", "`Steve`Dennis`Arthur`Steve`Dennis"},
      {"3#9", "9 9 9"},
      {"2#`a", "`a`a"},
      {"0#1 2", "`long$()"},
      {"0#`a", "`symbol$()"},
      {"0#0n", "`float$()"},
      {"2#`long$()", "0N 0N"},
      {"3#\"ab\"", "\"aba\""},
      {"2#(1 2;`a;3)", "(1 2;`a)"},
      {"3i#1 2", "1 2 1"},
      {"0N#1 2", "'type"},
      {"1.5#1 2", "'type"},
      {"(1;`a)#1 2", "'type"},
      {"5000000000#1", "'limit"},
      {"2#`a`b`c!1 2 3", "`a`b!1 2"},
      {"-2#`a`b`c!1 2 3", "`b`c!2 3"},
      {"3#`a`b`c!1 2 3", "`a`b`c!1 2 3"},
      {"4#`a`b`c!1 2 3", "'nyi: # of more entries than there are"},
      {"-4#`a`b`c!1 2 3", "'nyi: # of more entries than there are"},
      {"`c`a#`a`b`c!1 2 3", "`c`a!3 1"},
      {"`c`z#`a`b`c!1 2 3", "`c`z!3 0N"},
      {"(enlist `z)#`a`b!(1;`x)", ",`z!,0N"},
      {"2#select size from trade", "([]size:100 200i)"},
      {"-1#select size from trade", "([]size:,400i)"},
      {"3#([]a:1 2)", "([]a:1 2 1)"},
      {"-3#([]a:1 2)", "([]a:2 1 2)"},
      {"3#([]a:`long$())", "([]a:0N 0N 0N)"},
      {"1#([k:`a`b]v:1 2)", "([k:,`a]v:,1)"},
      {"`size`sym#2#trade", "([]size:100 200i;sym:`aig`bac)"},
      {"`nope#trade", "'nope"},
      {"count 3#trade", "3"},
      {"exec 2#price from trade", "48.5 13.75"},
      {"exec -3#sym from trade where sym=`aig", "`aig`aig`aig"},
      {"select 2#size by sym from trade", "([sym:`aig`bac]size:(100 300i;200 400i))"},
  };
  ExpectAll(kPairs);
}

TEST(Take, MakesMatricesByTheirSizes) {
  constexpr Pair kPairs[] = {
      {"2 3#til 6", "(0 1 2;3 4 5)"},
      {"2 5#\"!\"", "(\"!!!!!\";\"!!!!!\")"},
      {"2 4#`a`b`c", "(`a`b`c`a;`b`c`a`b)"},
      {"2 2 3#til 5", "((0 1 2;3 4 0);(1 2 3;4 0 1))"},
      {"1 2 0#\"a\"", ",(\"\";\"\")"},
      {"(enlist 2)#til 10", "0 1"},
      {"2 3#0#0", "(0N 0N 0N;0N 0N 0N)"},
      {"2 2#(1;`a;\"x\")", "((1;`a);(\"x\";1))"},
      {"0N 3#til 10", "(0 1 2;3 4 5;6 7 8;,9)"},
      {"3 0N#til 10", "(0 1 2;3 4 5;6 7 8 9)"},
      {"4 0N#til 9", "(0 1;2 3;4 5;6 7 8)"},
      {"2 0N#0#0", "(`long$();`long$())"},
      {"2 2i#til 4", "(0 1;2 3)"},
      {"0 3#til 4", "()"},
      {"1 0 2#1 2", "'domain"},
      {"2 3 0N#1 2", "'domain"},
      {"0N 2 1#1 2", "'domain"},
      {"0N 0N#1 2", "'domain"},
      {"0N 0#1 2", "'domain"},
      {"-1 2 3#1 2", "'domain"},
      {"3000000 3000000#1", "'limit"},
      {"2 2#([]a:1 2)", "(([]a:1 2);([]a:1 2))"},
  };
  ExpectAll(kPairs);
}

TEST(Drop, LeavesWhatIsBehind) {
  constexpr Pair kPairs[] = {
      {"5_0 1 2 3 4 5 6 7 8", "5 6 7 8"},
      {"-5_0 1 2 3 4 5 6 7 8", "0 1 2 3"},
      {"1 _ `a`b`c!1 2 3", "`b`c!2 3"},
      {"9_1 2", "`long$()"},
      {"-9_1 2", "`long$()"},
      {"1_(1;`a)", ",`a"},
      {"type 1_(1;`a)", "11h"},
      {"type 2#(1;2;`a)", "7h"},
      {"1_\"abc\"", "\"bc\""},
      {"0 1 2 3_2", "0 1 3"},
      {"0 1 2_9", "0 1 2"},
      {"(`a`b`c!1 2 3)_`a", "`b`c!2 3"},
      {"`a _ `a`b`c!1 2 3", "`b`c!2 3"},
      {"`a`b _ `a`b`c!1 2 3", ",`c!,3"},
      {"`a`b _ ([]a:1 2;b:3 4;c:5 6)", "([]c:5 6)"},
      {"`a _ ([]a:1 2;b:3 4)", "'type"},
      {"`a`x _ ([]a:1 2;b:3 4)", "([]b:3 4)"},
      {"2_select size from trade", "([]size:300 400i)"},
      {"-3_select size from trade", "([]size:,100i)"},
      {"1_5", "'type"},
      {"2 4_til 6", "(2 3;4 5)"},
      {"exec 1_price from trade", "13.75 48.25 14"},
      {"exec 1_deltas price from trade where sym=`aig", ",-0.25"},
      {"a_b", "'a_b"},
  };
  ExpectAll(kPairs);
}

TEST(Keys, AreTheFirstColumns) {
  constexpr Pair kPairs[] = {
      {"1!([]a:1 2;b:3 4)", "([a:1 2]b:3 4)"},
      {"0!([a:1 2]b:3 4)", "([]a:1 2;b:3 4)"},
      {"2!([a:1 2]b:3 4;c:5 6)", "([a:1 2;b:3 4]c:5 6)"},
      {"0!select sum size by sym from trade", "([]sym:`aig`bac;size:400 600i)"},
      {"2!([]a:1 2;b:3 4)", "'length"},
      {"-1!([]a:1 2;b:3 4)", "'type"},
      {"0!`trade", "'assign: trade"},
      {"`b xkey ([]a:1 2;b:3 4)", "([b:3 4]a:1 2)"},
      {"`b`a xkey ([]a:1 2;b:3 4;c:5 6)", "([b:3 4;a:1 2]c:5 6)"},
      {"() xkey ([a:1 2]b:3 4)", "([]a:1 2;b:3 4)"},
      {"`sym xkey 1#select sym,size from trade", "([sym:,`aig]size:,100i)"},
      {"`nope xkey trade", "'nope"},
      {"`a`a xkey ([]a:1 2;b:3 4)", "'domain"},
      {"`sym xkey `trade", "'assign: trade"},
      {"1 xkey trade", "'type"},
      {"keys `sym xkey select sym,size from trade", ",`sym"},
  };
  ExpectAll(kPairs);
}

TEST(Distinct, KeepsTheFirstOfEqualRows) {
  constexpr Pair kPairs[] = {
      {"distinct ([]a:1 2 1;b:2 3 2;c:\"aba\")", "([]a:1 2;b:2 3;c:\"ab\")"},
      {"distinct select sym from trade", "([]sym:`aig`bac)"},
      {"select distinct sym from trade", "([]sym:`aig`bac)"},
      {"select distinct sym,time.hh from trade", "([]sym:`aig`bac;hh:9 9i)"},
      {"select distinct from ([]a:1 1 2;b:`x`x`y)", "([]a:1 2;b:`x`y)"},
      {"select distinct from ([]a:0n 0n 1;b:0N 0N 1)", "([]a:0n 1;b:0N 1)"},
      {"select distinct 2*size from trade where sym=`none", "([]x:`long$())"},
      {"select distinct cond from trade", "([]cond:(\"AB\";\"\";,\"C\"))"},
      {"select distinct size by sym from trade", "([sym:`aig`bac]size:(100 300i;200 400i))"},
      {"distinct ([k:1 2]v:1 1)", "'nyi: distinct of a keyed table"},
      {"exec distinct sym,size from trade where i<3", "`sym`size!(`aig`bac;100 200 300i)"},
      {"count distinct trade", "4"},
      {"distinct 5", "'type"},
  };
  ExpectAll(kPairs);
}

}  // namespace
}  // namespace tickstack::query
