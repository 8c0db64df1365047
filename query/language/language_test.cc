// Goal: functions as values, statements and the rest of the language do what the public reference
// says (code.kx.com/q/ref, code.kx.com/q/basics).
// Method: pairs of an expression and its result, with a table for each chapter.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "query/pair_testing.h"
#include "query/testing.h"

namespace tickstack::query {
namespace {

TEST(Language, LambdasTakeArguments) {
  constexpr Pair kPairs[] = {
      {"{x+y}[1;2]", "3"},
      {"{x}[5]", "5"},
      {"{x*x} 3", "9"},
      {"{x*x} 1 2 3", "1 4 9"},
      {"{[a;b] a-b}[5;3]", "2"},
      {"{[a] a:a+1; a*2}[4]", "10"},
      {"{z}[1;2;3]", "3"},
      {"{1}[]", "1"},
      {"{[]7}[]", "7"},
      {"{x;}[1]", "::"},
      {"{}[1]", "::"},
      {"{[a;b;c;d;e;f;g;h] a+h}[1;2;3;4;5;6;7;8]", "9"},
      {"{[a;b;c;d;e;f;g;h;i] a}[1]", "'params"},
      {"{x+y}[1;2;3]", "'rank"},
      {"{x}[1;2]", "'rank"},
      {"{:x+1;100}[1]", "2"},
      {"{if[x>2;:`big];`small} each 1 2 3", "`small`small`big"},
      {"{$[x>0;:`up;x<0;:`down;()];`flat} each 5 -5 0", "`up`down`flat"},
      {"{a:x;b:a*2;a+b}[3]", "9"},
      {"{a}[]", "'a"},
      {"{if[x;a:1];a}[0b]", "()"},
      {"{[a] {x+a}[1]}[5]", "'a"},
      {"{{x*2}[x]+1}[5]", "11"},
      {"{$[x<2;1;x*.z.s x-1]}[5]", "120"},
      {"f:{x+1};f f 1", "3"},
      {"f:{$[x<2;x;f[x-1]+f[x-2]]};f 10", "55"},
      {"{max}[][1 5 2]", "5"},
      {"type {x}", "100h"},
      {"type (+)", "102h"},
      {"type max", "101h"},
      {"type {x+y}[1]", "104h"},
      {"type (+/)", "107h"},
      {"type each ({x};+;max;+[1];'[neg;+];neg';+/;+\\;-':;+/:;+\\:)",
       "100 102 101 104 105 106 107 108 109 110 111h"},
      {"{x", "'{"},
      {"{x]", "']"},
      {"{[a;b a}", "'a"},
      {"{[max] 1}", "'assign: max"},
      {"{\"}\"}[]", "\"}\""},
      {"{x} 1 / a comment }", "1"},
      {"{[x]\n  y:x*2;\n  y+1}[4]", "9"},
      {"(neg;{x*2})[1] 4", "8"},
      {"(`a`b!({x+1};{x+2}))[`b] 5", "7"},
      {"(`a`b!({x+1};{x+2}))[`b;5]", "7"},
      {"count (max;min)", "2"},
      {"count {x}", "1"},
      {"{x}~{x}", "1b"},
      {"{x}~{x+0}", "0b"},
  };
  ExpectAll(kPairs);
}

TEST(Language, AFunctionIsAResult) {
  constexpr Pair kPairs[] = {
      {"{x+y}", "{x+y}"},     {"max", "max"},
      {"(+)", "+"},           {"+[1]", "+[..;]"},
      {"+[;1]", "+[;..]"},    {"{x+y}[;2]", "{x+y}[;..]"},
      {"+/", "+/"},           {"neg'", "neg'"},
      {"{x+y}/:", "{x+y}/:"}, {"'[neg;+]", "'[neg;+]"},
      {"(<>)", "'[not;=]"},   {"and", "&"},
      {"deltas", "deltas"},   {"::", "::"},
      {"(::)", "::"},         {"(1;::;2)", "(1;::;2)"},
      {"(+;-)", "(+;-)"},
  };
  ExpectAll(kPairs);
}

TEST(Language, MissingArgumentsMakeAProjection) {
  constexpr Pair kPairs[] = {
      {"+[1] 2", "3"},
      {"(+[1]) 2 3", "3 4"},
      {"(1+) 2", "3"},
      {"(-[;1]) 5", "4"},
      {"{x-y}[;1] 5", "4"},
      {"{x-y}[10] 3", "7"},
      {"{x+y+z}[1;;3] 2", "6"},
      {"{x+y+z}[1][2][3]", "6"},
      {"{x+y+z}[1;2] 3", "6"},
      {"{x+y+z}[;;3][1] 2", "6"},
      {"{x+y}[1][2;3]", "'rank"},
      {"f:10*;f 5", "50"},
      {"within[;2 4] 1 2 3 4 5", "01110b"},
      {"(2#) each (1 2 3;4 5 6)", "(1 2;4 5)"},
      {"(max each) (1 2;3 4)", "2 4"},
      {"(rand 1 2) in 1 2", "1b"},
      {"$[\"j\"] 1.5", "2"},
      {"(`a`b!)1 2", "`a`b!1 2"},
      {"aj[`sym`time] 1", "aj[..;..;]"},
      {"select from trade where price=", "'type"},
      {"exec max price from trade where price=", "'type"},
  };
  ExpectAll(kPairs);
}

TEST(Language, NamesAreAssignedForTheRequest) {
  constexpr Pair kPairs[] = {
      {"a:1", "::"},
      {"a:1;a", "1"},
      {"a:1;b:a+1;a,b", "1 2"},
      {"a:b:2;a+b", "4"},
      {"1+a:2", "3"},
      {"a:1;a+:5;a", "6"},
      {"a:1 2;a,:3;a", "1 2 3"},
      {"a:10;a-:3;a*:2;a", "14"},
      {"a:1 2 3;a[1]:9;a", "1 9 3"},
      {"a:1 2 3;a[0 2]:7 8;a", "7 2 8"},
      {"a:1 2 3;a[0 2]:0;a", "0 2 0"},
      {"a:1 2 3;a[1]+:10;a", "1 12 3"},
      {"a:1 2 3;a[0 0]+:1;a", "3 2 3"},
      {"a:1 2 3;a[]:0;a", "0 0 0"},
      {"a:1 2 3;a[1]:`x;a", "'type"},
      {"a:1 2 3;a[5]:1", "'length"},
      {"a:1 2 3;a[0 1]:1 2 3", "'length"},
      {"a:1 2 3;@[{a[0 1]:(5;`x)};0;0];a", "1 2 3"},
      {"a:1 2 3;b:a;a[0]:9;b", "1 2 3"},
      {"a:`a`b`c;a[1]:`z;a", "`a`z`c"},
      {"a:(1;`b;2);a[1]:3;a", "1 3 2"},
      {"a:(1 2;3 4);a[1;0]:9;a", "(1 2;9 4)"},
      {"a:(1 2;3 4);a[;0]:9;a", "(9 2;9 4)"},
      {"d:`a`b!1 2;d[`a]:9;d", "`a`b!9 2"},
      {"d:`a`b!1 2;d[`c]:3;d", "`a`b`c!1 2 3"},
      {"d:`a`b!1 2;d[`c]+:3;d[`a]+:3;d", "`a`b`c!4 2 3"},
      {"d:()!();d[`a]:1;d", ",`a!,1"},
      {"t:([]a:1 2);t[`b]:3 4;t", "([]a:1 2;b:3 4)"},
      {"t:([]a:1 2);t[1;`a]:9;t", "([]a:1 9)"},
      {"a[0]:1", "'a"},
      {"{a::x};{a::x}[5];a", "5"},
      {"{a:1;a::2;a}[]", "2"},
      {"a:1;{a:2}[];a", "1"},
      {"a:1;{a+x}[2]", "3"},
      {"a::1", "::"},
      {"a::1;a", "1"},
      {"trade:1", "'assign: trade"},
      {"vtrade:1", "'assign: vtrade"},
      {"trade[`price]:1", "'assign: trade"},
      {"{trade::1}[]", "'assign: trade"},
      {"max:1", "'assign"},
      {"a:1;a.b:1", "'nyi: a.b:"},
      {".u.i:1", "'assign: .u.i"},
      {".u.mine:1", "'assign: .u.mine"},
      {"wj:1", "'assign"},
      {"(1):2", "'assign"},
      {"{[trade] count trade}[1 2 3]", "3"},
      {"{[trade] select from trade}([]a:1 2)", "([]a:1 2)"},
      {"t:select from trade;exec last price from t", "14f"},
      {"s:`aig;exec price from trade where sym=s", "48.5 48.25"},
      {"w:09:31 09:32;exec price from trade where sym in`aig`bac,time within w", "13.75 48.25"},
      {"f:2;exec f*price from trade where i<2", "97 27.5"},
      {"price:1;exec max price from trade", "48.5"},
      {"exec {x-avg x} size from trade where sym=`aig", "-100 100f"},
      {"select {max[x]-min x} price by sym from trade", "([sym:`aig`bac]price:0.25 0.25)"},
      {"x:asc 3 1 2;attr x", "`s"},
      {"d:2013.10.07D09:30:15;d.minute", "09:30"},
      {"do[3;a:1];a", "1"},
      {"a:0;do[5;a+:2];a", "10"},
      {"a:1;while[a<100;a*:2];a", "128"},
      {"a:0;if[1b;a:5;a+:1];a", "6"},
      {"a:0;if[0b;a:5];a", "0"},
      {"if[`a;1]", "'type"},
      {"do[`a;1]", "'type"},
      {"if[1b;1]", "::"},
      {"$[1b;[a:1;a+1];0]", "2"},
      {"$[0b;1;0b;2;3]", "3"},
      {"$[0b;1;1b;2;3]", "2"},
      {"[1;2]", "2"},
      {"s:0;i:0;while[i<1000;s+:i;i+:1];s", "499500"},
      {"x:til 1000;s:0;i:0;while[i<1000;s+:x i;i+:1];s", "499500"},
  };
  ExpectAll(kPairs);
}

// The public reference's examples: assign, enlist, delete.
TEST(Language, AnAssignmentIsTheValueAssigned) {
  constexpr Pair kPairs[] = {
      {"a:til 5;1+a[2]+:5", "8"},
      {"a:til 5;b:1+a[2]+:5;(a;b)", "(0 1 7 3 4;8)"},
      {"a:til 5;b:a[1 2]*:10;b", "10 20"},
      {"d:`a`b!1 2;1+d[`a]+:5", "7"},
      {"d:`a`b!1 2;d[`a]+:5;d[`b]+:1;d", "`a`b!6 3"},
      {"m:(1 2;3 4);x:m[1;0]+:5;x", "8"},
      {"{x[0]+:1} 5 6", "6"},
      {"a:1 2;do[3;a[0]+:1];a", "4 2"},
      {"a:1 2;i:0;while[i<3;a[1]+:i;i+:1];a", "1 5"},
      {"a:1 2;2*a[1]:7", "14"},
      {"b,:3;b", ",3"},
      {"b,:\"ab\";b,:\"c\";b", "\"abc\""},
      {"nosuch+:1", "'nosuch"},
      {"delete a from `a`b!1 2", ",`b!,2"},
      {"d:`a`b`c!1 2 3;delete b from `d;d", "`a`c!1 3"},
      {"d:`a`b!1 2;delete b from `d", "`d"},
      {"d:`a`b!1 2;delete from d where a=1", "'nyi: delete from a dictionary where"},
      {"([]`long$amount:();b:`$())", "([]amount:`long$();b:`symbol$())"},
  };
  ExpectAll(kPairs);
}

TEST(Language, DictionariesWithTheSameNamesAreATable) {
  const Pair pairs[] = {
      {"(`a`b!1 2;`a`b!3 4)", "([]a:1 3;b:2 4)"},
      {"(`a`b!(1;`x);`a`b!(2.5;`y))", "([]a:(1;2.5);b:`x`y)"},
      {"(`a`b!1 2;`a`b!3 4)[;`b]", "2 4"},
      {"(`a`b!1 2;`b`a!3 4)", "(`a`b!1 2;`b`a!3 4)"},
      {"(`a`b!1 2;`a`b!3 4;5)", "(`a`b!1 2;`a`b!3 4;5)"},
      {"(1 2!3 4;1 2!5 6)", "(1 2!3 4;1 2!5 6)"},
      {"`x`y!(`a`b!1 2;`a`b!3 4)", "`x`y!([]a:1 3;b:2 4)"},
      {"(`x`y!(`a`b!1 2;`a`b!3 4))`y", "`a`b!3 4"},
      {"`x`y`z!([]a:1 3)", "'length"},
      {"(`a`a!1 2;`a`a!3 4)", "(`a`a!1 2;`a`a!3 4)"},
      {"select from (trade 0;trade 2) where price>48.3",
       "([]time:,2013.10.07D09:30:00.000000000;sym:,`aig;price:,48.5;size:,100i;cond:,\"AB\")"},
  };
  ExpectAll(pairs);
}

// Goal: an index that is not a key stands for its items. The first item decides whether the index
// is a key.
TEST(Language, DictionariesAreIndexedByKeysAndListsOfKeys) {
  constexpr Pair kPairs[] = {
      {"((1;`a;\"x\")!10 20 30)`a`x", "20 0N"},
      {"((1;`a;\"x\")!10 20 30)(`a;1)", "20 10"},
      {"((1;`a;\"x\")!10 20 30)`a", "20"},
      {"(`a`b`c!1 2 3)(`a;`b`c)", "(1;2 3)"},
      {"((1 2;3 4)!10 20)1 2", "10"},
      {"((1 2;3 4)!10 20)(3 4;1 2)", "20 10"},
      {"((\"ab\";\"cd\")!10 20)\"cd\"", "20"},
      {"((1;`a)!(1 2;3 4))[(`a;1);0]", "3 1"},
      {"((1;`a)!(1 2;3 4))[`a;0]", "3"},
      {"((`a;1)!([]x:1 2))`a`b", "([]x:1 0N)"},
      {"d:(1;`a)!10 20;d[`a`b]:7 8;d", "(1;`a;`b)!10 7 8"},
      {"d:(1 2;3 4)!10 20;d[3 4]:5;d", "(1 2;3 4)!10 5"},
      {"d:()!();d[`a]:1;d", ",`a!,1"},
      {"2 3?2 3#til 6", "(2 2 0;1 2 2)"},
      {"(0 1 2;4 5)?2 3#til 6", "0 2"},
      {"(1;`a)?(1 2;`a)", "(0 2;1)"},
      {"(`a`b!1 2)?(1;2 3)", "(`a;`b`)"},
      {"x:(1 2;3 4 5);x 2", "`long$()"},
      {"x:(\"ab\";\"cd\");x 2", "\"\""},
      {"t:();t,`a`b!1 2", "`a`b!1 2"},
  };
  ExpectAll(kPairs);
}

TEST(Language, NamesInNamespacesOfQAreQs) {
  const Pair pairs[] = {
      {".z.ps", "'nyi: .z.ps"},
      {".z.ps:{x}", "'assign: .z.ps"},
      {".Q.en[`:db;trade]", "'nyi: .Q.en"},
      {".Q.s:1", "'assign"},
      {".j.mine:1", "'assign: .j.mine"},
      {".zz.P", "'.zz.P"},
      {"$[0b;1;0b;2]", "::"},
      {"$[0b;1;1b;2]", "2"},
      {"k)1+1", "2"},
      {"k)#1 2 3", "3"},
      {"k)+/!3", "3"},
      {"k)*|1 2 3", "3"},
      {"k)-1+#1 2", "-3"},
      {"k)x:1 2 3;x@&x>1", "2 3"},
      {"k){#x}[1 2]", "2"},
      {"k){#x}", "k){#x}"},
      {"(value \"k){#x}\") 1 2", "2"},
      {"k)$`a`b", "(,\"a\";,\"b\")"},
      {"k)(#:)'(1 2;3)", "2 1"},
      {"#1 2", "'nyi: #"},
      {"p)print(1)", "'nyi: p)"},
      {"kk)1", "')"},
      {"(\"IS\";\",\") 0: `:f", "'nyi: 0:"},
      {"`:f 1: 0x00", "'nyi: 1:"},
      {".u.nothing", "'.u.nothing"},
      {".z.s", "'nyi: .z.s"},
      {"{.z.s~.z.s}[]", "1b"},
  };
  ExpectAll(pairs);
}

TEST(Language, AtAndDotIndexAndApply) {
  constexpr Pair kPairs[] = {
      {"1 2 3@1", "2"},
      {"neg@5", "-5"},
      {"@[1 2 3;1]", "2"},
      {"(1 2 3;4 5 6) . 1 2", "6"},
      {"(1 2 3;4 5 6) . (0;1 2)", "2 3"},
      {"{x+y} . 1 2", "3"},
      {"{x} . enlist 5", "5"},
      {"+ . 3 4", "'nyi: +"},
      {"(+) . 3 4", "7"},
      {"max . enlist 1 2", "2"},
      {"1 2 3 . ()", "1 2 3"},
      {"`max@1 2", "2"},
      {"(`a`b!1 2)@`b", "2"},
      {"(1 2 3;4 5 6)[1;2]", "6"},
      {"(1 2 3;4 5 6)[;1]", "2 5"},
      {"(1 2 3;4 5 6)[1;]", "4 5 6"},
      {"(1 2 3;4 5 6)[0 1;1 2]", "(2 3;5 6)"},
      {"(1 2 3;4 5 6)[;0 2]", "(1 3;4 6)"},
      {"(1 2 3;4 5 6)[]", "(1 2 3;4 5 6)"},
      {"(1 2 3;4 5 6)[5;1]", "0N"},
      {"(`a`b!(1 2;3 4))[`b;0]", "3"},
      {"(`a`b!(1 2;3 4))[;0]", "`a`b!1 3"},
      {"(`a`b!(`x`y!1 2;`x`y!3 4))[`b;`x]", "3"},
      {"trade[1;`price]", "13.75"},
      {"trade[0 1;`price]", "48.5 13.75"},
      {"trade[;`size]", "100 200 300 400i"},
      {"(select sym,size from trade)[1]", "`sym`size!(`bac;200i)"},
      {"(select sym,size from trade)[1 0]", "([]sym:`bac`aig;size:200 100i)"},
      {"(select sum size by sym from trade)`bac", ",`size!,600i"},
      {"(select sum size by sym from trade)[`bac;`size]", "600i"},
      {"(select sum size by sym from trade)[`nope;`size]", "0Ni"},
      {"(select sum size by sym from trade)`bac`aig", "([]size:600 400i)"},
      {"(select sum size by sym from trade)([]sym:`bac`x)", "([]size:600 0Ni)"},
      {"([a:1 1;b:`x`y]c:10 20)[(1;`y);`c]", "20"},
      {"([a:1 1;b:`x`y]c:10 20)(1;`z)", ",`c!,0N"},
      {"@[1 2 3;1;neg]", "1 -2 3"},
      {"@[1 2 3;0 2;{x*10}]", "10 2 30"},
      {"@[1 2 3;1;+;5]", "1 7 3"},
      {"@[1 2 3;0 1;+;5 6]", "6 8 3"},
      {"@[1 2 3;0 1;:;9]", "9 9 3"},
      {"@[1 2 3;::;neg]", "-1 -2 -3"},
      {"@[`a`b!1 2;`b;:;5]", "`a`b!1 5"},
      {"@[`a`b!1 2;`c;:;5]", "`a`b`c!1 2 5"},
      {"@[([]a:1 2;b:3 4);`a;neg]", "([]a:-1 -2;b:3 4)"},
      {"@[1 2 3;0;:;`a]", "'type"},
      {"@[1 2 3;7;neg]", "'length"},
      {"@[\"abc\";1;:;\"X\"]", "\"aXc\""},
      {"@[0#0;();:;1]", "`long$()"},
      {".[(1 2;3 4);1 0;neg]", "(1 2;-3 4)"},
      {".[(1 2;3 4);1 0;+;10]", "(1 2;13 4)"},
      {".[(1 2;3 4);(::;0);:;9]", "(9 2;9 4)"},
      {".[(1 2;3 4);(1;0 1);:;7 8]", "(1 2;7 8)"},
      {".[1 2;();:;5]", "5"},
      {".[`a`b!(1 2;3 4);(`b;1);:;9]", "`a`b!(1 2;3 9)"},
      {"a:1 2;@[`a;0;:;5];a", "5 2"},
      {"@[`trade;`price;:;1]", "'assign: trade"},
      {".[`trade;();:;1]", "'assign: trade"},
      {"(5) 1", "'type"},
      {"5 . 2 3", "'type"},
      {"{x} . 5", "'type"},
  };
  ExpectAll(kPairs);
}

TEST(Language, AmendsTakeNestedIndicesAndDictionaries) {
  constexpr Pair kPairs[] = {
      {"@[10 20 30;(0 1;2);neg]", "-10 -20 -30"},
      {"@[10 20 30;(0 1;2);+;(1 2;3)]", "11 22 33"},
      {"@[10 20 30;(0 1;2);:;5]", "5 5 5"},
      {"@[10 20 30;(0 1;2);+;1 2]", "11 21 32"},
      {"@[10 20 30;(0 1;2);+;(1 2 3;4)]", "'length"},
      {"@[1 2 3;(0 1;1);10*]", "10 200 3"},
      {"@[1 2;(();());neg]", "1 2"},
      {"v:10 20 30;v[(0 1;2)]:1;v", "1 1 1"},
      {"@[`a`b!1 2;(`a;enlist`b);+;10]", "`a`b!11 12"},
      {"@[([]a:1 2);(0;enlist 1);:;enlist 9]", "'length"},
      {".[(1 2 3;4 5 6);(0 1;(0 1;2));+;100]", "(101 102 103;104 105 106)"},
      {"d:`a`b!(`x`y!1 2;`x`y!3 4);d[`a;`x]:10;d", "`a`b!([]x:10 3;y:2 4)"},
      {"d:`a`b!(`x`y!1 2;`x`y!3 4);d[`c;`x]:10;d", "`a`b`c!([]x:1 3 10;y:2 4 0N)"},
      {"d:`a`b!(`x`y!1 2;`z`w!3 4);d[`b;`z]:10;d", "`a`b!(`x`y!1 2;`z`w!10 4)"},
      {"d:`a`b!(`x`y!1 2;`x`y!3 4);d[;`x]:0;d", "`a`b!([]x:0 0;y:2 4)"},
      {"d:`a`b!(`x`y!1 2;`x`y!3 4);d[`a]:5;d", "`a`b!(5;`x`y!3 4)"},
      {".[`a`b!(`x`y!1 2;`x`y!3 4);(`b;`y);+;100]", "`a`b!([]x:1 3;y:2 104)"},
      {"d:`a`b!(`x`y!(`u`v!1 2;`u`v!3 4);5);d[`a;`x;`u]+:1;d", "`a`b!(`x`y!([]u:2 3;v:2 4);5)"},
      {"d:`a`b!(([]x:1 2);5);d[`a;`x]:3 4;d", "`a`b!(([]x:3 4);5)"},
  };
  ExpectAll(kPairs);
}

TEST(Language, DotsReachEntriesAndColumns) {
  constexpr Pair kPairs[] = {
      {"d:`a`b!1 2;d.a", "1"},
      {"d:`a`b!(1;`x`y!3 4);d.b.y", "4"},
      {"d:`a`b!1 2;d.zz", "'d.zz"},
      {"t:([]a:1 2);t.a", "1 2"},
      {"d:`a`t!(1;([]x:5 6));d.t.x", "5 6"},
      {"t:([]time:09:30 10:45);t.time.hh", "9 10i"},
      {"d:`a`b!1 2;d.a:5;d", "`a`b!5 2"},
      {"d:`a`b!1 2;d.a+:5;d", "`a`b!6 2"},
      {"d:`a`b!1 2;d.c:7;d", "`a`b`c!1 2 7"},
      {"{d:`a`b!1 2;d.b:9;d}[]", "`a`b!1 9"},
      {"d:`a`b!(1;`x`y!2 3);d.b.x:9;d", "`a`b!(1;`x`y!9 3)"},
      {"t:([]a:1 2);t.a:3 4;t", "([]a:3 4)"},
      {"d:`a`b!(1 2;3);d.a[1]:9;d", "`a`b!(1 9;3)"},
      {"trade.sym", "`aig`bac`aig`bac"},
      {"trade.sym:1", "'nyi: trade.sym:"},
      {"a.b:1", "'nyi: a.b:"},
  };
  ExpectAll(kPairs);
}

TEST(Language, ConsoleNamespacesAndCompositions) {
  constexpr Pair kPairs[] = {
      {"-1\"text\"", "-1"},
      {"-2(\"aa\";\"bc\");1\"x\"", "1"},
      {"neg[1]\"x\"", "-1"},
      {"{-1 x;x}\"abc\"", "\"abc\""},
      {"-1 each (\"ab\";\"c\")", "-1 -1"},
      {"-1`a", "'type"},
      {"-1(1;\"a\")", "'type"},
      {"5\"x\"", "'type"},
      {"0\"1+1\"", "2"},
      {"0(`max;1 2)", "2"},
      {"@[-1;\"x\";0]", "-1"},
      {"-1[\"a\";\"b\"]", "'rank"},
      {"a:1;delete a from `.", "`."},
      {"a:1;b:2;delete a from `.;@[value;`a;`gone]", "`gone"},
      {"a:1;b:2;delete a from `.;b", "2"},
      {"a:1;delete a from `.;a:3;a", "3"},
      {"a:1;b:2;delete from `.;@[value;`b;`gone]", "`gone"},
      {"delete zz from `.", "'zz"},
      {"delete trade from `.", "'assign: trade"},
      {".x.a:1;.x.b:2;delete a from `.x;.x", "``b!(::;2)"},
      {"a:1;![`.;();0b;enlist`a];@[value;`a;`gone]", "`gone"},
      {"delete a from `. where b", "'nyi: delete from a namespace where"},
      {"delete from `a`b!1 2", "`symbol$()!`long$()"},
      {"![`a`b!1 2;();0b;enlist`a]", ",`b!,2"},
      {"f:neg;g:{x+1};h:f g::;h 1", "-2"},
      {"(neg til::) 3", "0 -1 -2"},
      {"(2*::) 4", "8"},
      {"(count distinct::) 1 1 2", "2"},
      {"f:{x+1};(f::)3", "4"},
      {"b::5;b", "5"},
      {"(::)~value\"::\"", "1b"},
  };
  ExpectAll(kPairs);
}

TEST(Language, EnumerationsAreNamedAndTheirValuesAreNames) {
  constexpr Pair kPairs[] = {
      {"update value sym from select sym from trade where size<300", "([]sym:`aig`bac)"},
      {"exec value sym from trade", "`aig`bac`aig`bac"},
      {"select n:count i by value sym from trade", "([sym:`aig`bac]n:2 2)"},
      {"select value sym by size>200 from trade", "([size:01b]sym:(`aig`bac;`aig`bac))"},
      {"exec value (`max;size) from trade", "400i"},
      {"`sym$`a`b", "'nyi: `sym$, an enumeration"},
      {"kt:([s:`a`b]n:1 2);`kt$1 2", "'nyi: `kt$, an enumeration"},
      {"x:`sym;x$`a`b", "'nyi: `sym$, an enumeration"},
      {"`sym?`c", "'nyi: `sym?, an enumeration"},
      {"update fk:`kt$sym from trade", "'nyi: `kt$, an enumeration"},
      {"`nope$1", "'type"},
  };
  ExpectAll(kPairs);
}

TEST(Language, WhatIsNotThereIsSaidWhenItIsEvaluated) {
  constexpr Pair kPairs[] = {
      {"$[0b;system\"p\";1]", "1"},
      {"@[{get x};`t;0]", "0"},
      {"@[{hopen x};`t;::]", "\"nyi: hopen\""},
      {"f:{hopen x};1", "1"},
      {"f:{hopen x};f 5010", "'nyi: hopen"},
      {"$[0b;`:f 0: x;2]", "2"},
      {"@[{`:f 0: x};1;`no]", "`no"},
      {"1 2 0: x", "'x"},
      {"$[0b;(\"DT\";8 9)0:dates;1]", "1"},
      {"@[{x 0:enlist x};1;`no]", "`no"},
      {"$[0b;a::1;2]", "2"},
      {"{g::5}[];g", "5"},
      {"{.a.b:x}[5];.a.b", "5"},
      {"hopen:1", "'assign: hopen"},
      {"{hopen:1;hopen}[]", "'assign: hopen"},
      {"hopen", "'nyi: hopen"},
      {"hopen each `a`b", "'nyi: hopen"},
      {"hopen[", "'["},
      {"(hopen", "'("},
      {"@[{'oops};0;::]", "\"oops\""},
      {".[{'oops};(0;1);::]", "\"rank\""},
  };
  ExpectAll(kPairs);
}

TEST(Language, ErrorsAreSignalledAndTrapped) {
  constexpr Pair kPairs[] = {
      {"'oops", "'oops"},
      {"'`oops", "'oops"},
      {"'\"no such thing\"", "'no such thing"},
      {"'1", "'stype"},
      {"{'`bad}[]", "'bad"},
      {"@[{1+`a};0;`caught]", "`caught"},
      {"@[{1+`a};0;{x}]", "\"type\""},
      {"@[{x*2};4;`caught]", "8"},
      {"@[{'x};`mine;{\"got \",x}]", "\"got mine\""},
      {".[{x+y};(1;`a);{x}]", "\"type\""},
      {".[{x+y};1 2;{x}]", "3"},
      {"@[nope;1;2]", "'nope"},
      {"@[value;\"nope\";{x}]", "\"nope\""},
      {"@[value;\"1+\";{x}]", "+[..;]"},
      {"@[value;\"(1\";{x}]", ",\"(\""},
      {"@[{til x};1000000000000;{x}]", "\"limit\""},
      {"@[{2<count .s};(::);{0b}]", "0b"},
      {"@[.t.fail;1;{x}]", "\"no such luck\""},
      {"@[{.t.fail x};1;{x}]", "\"no such luck\""},
      {"{@[{'`a};x;{:`b}]}[1]", "`b"},
      {"@[@[{'`a};;{'`b}];1;{x}]", ",\"b\""},
  };
  ExpectAll(kPairs);
}

TEST(Language, ValueEvaluatesWithinTheSameBounds) {
  constexpr Pair kPairs[] = {
      {"value \"1+1\"", "2"},
      {"value \"a:5\";a", "5"},
      {"{a:1;value \"a\"}[]", "'a"},
      {"value (+;1;2)", "3"},
      {"value (`max;1 2)", "2"},
      {"value (\"{x+y}\";1;2)", "3"},
      {"value `a`b!1 2", "1 2"},
      {"count value `vtrade", "4"},
      {"value \"count trade\"", "4"},
      {"value \"\"", "::"},
      {"(value \"{x+1}\") 2", "3"},
      {"value \"value \\\"1\\\"\"", "1"},
      // Functions that reach outside of the process do not exist.
      {"value \"system \\\"ls\\\"\"", "'nyi: \\ls"},
      {"value \"\\\\ls\"", "'nyi: \\ls"},
      {"value (`system;\"ls\")", "'nyi: \\ls"},
      {"`system \"ls\"", "'nyi: \\ls"},
      {"system \"ls\"", "'nyi: \\ls"},
      {"@[system;\"ls\";0]", "0"},
      {".[`system;enlist \"ls\"]", "'nyi: \\ls"},
      {"{system x} \"ls\"", "'nyi: \\ls"},
      {"value \"hopen 5010\"", "'nyi: hopen"},
      {"(`hopen) 5010", "'nyi: hopen"},
      {"value (`read0;`:x)", "'nyi: read0"},
      {"`:x 1", "':x"},
      {"0 \"1+1\"", "2"},
      {"5010 \"1+1\"", "'type"},
      {"`:localhost:5010 \"1+1\"", "':localhost:5010"},
      {"k)`:x 1", "':x"},
      {"q)1", "1"},
      {"p)1", "'nyi: p)"},
      {"`:x set 1", "'nyi: set"},
      {"get `:x", "'nyi: get"},
      {"value `:x", "'nyi: :x"},
      {"exit 0", "'nyi: exit"},
      {"getenv `HOME", "'nyi: getenv"},
      {"-11!`:x", "'nyi: -11!"},
      {"-7!`:x", "'nyi: -7!"},
      {"(-19)!1", "'nyi: -19!"},
  };
  ExpectAll(kPairs);
}

class LanguageLimits : public testing::Test {
 protected:
  LanguageLimits() { AddSampleTables(environment_); }
  std::string Ask(std::string_view text, Limits limits = {}) {
    limits.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    return environment_.Ask(text, limits);
  }
  TestEnvironment environment_;
};

TEST_F(LanguageLimits, RecursionEndsInStack) {
  EXPECT_EQ(Ask("{.z.s x} 1"), "'stack");
  EXPECT_EQ(Ask("{x 1}[`x]"), "'stack") << "x stands for itself";
  EXPECT_EQ(Ask("a:(1 2;3 4);a[1;0\\:]:9;a"), "'type") << "an index that is a list of lists";
  EXPECT_EQ(Ask("f:{1+f x};f 1"), "'stack");
  EXPECT_EQ(Ask("f:{g x};g:{f x};f 1"), "'stack");
  EXPECT_EQ(Ask("f:{f each x};f 1 2"), "'stack");
  EXPECT_EQ(Ask("f:{[a;b]f/[a;1 2]};f[1;2]"), "'stack");
  EXPECT_EQ(Ask("f:{value \"f 1\"};f 1"), "'stack");
  EXPECT_EQ(Ask("f:{f[enlist x]};f 1"), "'stack");
  EXPECT_EQ(Ask("{$[x=0;0;1+.z.s x-1]} 100"), "100");
  std::string deep = "1";
  for (int i = 0; i < 5000; ++i) deep = "{" + deep + "}";
  EXPECT_EQ(Ask(deep), "'stack");
  EXPECT_EQ(Ask("(" + std::string(5000, '{')), "'stack");
  std::string iterators = "x";
  for (int i = 0; i < 5000; ++i) iterators += "'";
  EXPECT_EQ(Ask(iterators), "'stack");
}

TEST_F(LanguageLimits, NoLoopBuildsWhatIsTooDeepToDestroy) {
  EXPECT_EQ(Ask("x:1;do[1000000;x:enlist (x;1)];1"), "'stack");
  EXPECT_EQ(Ask("{enlist (x;1)}/[1000000;1];1"), "'stack");
  EXPECT_EQ(Ask("f:neg;do[1000000;f:'[f;neg]];1"), "'stack");
  EXPECT_EQ(Ask("f:{x+y};do[1000000;f:{[g;a]g a}[f]];1"), "'stack");
  EXPECT_EQ(Ask("{{x}[x;]}/[1000000;neg];1"), "'rank");
  EXPECT_EQ(Ask("d:1;do[1000;d:(enlist `a)!enlist (d;1)];1"), "'stack");
}

TEST_F(LanguageLimits, ALoopKeepsNoMoreThanItHolds) {
  const Limits small = {.max_result_bytes = size_t{1} << 20};
  // Each step builds 8 KB, 24 MB together.
  EXPECT_EQ(Ask("i:0;do[3000;x:til 1000;i+:1];i", small), "3000");
  EXPECT_EQ(Ask("{last til 1000}/[3000;1]", small), "999");
  EXPECT_EQ(Ask("sum {sum til 1000} each til 3000", small), "1498500000");
  EXPECT_EQ(Ask("{[a;b]a+sum til 1000}/[0;til 3000]", small), "1498500000");
  EXPECT_EQ(Ask("i:0;while[i<3000;@[{til 1000};0;0];i+:1];i", small), "3000");
  EXPECT_EQ(Ask("i:0;do[3000;@[{til x};300000;0];i+:1];i", small), "3000");
  // Values that are held are bounded.
  EXPECT_EQ(Ask("x:();do[10000;x,:til 1000];count x", small), "'limit");
  EXPECT_EQ(Ask("x:();do[10000;x,:enlist til 1000];count x", small), "'limit");
  EXPECT_EQ(Ask("{til 1000} each til 10000", small), "'limit");
  EXPECT_EQ(Ask("{x,til 1000}\\[10000;0]", small), "'limit");
  EXPECT_EQ(Ask("{x,x}/[64;1]", small), "'limit");
  EXPECT_EQ(Ask("a:til 50000;b:til 50000;c:til 50000;1", small), "'limit");
  EXPECT_EQ(Ask("a:til 50000;a:til 50000;a:til 50000;count a", small), "50000");
  EXPECT_EQ(Ask("f:{x:til 50000;g x};g:{[x]y:til 50000;h x};h:{til 50000};count f 1", small),
            "'limit");
}

TEST_F(LanguageLimits, EndlessLoopsStopInTime) {
  for (const std::string_view text :
       {"while[1b;1]", "while[1b;@[{'`a};0;0]]", "{x+1}/[{1b};0]", "{1-x}/[{1b};0]",
        "do[1000000000000;1]", "{x}/[1000000000000;1]", "@[{while[1b;1]};0;0]",
        "{while[1b;1]} each 1 2", "f:{while[1b;0]};f 1", "{1+x}/1"}) {
    Limits limits;
    limits.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(30);
    EXPECT_EQ(environment_.Ask(text, limits), "'stop") << text;
  }
}

}  // namespace
}  // namespace tickstack::query
