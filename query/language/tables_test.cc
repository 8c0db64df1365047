// Goal: functions of tables and dictionaries do what the public reference says (code.kx.com/q/ref).
// Method: pairs of an expression and its result, with a list for each noun.

#include <gtest/gtest.h>

#include "query/pair_testing.h"
#include "query/testing.h"

namespace tickstack::query {
namespace {

TEST(Dictionaries, AreWrittenIndexedAndSubtracted) {
  constexpr Pair kPairs[] = {
      {"([a:1;b:2])", "`a`b!1 2"},
      {"([a:1])", ",`a!,1"},
      {"([a:1 2])", ",`a!,1 2"},
      {"([a:1;b:`x;c:\"text\"])", "`a`b`c!(1;`x;\"text\")"},
      {"([a:1;b:2])`b", "2"},
      {"1 2 3 group `a`b`a", "`a`b!(1 3;,2)"},
      {"\"abc\" `x`y!2 0", "`x`y!\"ca\""},
      {"(`a`b`c!1 2 3) in 1 3", "`a`b`c!101b"},
      {"(`a`b!1 2)-`b`c!10 20", "`a`b`c!1 -8 -20"},
      {"(`a`b!1 2)-`b`c!10 20i", "`a`b`c!(1;-8;-20i)"},
      {"(`a`b!(1 2;3 4))-(enlist `c)!enlist 5 6", "`a`b`c!(1 2;3 4;-5 -6)"},
      {"(`a`b!1 2)%`b`c!4 5", "`a`b`c!(1;0.5;5)"},
      {"(`a`b!1 2)*`b`c!4 5", "`a`b`c!1 8 5"},
      {"([k:`a`b]v:1 2)-([k:`b`c]v:10 20)", "([k:`a`b`c]v:1 -8 -20)"},
      {"v:5;`. `v", "5"},
      {"v:5;w:6;`. `v`w", "5 6"},
      {"`. `nosuch", "'nosuch"},
      {"v:1 2;(value `.)`v", "1 2"},
      {"tables`.q", "`symbol$()"},
      {"tables`.", "`quote`trade"},
      {"tables`", "`quote`trade"},
      {"tables[]", "`quote`trade"},
      {"() in (\"ab\";\"cd\")", "`boolean$()"},
      {"() in 1 2", "`boolean$()"},
      {"() in (();1 2)", "1b"},
      {"3[::]", "'type"},
      {"1 2[::]", "1 2"},
      {"enlist[1;2;3;4;5;6;7;8;9]", "1 2 3 4 5 6 7 8 9"},
      {"update price:2*price by sym from 0#([]sym:`a`b;price:1 2f)",
       "([]sym:`symbol$();price:`float$())"},
      {"update x:max price by sym from ([]sym:`a`b;price:1 2f) where price>9",
       "([]sym:`a`b;price:1 2f;x:0n 0n)"},
  };
  ExpectAll(kPairs);
}

TEST(Tables, JoinWithACommaByTheirColumns) {
  constexpr Pair kPairs[] = {
      {"([]a:1 2;b:`x`y),([]a:enlist 3;b:enlist `z)", "([]a:1 2 3;b:`x`y`z)"},
      {"([]a:1 2;b:`x`y),([]b:enlist `z;a:enlist 3)", "([]a:1 2 3;b:`x`y`z)"},
      {"([]a:1 2;b:`x`y),`b`a!(`z;3)", "([]a:1 2 3;b:`x`y`z)"},
      {"(`a`b!(0;`w)),([]a:1 2;b:`x`y)", "([]a:0 1 2;b:`w`x`y)"},
      {"([]a:1 2),([]a:3 4f)", "([]a:(1;2;3f;4f))"},
      {"([]a:()),([]a:1 2)", "([]a:1 2)"},
      {"(),([]a:1 2)", "([]a:1 2)"},
      {"([]a:1 2),()", "([]a:1 2)"},
      {"([k:`a`b]v:1 2),([k:`b`c]v:20 30)", "([k:`a`b`c]v:1 20 30)"},
      {"([k:`a`b]v:1 2),([]k:`b`c;v:20 30)", "([k:`a`b`c]v:1 20 30)"},
      {"([k:`a`b]v:1 2),`k`v!(`b;9)", "([k:`a`b]v:1 9)"},
      {"t:([]a:1 2);t,:([]a:enlist 3);t", "([]a:1 2 3)"},
      {"t:([]a:1 2);t,:enlist[`a]!enlist 3;t", "([]a:1 2 3)"},
      {"raze (([]a:1 2);([]a:3 4);([]a:enlist 5))", "([]a:1 2 3 4 5)"},
      {"raze {select last price by sym from trade where sym=x} each `aig`bac",
       "([sym:`aig`bac]price:48.25 14)"},
      {"raze (`a`b!1 2;`b`c!3 4)", "`a`b`c!1 3 4"},
      {"count (select from trade),select from trade", "8"},
      {"exec cond from (select[1] from trade),select[-1] from trade", "(\"AB\";\"AB\")"},
      {"([]a:1 2),'([]b:3 4)", "([]a:1 2;b:3 4)"},
      {"([]a:1 2),([]b:3 4)", "'mismatch"},
      {"([]a:1 2),`a`b!1 2", "'mismatch"},
      {"([]a:1 2),([a:1 2]b:3 4)", "'type"},
      {"([k:`a`b]v:1 2),([k:`a`b]w:1 2)", "'mismatch"},
      {"([k:`a`b]v:1 2),([k:enlist `a]v:enlist `x)", "'type"},
  };
  ExpectAll(kPairs);
}

TEST(Tables, UpsertAndInsertAreForTheRequestsOwn) {
  constexpr Pair kPairs[] = {
      {"([]a:1 2;b:`x`y) upsert (3;`z)", "([]a:1 2 3;b:`x`y`z)"},
      {"([]a:1 2;b:`x`y) upsert (3 4;`z`w)", "([]a:1 2 3 4;b:`x`y`z`w)"},
      {"([]a:1 2;b:`x`y) upsert ((3;`z);(4;`w))", "([]a:1 2 3 4;b:`x`y`z`w)"},
      {"([]a:1 2;b:3 4) upsert 5 6", "([]a:1 2 5;b:3 4 6)"},
      {"([]a:1 2) upsert 3", "([]a:1 2 3)"},
      {"([]a:1 2) upsert ([]a:3 4)", "([]a:1 2 3 4)"},
      {"([]a:1 2) upsert enlist[`a]!enlist 3", "([]a:1 2 3)"},
      {"([k:`a`b]v:1 2) upsert (`b;5)", "([k:`a`b]v:1 5)"},
      {"([k:`a`b]v:1 2) upsert (`c`a;5 6)", "([k:`a`b`c]v:6 2 5)"},
      {"([k:`a`b]v:1 2) upsert ([]v:7 8;k:`b`z)", "([k:`a`b`z]v:1 7 8)"},
      {"([]n:`a`b;s:(\"x1\";\"y1\")) upsert (`c;\"zz\")", "([]n:`a`b`c;s:(\"x1\";\"y1\";\"zz\"))"},
      {"([]a:();b:()) upsert (1;`x)", "([]a:,1;b:,`x)"},
      {"([k:()]v:()) upsert (`a;1)", "([k:,`a]v:,1)"},
      {"() upsert ([]a:1 2)", "([]a:1 2)"},
      {"(`a`b!1 2) upsert `b`c!3 4", "`a`b`c!1 3 4"},
      {"t:([]a:1 2);`t upsert 3;t", "([]a:1 2 3)"},
      {"t:([]a:1 2);`t upsert 3", "`t"},
      {"t:([]a:1 2);`t insert 3", ",2"},
      {"t:([]a:1 2);t1:`t insert ([]a:3 4);(t1;t)", "(2 3;([]a:1 2 3 4))"},
      {"t:([k:`a`b]v:1 2);`t insert (`c;3);t", "([k:`a`b`c]v:1 2 3)"},
      {"t:([k:`a`b]v:1 2);`t insert (`a;3)", "'insert"},
      {"insert[`nope;1]", "'nope"},
      {"`trade insert (1;2)", "'assign: trade"},
      {"`trade upsert (1;2)", "'assign: trade"},
      {"`vtrade upsert (1;2)", "'assign: vtrade"},
      {"([]a:1 2) insert 3", "'type"},
      {"([]a:1 2) upsert `x", "'type"},
      {"([]a:1 2;b:3 4) upsert 1 2 3", "'length"},
      {"([]a:1 2;b:3 4) upsert ([]a:1 2)", "'mismatch"},
      {"([]a:1 2) upsert ([]a:1.5 2)", "'type"},
  };
  ExpectAll(kPairs);
}

TEST(Tables, HaveOtherShapes) {
  constexpr Pair kPairs[] = {
      {"flip `a`b!(1 2;`x`y)", "([]a:1 2;b:`x`y)"},
      {"flip `a`b!(1 2;`x)", "([]a:1 2;b:`x`x)"},
      {"flip ([]a:1 2;b:`x`y)", "`a`b!(1 2;`x`y)"},
      {"flip (1 2;3 4;5 6)", "(1 3 5;2 4 6)"},
      {"flip (1 2;`a`b)", "((1;`a);(2;`b))"},
      {"flip (1 2;`a)", "((1;`a);(2;`a))"},
      {"flip flip (1 2 3;4 5 6)", "(1 2 3;4 5 6)"},
      {"flip (\"ab\";\"cd\")", "(\"ac\";\"bd\")"},
      // A keyed table is a dictionary: its items are the rows of its values.
      {"first ([k:1 2]b:3 4)", ",`b!,3"},
      {"last ([k:1 2]b:3 4;c:5 6)", "`b`c!4 6"},
      {"first ([k:0#0]b:0#0)", ",`b!,0N"},
      {"iasc ([k:`a`b`c]v:2 3 1)", "([]k:`c`a`b)"},
      {"idesc ([k:`a`b`c]v:2 3 1)", "([]k:`b`a`c)"},
      {"rank ([]a:3 1 2)", "2 0 1"},
      {"rank ([]a:1 1 0;b:2 1 5)", "2 1 0"},
      {"flip `a`b!1 2", "'rank"},
      {"flip (1 2;3 4 5)", "'length"},
      {"flip 1 2", "'rank"},
      {"flip ([k:1 2]v:3 4)", "'nyi: flip of a keyed table"},
      {"`x`y xcol ([]a:1 2;b:3 4;c:5 6)", "([]x:1 2;y:3 4;c:5 6)"},
      {"`x xcol ([]a:1 2;b:3 4)", "([]x:1 2;b:3 4)"},
      {"(enlist[`b]!enlist `z) xcol ([]a:1 2;b:3 4)", "([]a:1 2;z:3 4)"},
      {"`x xcol ([k:1 2]v:3 4)", "([x:1 2]v:3 4)"},
      {"cols `t`s xcol trade", "`t`s`price`size`cond"},
      {"`a`a xcol ([]a:1 2;b:3 4)", "'dup a"},
      {"`a`b`c xcol ([]a:1 2)", "'length"},
      {"1 xcol ([]a:1 2)", "'type"},
      {"`b xcols ([]a:1 2;b:3 4)", "([]b:3 4;a:1 2)"},
      {"cols `price`sym xcols trade", "`price`sym`time`size`cond"},
      {"`nope xcols ([]a:1 2)", "'nope"},
      {"t:([]a:1 2;b:3 4);`b xkey `t;t", "([b:3 4]a:1 2)"},
      {"`a xkey `trade", "'assign: trade"},
      {"t:([]a:2 1;b:3 4);`a xasc `t;t", "([]a:1 2;b:4 3)"},
      {"t:([]a:1 2);`a xdesc `t", "`t"},
      {"`sym xasc `trade", "'assign: trade"},
      {"t:([k:1 2]v:3 4);0!`t;t", "([]k:1 2;v:3 4)"},
      {"([a:`x`y];b:10 20)", "([a:`x`y]b:10 20)"},
      {"sum ([]a:1 2;b:3 4.5)", "`a`b!(3;7.5)"},
      {"max ([k:`a`b]v:3 4;w:9 8i)", "`v`w!(4;9i)"},
      {"avg trade", "'type"},
      {"avg select price,size from trade", "`price`size!31.125 250"},
      {"2 wsum 1 2 4", "14"},
      {"0 wavg 2 3", "0n"},
      {"ungroup ([]a:1 2;b:(10 20;30 40 50))", "([]a:1 1 2 2 2;b:10 20 30 40 50)"},
      {"ungroup ([k:`x`y]b:(1 2;enlist 3);c:(\"ab\";enlist \"c\"))",
       "([]k:`x`x`y;b:1 2 3;c:\"abc\")"},
      {"ungroup ([]a:1 2;b:(0#0;1 2))", "([]a:2 2;b:1 2)"},
      {"ungroup ([]a:1 2;b:(0#0;0#0))", "([]a:`long$();b:`long$())"},
      {"ungroup ([]a:1 2;b:(5;6 7))", "([]a:1 2 2;b:5 6 7)"},
      {"ungroup ([]a:1 2)", "([]a:1 2)"},
      {"ungroup ([]a:1 2;b:(1 2;3 4);c:(1 2;enlist 3))", "'length"},
      {"`k xgroup ([]k:`b`a`b;v:1 2 3)", "([k:`b`a]v:(1 3;,2))"},
      {"`k`j xgroup ([]k:`b`a`b;v:1 2 3;j:1 1 1)", "([k:`b`a;j:1 1]v:(1 3;,2))"},
      {"ungroup `k xgroup ([]k:`b`a`b;v:1 2 3)", "([]k:`b`b`a;v:1 3 2)"},
      {"exec price from `sym xgroup select sym,price from trade", "(48.5 48.25;13.75 14)"},
      {"`k xgroup ([]k:1 2)", "'length"},
      {"group ([]a:1 2 1;b:`x`y`x)", "([]a:1 2;b:`x`y)!(0 2;,1)"},
      {"group `a`b`c!1 2 1", "1 2!(`a`c;,`b)"},
      {"enlist `a`b!(1;`x)", "([]a:,1;b:,`x)"},
      {"enlist `a`s!(1;\"xyz\")", "([]a:,1;s:,\"xyz\")"},
      {"type enlist 1 2!3 4", "0h"},
      {"key ([k:`a`b]v:1 2)", "([]k:`a`b)"},
      {"value ([k:`a`b]v:1 2)", "([]v:1 2)"},
      {"([]k:`a`b)!([]v:1 2)", "([k:`a`b]v:1 2)"},
      {"([]k:`a`b)!([]v:1 2 3)", "'length"},
      {"keys ([k:`a`b]v:1 2)", ",`k"},
      {"cols ([k:`a`b]v:1 2)", "`k`v"},
      {"meta ([k:`a`b]v:1 2)", "([c:`k`v]t:\"sj\";f:``;a:``)"},
      {"meta `sym xkey select sym,price from trade", "([c:`sym`price]t:\"sf\";f:``;a:`g`)"},
  };
  ExpectAll(kPairs);
}

TEST(Dictionaries, GoTogetherByTheirKeys) {
  constexpr Pair kPairs[] = {
      {"(`a`b!1 2),`b`c!20 30", "`a`b`c!1 20 30"},
      {"(`x`y!(`a`b!1 2;`c`d!3 4)),(enlist `z)!([]a:enlist 5;b:enlist 6)",
       "`x`y`z!(`a`b!1 2;`c`d!3 4;`a`b!5 6)"},
      {"(enlist[`x]!([]a:enlist 5)),(enlist `z)!([]a:enlist 6)", "`x`z!(,`a!,5;,`a!,6)"},
      {"(`a`b!1 2),`b`c!(`x;\"y\")", "`a`b`c!(1;`x;\"y\")"},
      {"(1 2!`a`b),(enlist 2)!enlist `c", "1 2!`a`c"},
      {"((1 2;`a)!3 4),((1 2;`b)!5 6)", "(1 2;`a;`b)!5 4 6"},
      {"(),`a`b!1 2", "`a`b!1 2"},
      {"d:`a`b!1 2;d,:(enlist `c)!enlist 3;d", "`a`b`c!1 2 3"},
      {"(`a`b`c!1 2 3)+`b`c`d!10 20 30", "`a`b`c`d!1 12 23 30"},
      {"(`a`b!1 2)-`b`c!10 20", "`a`b`c!1 -8 -20"},
      {"(`a`b!1 2)*`a`b!10 20", "`a`b!10 40"},
      {"(`a`b!1 2)%`b`a!1 2", "`a`b!0.5 2"},
      {"(`a`b!1 2)+`b`c!0.5 1.5", "`a`b`c!(1;2.5;1.5)"},
      {"(`a`b!1 2)=`b`c!2 3", "`a`b`c!010b"},
      {"(`a`b!1 2)<`b`c!2 3", "`a`b`c!001b"},
      {"(`a`b!1 2)|`a`b!0 5", "`a`b!1 5"},
      {"(`a`b!(1 2;3))+`b`a!(10;20 30)", "`a`b!(21 32;13)"},
      {"(`a`b!1 2)+([]a:1 2)", "'type"},
      {"([]a:1 2;b:3 4)+10", "([]a:11 12;b:13 14)"},
      {"1-([]a:1 2)", "([]a:0 -1)"},
      {"([]a:1 2;b:3 4)+([]b:10 20;c:5 6)", "([]a:1 2;b:13 24;c:5 6)"},
      {"([]a:1 2)*([]a:1 2 3)", "'length"},
      {"([]a:`x`y)+1", "'type"},
      {"([]a:1 2)=([]a:1 3)", "([]a:10b)"},
      {"([k:`a`b]v:1 2)+([k:`b`c]v:10 20)", "([k:`a`b`c]v:1 12 20)"},
      {"([k:`a`b]v:1 2)+([k:`b`c]w:10 20)", "([k:`a`b`c]v:1 2 0N;w:0N 10 20)"},
      {"([k:`a`b]v:1 2)*2", "([k:`a`b]v:2 4)"},
      {"(select sum size by sym from trade)+select sum size by sym from trade",
       "([sym:`aig`bac]size:800 1200i)"},
      {"([k:`a`b]v:1 2)+([k:1 2]v:1 2)", "'type"},
      {"([k:`a`b]v:1 2)+`a`b!1 2", "'type"},
  };
  ExpectAll(kPairs);
}

TEST(Tables, AreSearchedAndIndexedByRow) {
  constexpr Pair kPairs[] = {
      {"([]a:1 2 3;b:`x`y`z)?`a`b!(2;`y)", "1"},
      {"([]a:1 2 3;b:`x`y`z)?(3;`z)", "2"},
      {"([]a:1 2 3;b:`x`y`z)?(3;`x)", "3"},
      {"([]a:1 2 3;b:`x`y`z)?([]a:3 9;b:`z`z)", "2 3"},
      {"([]a:1 2 3;b:`x`y`z)?((1;`x);(3;`z))", "0 2"},
      {"([]a:1 2 1)?([]a:1 2)", "0 1"},
      {"([k:`a`b]v:1 2)?([]v:2 5)", "([]k:`b`)"},
      {"([k:`a`b]v:1 2)?(enlist `v)!enlist 2", ",`k!,`b"},
      {"([]a:1 2)?([]a:`x`y)", "'type"},
      {"([]a:1 2)?([]a:1 2;b:1 2)", "'length"},
      {"([]a:2 5;b:`y`x) in ([]a:1 2;b:`x`y)", "10b"},
      {"(`a`b!(2;`y)) in ([]a:1 2;b:`x`y)", "1b"},
      {"exec price from trade where ([]sym;size) in ([]sym:`aig`bac;size:100 400i)", "48.5 14"},
      {"([k:`a`b]v:1 2)`b", ",`v!,2"},
      {"([k:`a`b]v:1 2)`b`z", "([]v:2 0N)"},
      {"([a:1 1 2;b:`x`y`x]c:10 20 30)(1;`y)", ",`c!,20"},
      {"([a:1 1 2;b:`x`y`x]c:10 20 30)((1;`y);(2;`x))", "([]c:20 30)"},
      {"([a:1 1 2;b:`x`y`x]c:10 20 30)`a`b!(2;`x)", ",`c!,30"},
      {"([]a:1 2;b:3 4)[1]", "`a`b!2 4"},
      {"([]a:1 2;b:3 4)[1 0;`b]", "4 3"},
      {"([]a:1 2;b:3 4)[9]", "`a`b!0N 0N"},
  };
  ExpectAll(kPairs);
}

TEST(Tables, ChangeByRowAndKey) {
  constexpr Pair kPairs[] = {
      {"t:([]a:1 2;b:`x`y);t[0]:`a`b!(9;`z);t", "([]a:9 2;b:`z`y)"},
      {"t:([]a:1 2;b:`x`y);t[1]:(9;`z);t", "([]a:1 9;b:`x`z)"},
      {"t:([]a:1 2;b:`x`y);t[1]:(enlist `a)!enlist 9;t", "([]a:1 9;b:`x`y)"},
      {"t:([]a:1 2 3;b:`x`y`z);t[0 2]:([]a:8 9;b:`p`q);t", "([]a:8 2 9;b:`p`y`q)"},
      {"t:([]a:1 2 3);t[0 2]:(enlist `a)!enlist 9;t", "([]a:9 2 9)"},
      {"t:([]a:1 2;b:3 4);t[0]+:10;t", "([]a:11 2;b:13 4)"},
      {"t:([]a:1 2;b:3 4);t[0;`a`b]:8 9;t", "([]a:8 2;b:9 4)"},
      {"t:([]a:1 2;b:3 4);t[0 1;`b]:8 9;t", "([]a:1 2;b:8 9)"},
      {"t:([]a:1 2;b:3 4);t[1;`b]+:10;t", "([]a:1 2;b:3 14)"},
      {"t:([]a:1 2;b:3 4);t[;`b]:0;t", "([]a:1 2;b:0 0)"},
      {"t:([]s:(\"ab\";\"cd\"));t[0]:(enlist `s)!enlist \"xyz\";t", "([]s:(\"xyz\";\"cd\"))"},
      {"@[([]a:1 2;b:3 4);0;:;`a`b!7 8]", "([]a:7 2;b:8 4)"},
      {"@[([]a:1 2;b:3 4);0;{neg x}]", "([]a:-1 2;b:-3 4)"},
      {".[([]a:1 2;b:3 4);(1;`a);:;9]", "([]a:1 9;b:3 4)"},
      {"t:([]a:1 2);t[5]:(enlist `a)!enlist 1", "'length"},
      {"t:([]a:1 2);t[0]:(enlist `a)!enlist `x", "'type"},
      {"t:([]a:1 2);@[{t[0]::(enlist `a)!enlist `x};0;0];t", "([]a:1 2)"},
      {"t:([]a:1 2);t[0]:(enlist `z)!enlist 1", "'z"},
      {"t:([]a:1 2);t[0]:1 2", "'length"},
      {"t:([k:`a`b]v:1 2;w:3 4);t[`b]:`v`w!8 9;t", "([k:`a`b]v:1 8;w:3 9)"},
      {"t:([k:`a`b]v:1 2;w:3 4);t[`c]:5 6;t", "([k:`a`b`c]v:1 2 5;w:3 4 6)"},
      {"t:([k:`a`b]v:1 2;w:3 4);t[`b;`v]:9;t", "([k:`a`b]v:1 9;w:3 4)"},
      {"t:([k:`a`b]v:1 2;w:3 4);t[`c;`v]:9;t", "([k:`a`b`c]v:1 2 9;w:3 4 0N)"},
      {"t:([k:`a`b]v:1 2);t[`a`c;`v]:7 9;t", "([k:`a`b`c]v:7 2 9)"},
      {"t:([k:`a`b]v:1 2);t[`a;`v]+:10;t", "([k:`a`b]v:11 2)"},
      {"t:([k:`a`b]v:1 2);t[;`v]:0;t", "([k:`a`b]v:0 0)"},
      {"t:([a:1 1;b:`x`y]c:10 20);t[(1;`y);`c]:5;t", "([a:1 1;b:`x`y]c:10 5)"},
      {"t:([k:`a`b]v:1 2);t[([]k:`b`z)]:([]v:7 8);t", "([k:`a`b`z]v:1 7 8)"},
      {"t:([k:`a`b]v:1 2);t[`a]:`x", "'type"},
      {"t:([k:`a`b]v:1 2);t[`a;`v]:`x", "'type"},
      {"trade[0]:1", "'assign: trade"},
      {"@[`trade;0;:;1]", "'assign: trade"},
  };
  ExpectAll(kPairs);
}

// A table is a list of rows, so that names after row numbers are items of each row.
TEST(Tables, AreIndexedAndChangedAtDepth) {
  constexpr Pair kPairs[] = {
      {"t:([]a:1 2 3;b:4 5 6);t[1 0;`a`b]", "(2 5;1 4)"},
      {"t:([]a:1 2 3;b:4 5 6);t[1 0][;`a`b]", "(2 5;1 4)"},
      {"t:([]a:1 2 3;b:4 5 6);t[;`a`b]", "(1 4;2 5;3 6)"},
      {"t:([]a:1 2 3;b:4 5 6);t[;`b`a]", "(4 1;5 2;6 3)"},
      {"t:([]a:1 2 3;b:4 5 6);t[;`a]", "1 2 3"},
      {"t:([]a:1 2 3;b:4 5 6);t[;enlist`a]", "(,1;,2;,3)"},
      {"t:([]a:1 2 3;b:4 5 6);t . (0 1;`a`b)", "(1 4;2 5)"},
      {"t:([]a:1 2;b:(4 5;6 7));t[0 1;`b;1]", "5 7"},
      {"t:([]a:1 2;b:(4 5;6 7));t[;`b`b;1]", "(5 5;7 7)"},
      {"t:([]a:1 2;b:`x`y);t[;`a`b]", "((1;`x);(2;`y))"},
      {"t:([]a:1 2 3;b:4 5 6);t[1;`a`b]", "2 5"},
      {"t:([]a:1 2 3;b:4 5 6);t[`a`b;0 1]", "(1 2;4 5)"},
      {"t:([]a:1 2 3;b:4 5 6);t(0 1;2 0)", "(([]a:1 2;b:4 5);([]a:3 1;b:6 4))"},
      {"t:([]a:1 2 3;b:4 5 6);t[;`a`c]", "'c"},
      {"trade[0 1;`price`size]", "((48.5;100i);(13.75;200i))"},
      {"kt:([k:`a`b]v:1 2;w:3 4);kt[`a;`v`w]", "1 3"},
      {"kt:([k:`a`b]v:1 2;w:3 4);kt[;`v`w]", "([]k:`a`b)!(1 3;2 4)"},
      {"kt:([k:`a`b]v:1 2;w:3 4);kt[([]k:`b`a);`v`w]", "(2 4;1 3)"},
      {"d:`a`b!(1 2 3;4 5 6);d[`a`b;0 1]", "(1 2;4 5)"},
      {"d:`a`b!(1 2 3;4 5 6);d[;0 1]", "`a`b!(1 2;4 5)"},
      {"t:([]a:1 2 3;b:4 5 6);t[0 1;`a`b]:(10 20;30 40);t", "([]a:10 30 3;b:20 40 6)"},
      {"t:([]a:1 2 3;b:4 5 6);t[;`a`b]:(10 20;30 40;50 60);t", "([]a:10 30 50;b:20 40 60)"},
      {"t:([]a:1 2 3;b:4 5 6);.[t;(0 1;`a`b);+;(1 2;3 4)]", "([]a:2 5 3;b:6 9 6)"},
      {"t:([]a:1 2 3;b:4 5 6);t[`a`b;0 1]:(10 20;30 40);t", "([]a:10 20 3;b:30 40 6)"},
      {"kt:([k:`a`b]v:1 2;w:3 4);kt[;`v`w]:(5 6;7 8);kt", "([k:`a`b]v:5 7;w:6 8)"},
      {"d:`a`b!(1 2 3;4 5 6);d[`a`b;0 1]:(7 8;9 9);d", "`a`b!(7 8 3;9 9 6)"},
  };
  ExpectAll(kPairs);
}

// What a key that is missing becomes: an item of the others' type.
TEST(Tables, AreChangedAgainWhereTheyAreNamedAgain) {
  constexpr Pair kPairs[] = {
      {"t:([]a:1 2;b:3 4);t[0 0]+:1;t", "([]a:3 2;b:5 4)"},
      {"t:([]a:1 2;b:`x`y);@[t;1 1 0;{x[`b]:`z;x[`a]*:2;x}]", "([]a:2 8;b:`z`z)"},
      {"t:([]a:1 2);t[0 1 0]:([]a:7 8 9);t", "([]a:9 8)"},
      {"kt:([s:0#`]n:0#0);kt[`a`b`a`a;`n]+:1;kt", "([s:`a`b]n:3 1)"},
      {"kt:([s:0#`]n:0#0);kt[exec sym from trade;`n]+:exec size from trade;kt",
       "([s:`aig`bac]n:400 600)"},
      {"kt:([s:`a`b]n:1 2);kt[`c`c`a]-:1;kt", "([s:`a`b`c]n:0 2 -2)"},
      {"kt:([k:`a`b;l:1 2]v:1 2);kt[((`a;1);(`a;1);(`c;3));`v]+:1;kt",
       "([k:`a`b`c;l:1 2 3]v:3 2 1)"},
      {"t:([]a:1 2 3;b:4 5 6);t[0 2;]:([]a:7 8;b:9 10);t", "([]a:7 2 8;b:9 5 10)"},
      {"t:([]a:1 2);t[0;]:`b`c!7 8;t", "'length"},
  };
  ExpectAll(kPairs);
}

TEST(Tables, HaveKeysOfSeveralColumns) {
  constexpr Pair kPairs[] = {
      {"kt:([k:`a`b;l:1 2]v:1 2;w:3 4);kt[((`a;1);(`b;2));`v`w]", "(1 3;2 4)"},
      {"kt:([k:`a`b;l:1 2]v:1 2;w:3 4);kt[flip(`a`b;1 2);`w]", "3 4"},
      {"kt:([k:`a`b;l:1 2]v:1 2;w:3 4);kt[(`a;1);`v`w]", "1 3"},
      {"kt:([k:`a`b;l:1 2]v:1 2;w:3 4);kt[`k`l!(`a;1);`v]", "1"},
      {"kt:([k:`a`b]v:1 2);kt[(1#`k)!1#`a;`v]", "1"},
      {"kt:([k:`a`b;l:1 2]v:1 2;w:3 4);.[kt;(((`a;1);(`b;2));`v`w)]", "(1 3;2 4)"},
      {"(1 2!3 4)2i", "4"},
      {"(1 2!3 4)1 2 3h", "3 4 0N"},
      {"(1 2!3 4)`a", "'type"},
  };
  ExpectAll(kPairs);
}

TEST(Tables, GetMissingKeys) {
  constexpr Pair kPairs[] = {
      {"d:`a`b!1 2;d[`x]:1.5", "'type"},
      {"d:`a`b!1 2;d[`x]:3 4", "'type"},
      {"d:`a`b!1 2;d[`x`y]:1 2.5", "'type"},
      {"d:`a`b!1 2;@[d;`x;:;1.5]", "'type"},
      {"d:`a`b!1 2;.[`d;enlist`x;:;`s]", "'type"},
      {"d:`a`b!1 2;d[5]:3", "'type"},
      {"d:(0#`)!0#0;d[`x]:1.5", "'type"},
      {"d:`a`b!1 2;@[{d[`x]:1.5};0;::];d", "`a`b!1 2"},
      {"d:`a`b!1 2;d[`x]:3;d", "`a`b`x!1 2 3"},
      {"d:`a`b!(1;`s);d[`x]:1.5;d", "`a`b`x!(1;`s;1.5)"},
      {"d:()!();d[`a]:1;d", ",`a!,1"},
      {"d:`a`b!1 2;d[`c]+:5;d", "`a`b`c!1 2 5"},
      {"d:(1#`)!enlist 0#0;d[`a],:5;d`a", ",5"},
      {"d:`a`b!(1 2;3 4);d[`c],:5;d[`c],:6;d", "`a`b`c!(1 2;3 4;5 6)"},
      {"d:()!();d[`a],:5;d[`a],:6;d", ",`a!,5 6"},
      {"d:`a`b!(\"x\";\"yz\");d[`c],:\"w\";d`c", "\"w\""},
      {"kt:([s:`a`b]n:1 2);kt[`c]+:1;kt", "([s:`a`b`c]n:1 2 1)"},
      {"kt:([s:`a`b]n:1 2;m:3 4f);kt[`c]+:`n`m!(1;2f);kt", "([s:`a`b`c]n:1 2 1;m:3 4 2f)"},
      {"kt:([s:`a`b]n:1 2;m:3 4);kt[`c]+:5 6;kt", "([s:`a`b`c]n:1 2 5;m:3 4 6)"},
      {"kt:([s:`a`b]n:1 2;m:3 4);kt[`c;`n]+:1;kt", "([s:`a`b`c]n:1 2 1;m:3 4 0N)"},
      {"kt:([s:`a`b]n:1 2);kt[`c`a]+:1;kt", "([s:`a`b`c]n:2 2 1)"},
      {"kt:([s:`a`b]n:(1 2;3 4));kt[`c;`n],:1;kt", "([s:`a`b`c]n:(1 2;3 4;,1))"},
      {"kt:([s:`a`b]n:(1 2;3 4));kt[`c],:1;kt", "([s:`a`b`c]n:(1 2;3 4;,1))"},
      {"kt:([s:`a`b]n:1 2);kt[`c;`n]:1.5", "'type"},
      {"kt:([s:`a`b]n:1 2);kt[`a;`n]:1.5", "'type"},
      {"kt:([s:`a`b]n:1 2);kt[`c]+:1.5", "'type"},
      {"d:`a`b!1 2;d[`c]-:5;d", "`a`b`c!1 2 -5"},
      {"d:`a`b!1 2;@[d;`c;-;5i]", "`a`b`c!1 2 -5"},
      {"d:`a`b!1 2;@[d;`c;{x+2*y};5]", "`a`b`c!1 2 0N"},
      {"d:`a`b!1 2;@[d;`c;{0^x+y};5]", "`a`b`c!1 2 0"},
      {"kt:([s:`a`b]n:1 2;m:3 4);kt[`c]-:1 2;kt", "([s:`a`b`c]n:1 2 -1;m:3 4 -2)"},
      {"kt:([s:`a`b]n:1 2;m:3 4);kt[`c]-:`n`m!1 2;kt", "([s:`a`b`c]n:1 2 -1;m:3 4 -2)"},
      {"kt:([s:`a`b]n:1 2;m:3 4);kt[`c]+:1 2 3", "'length"},
  };
  ExpectAll(kPairs);
}

TEST(Tables, GiveNullsForRowsThatAreNotThere) {
  constexpr Pair kPairs[] = {
      {"1#([]a:0#0;b:0#`)", "([]a:,0N;b:,`)"},
      {"-2#([]a:0#0;b:0#`)", "([]a:0N 0N;b:``)"},
      {"0#([]a:0#0;b:0#`)", "([]a:`long$();b:`symbol$())"},
      {"2#([]a:();b:0#0)", "([]a:(();());b:0N 0N)"},
      {"1#select sym,size,cond from trade where size>1000", "([]sym:,`;size:,0Ni;cond:,())"},
      {"1#([k:0#`]v:0#0)", "([k:,`]v:,0N)"},
      {"2 2#([]a:0#0)", "(([]a:0N 0N);([]a:0N 0N))"},
      {"(2#0#0;2#0#0n;2#\"\";2#0#`;2#0#0b;2#0#0x00;2#0#0Np;2#())",
       "(0N 0N;0n 0n;\"  \";``;00b;0x0000;0Np 0Np;(();()))"},
      {"2 2#0#0", "(0N 0N;0N 0N)"},
      {"1#(0#`)!0#0", "'nyi: # of more entries than there are"},
      {"3#([]a:2#0)", "([]a:0 0 0)"},
  };
  ExpectAll(kPairs);
}

TEST(Tables, AreEvaluatedFromTheRight) {
  constexpr Pair kPairs[] = {
      {"{([]a:count q;b:q:1 2)}[]", "([]a:2 2;b:1 2)"},
      {"{([k:count q]b:q:1 2)}[]", "([k:2 2]b:1 2)"},
      {"{([k:q:1 2;l:count q]b:3 4)}[]", "([k:1 2;l:0 0]b:3 4)"},
      {"{([a:count q;b:q:1 2])}[]", "`a`b!(2;1 2)"},
      {"{(count q;q:1 2)}[]", "(2;1 2)"},
      {"{enlist[count q;q:1 2]}[]", "(2;1 2)"},
      {"{{x,y}[count q;q:1 2]}[]", "2 1 2"},
      {"a:0;a+a:5", "10"},
      {"a:1 2 3;a[i]:10*1+i:1;a", "1 20 3"},
      {"a:0;[a;a:5]", "5"},
      {"{r:([]a:q;b:q:1 2);r}[]", "([]a:1 2;b:1 2)"},
  };
  ExpectAll(kPairs);
}

TEST(Tables, KeepColumnsNamesAndAttributes) {
  constexpr Pair kPairs[] = {
      {"t:([]time:1 2;sym:`a`b);update `g#sym from t", "([]time:1 2;sym:`a`b)"},
      {"meta update `g#sym from ([]time:1 2;sym:`a`b)", "([c:`time`sym]t:\"js\";f:``;a:``g)"},
      {"meta update `s#time,`u#sym from ([]time:1 2;sym:`a`b)",
       "([c:`time`sym]t:\"js\";f:``;a:`s`u)"},
      {"t:([]sym:`a`a`b);update `p#sym from `t;attr t`sym", "`p"},
      {"t:update `g#sym from ([]sym:`a`b);attr exec sym from update `#sym from t", "`"},
      {"attr exec sym from select `p#sym,time from ([]time:1 2;sym:`a`b)", "`p"},
      {"update `s#time from ([]time:2 1)", "'s-fail"},
      {"cols aj[`sym`time;trade;update `g#sym from select sym,time,bid from quote]",
       "`time`sym`price`size`cond`bid"},
      {"cols select size wavg price by `p#sym from `sym xasc select sym,size,price from trade",
       "`sym`price"},
  };
  ExpectAll(kPairs);
}

// The first argument of arithmetic and of comparisons, the last one of any other function.
TEST(Tables, NameComputedColumns) {
  constexpr Pair kPairs[] = {
      {"t:([]p:`a`b;v:1 2);cols select (p,'v) from t", ",`v"},
      {"t:([]k:1 1;p:`a`b;v:1 2);cols select p!v by k from t", "`k`v"},
      {"n:2;cols ([]n?100f;n?10)", "`x`x1"},
      {"t:([]c1:`a`b;c2:1 2;c3:3 4f);cols select c1,c1,2*c2,c2+c3,string c3 from t",
       "`c1`c11`x`c2`c3"},
      {"t:([]a:1 2;b:3 4);cols select a-b,a*2,a%b,a&b,a|b,a=b,a<b,a>=b from t",
       "`a`a1`a2`a3`a4`a5`a6`a7"},
      {"t:([]a:1 2;b:3 4);cols select b#'a,3 xbar a,0^b,?[a>1;a;b],b in a,2 mavg a,a xexp b from t",
       "`a`a1`b`b1`a2`a3`b2"},
      {"t:([]id:`a`b;val:1 2);cols select (id,'4),val from t", "`x`val"},
      {"t:([]s:1 2;n:(1 2 3;4 5 6));f:{y};cols select s,n@'s,n@\\:s,f[s;`p],f[`p;s] from t",
       "`s`s1`s2`x`s3"},
      {"cols select sum[price*size]%sum size by 0D00:01 xbar time from trade", "`time`price"},
      {"cols select count i by signum deltas price from trade", "`price`x"},
      {"cols select price%size,-1#'string sym from trade", "`price`sym"},
      {"a:1 2;b:3 4;cols ([]a,'b;a+b;(a;b))", "`b`a`b1"},
  };
  ExpectAll(kPairs);
}

TEST(Tables, AssignInBrackets) {
  constexpr Pair kPairs[] = {
      {"foo:1;:[foo;747];foo", "747"},
      {":[foo;747];foo", "747"},
      {"foo:1;+:[foo;2];foo", "3"},
      {"foo:1 2;,:[foo;3];foo", "1 2 3"},
      {"foo:1 2;:[foo[1];747];foo", "1 747"},
      {"{:[foo;747];foo}[]", "747"},
      {"{:[foo;747];foo}[];foo", "'foo"},
      {"foo:1;(:)[foo;747];foo", "747"},
      {":[;7]3", "7"},
      {":[1;7]", "7"},
      {"+:[(1 2;3 4)]", "(1 3;2 4)"},
      {":[trade;1]", "'assign: trade"},

  };
  ExpectAll(kPairs);
}

TEST(Tables, HaveColumnsBehindADot) {
  constexpr Pair kPairs[] = {
      {"t:([]a:1 2;time:3 4);t.a", "1 2"},    {"t:([]a:1 2;time:3 4);t.time", "3 4"},
      {"trade.price", "48.5 13.75 48.25 14"}, {"last trade.time", "2013.10.07D09:33:00.000000000"},
      {"trade.nope", "'trade.nope"},          {"nope.price", "'nope.price"},
  };
  ExpectAll(kPairs);
}

TEST(Tables, FbyTakesOtherShapes) {
  constexpr Pair kPairs[] = {
      {"({exec max a from x};([]a:1 5 2;b:1 1 1)) fby `x`x`y", "5 5 2"},
      {"select size from trade where size=(max;size) fby ([]sym;time.hh)", "([]size:300 400i)"},
      {"(sum;1 2 3) fby ([]a:`x`x`y)", "3 3 3"},
      {"(first;`p`q`r) fby 1 1 2", "`p`p`r"},
      {"exec price from trade where price<>(avg;price) fby sym", "48.5 13.75 48.25 14"},
  };
  ExpectAll(kPairs);
}

}  // namespace
}  // namespace tickstack::query
