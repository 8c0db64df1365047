// Goal: each, over, scan, prior, each-left and each-right do what the public reference says
// (code.kx.com/q/ref/iterators). Method: pairs.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "query/pair_testing.h"

namespace tickstack::query {
namespace {

TEST(Iterators, EachGoesItemByItem) {
  constexpr Pair kPairs[] = {
      {"neg each 1 2 3", "-1 -2 -3"},
      {"{x*2} each 1 2 3", "2 4 6"},
      {"count each (1 2;3;())", "2 1 0"},
      {"count each (\"ab\";\"c\";\"\")", "2 1 0"},
      {"sum each (1 2;3 4 5)", "3 12"},
      {"max each (1 2;5 4)", "2 5"},
      {"first each (1 2;5 4)", "1 5"},
      {"{x} each ()", "()"},
      {"{x+1} each `long$()", "()"},
      {"{x} each 5", "5"},
      {"neg each (1 2;3)", "(-1 -2;-3)"},
      {"{x*10} each `a`b!1 2", "`a`b!10 20"},
      {"{x`sym} each select sym from trade", "`aig`bac`aig`bac"},
      {"{enlist[`s]!enlist x`sym} each 2#trade", "([]s:`aig`bac)"},
      {"count each exec cond from trade", "2 0 1 2"},
      {"select n:count each cond from trade", "([]n:2 0 1 2)"},
      {"select count each cond from trade", "([]cond:2 0 1 2)"},
      {"1 2+'3 4", "4 6"},
      {"1 2,'3 4", "(1 3;2 4)"},
      {"1,'3 4", "(1 3;1 4)"},
      {"1 2,'3 4 5", "'length"},
      {",'[1 2;3 4]", "(1 3;2 4)"},
      {"{x+y+z}'[1 2;3 4;5 6]", "9 12"},
      {"{x+y+z}'[1 2;3;5 6]", "9 11"},
      {"{x+1}'[1 2]", "2 3"},
      {"neg'[1 2]", "-1 -2"},
      {"{x} peach 1 2", "1 2"},
      {"1 2,\\:3 4", "(1 3 4;2 3 4)"},
      {"1 2,/:3 4", "(1 2 3;1 2 4)"},
      {"1 2 3+/:10 20", "(11 12 13;21 22 23)"},
      {"1 2 3+\\:10 20", "(11 21;12 22;13 23)"},
      {"(1 2 3+/:10 20)~flip 1 2 3+\\:10 20", "1b"},
      {"10+/:1 2", "11 12"},
      {"10 20+/:5", "15 25"},
      {"{x-y}\\:[1 2;10]", "-9 -8"},
      {"{x,y}/:\\:[`a`b;`c`d]", "((`a`c;`a`d);(`b`c;`b`d))"},
      {"`a`b=/:`a`b", "(10b;01b)"},
      {"\"abc\" in/: (\"ax\";\"bc\")", "(100b;011b)"},
  };
  ExpectAll(kPairs);
}

// What the public reference calls exposed infrastructure: the forms of q's k for one argument.
TEST(Iterators, FormsForOneArgument) {
  constexpr Pair kPairs[] = {
      {"(\", \"/:)(\"quick\";\"brown\";\"foxes\")", "\"quick, brown, foxes\""},
      {"\",\"\\:\"a,bc\"", "(,\"a\";\"bc\")"},
      {"(0x0\\:)3.14156", "0x400921ea35935fc4"},
      {"(`/:)`a`b", "`a.b"},
      {"(10\\:)123", "1 2 3"},
      {"0x40 vs 2", "'nyi: vs by a byte that is not 0x0"},
      {"0x02 sv 0x0102", "'nyi: sv by a byte that is not 0x0"},
      {"(1 2;3 4)\\:[0 1;0]", "1 3"},
      {"(+)(1 2;3 4)", "(1 3;2 4)"},
      {"($)42", "\"42\""},
      {"(-)1 2", "-1 -2"},
      {"6+(+)enlist 1 2", "(,7;,8)"},
      {"(+)[1;2]", "3"},
      {"(-)\\[1 2;3]", "-2 -1"},
      {"(+) . 1 2", "3"},
      {"(+/)1 2 3", "6"},
  };
  ExpectAll(kPairs);
}

TEST(Iterators, OfNothingIsTheIdentity) {
  constexpr Pair kPairs[] = {
      {"(*/)0#0", "1"},
      {"*/[0#0]", "1"},
      {"*\\[0#0]", "1"},
      {"*/0#0f", "1f"},
      {"+/0#0", "0"},
      {"+\\[0#0]", "0"},
      {"+/()", "0"},
      {"-/0#0", "0"},
      {"|/0#0", "-0W"},
      {"&/0#0", "0W"},
      {",/()", "()"},
      {"{x*y}/[0#0]", "()"},
      {"{x*y}\\[0#0]", "()"},
      {"42+/0#0", "42"},
      {"{x+y*z}/[42;0#0;0#0]", "42"},
      {"{x+y*z}\\[42;0#0;0#0]", "()"},
      {"sums 0#0", "`long$()"},
  };
  ExpectAll(kPairs);
}

TEST(Iterators, JoinBeginsWithAList) {
  constexpr Pair kPairs[] = {
      {"(,\\)2 3 4", "(,2;2 3;2 3 4)"},
      {"(,/)2 3 4", "2 3 4"},
      {"(,\\)(1 2;3)", "(1 2;1 2 3)"},
      {"(,':)2 3 4", "(2;3 2;4 3)"},
      {"{x,y}\\[1 2 3]", "(1;1 2;1 2 3)"},
      {"raze 42", ",42"},
      {"'[count](\"ab\";\"c\")", "2 1"},
      {"('[;]/[(neg;abs;sum)]) 1 2", "-3"},
      {"('[neg;]) abs", "'[neg;abs]"},
      {"(raze (::))~enlist (::)", "1b"},
      {"count raze {x}", "1"},
      {"raze `a", ",`a"},
      {"(,/)42", ",42"},
      {"(),{x}", ",{x}"},
      {"count (),(::)", "1"},
      {"{x},()", ",{x}"},
      {"type (),{x}", "0h"},
  };
  ExpectAll(kPairs);
}

TEST(Iterators, NumbersPickFromArguments) {
  constexpr Pair kPairs[] = {
      {"0 1 0'[\"abc\";\"xyz\"]", "\"ayc\""},
      {"0 2 0'[\"abc\";\"xyz\";\"123\";\"789\"]", "\"a2c\""},
      {"0 1 0'[\"a\";\"xyz\"]", "\"aya\""},
      {"0 2 0'[`a`b`c!\"abc\";\"xyz\";\"123\"]", "\"a2c\""},
      {"(`e`f`e?`f`e`e)'[1 2 3;`a`b`c]", "(`a;2;3)"},
      {"0 1'[`a`b!\"ab\";`b`a!\"xy\"]", "'domain"},
      {"0 1'[\"abc\";\"xyz\"]", "'length"},
      {"0 2'[\"ab\";\"xy\"]", "'length"},
      {"0 0N'[\"ab\";\"xy\"]", "'length"},
  };
  ExpectAll(kPairs);
}

TEST(Iterators, OverAndScanAccumulate) {
  constexpr Pair kPairs[] = {
      {"+/1 2 3", "6"},
      {"+/ 1 2 3", "6"},
      {"(+/)1 2 3", "6"},
      {"+/[1 2 3]", "6"},
      {"+/[10;1 2 3]", "16"},
      {"10+/1 2 3", "16"},
      {"+/5", "5"},
      {"+/`long$()", "0"},
      {"+/()", "0"},
      {"+/1 0N 2", "3"},
      {"*/1 2 3 4", "24"},
      {"-/10 1 2", "7"},
      {"|/1 5 2", "5"},
      {"&/4 1 2", "1"},
      {",/(1 2;3;4 5)", "1 2 3 4 5"},
      {",/(`a;`b`c)", "`a`b`c"},
      {",/(1 2;`a)", "(1;2;`a)"},
      {",/(\"ab\";\"c\")", "\"abc\""},
      {",/()", "()"},
      {"raze (1 2;3 4)", "1 2 3 4"},
      {"raze ((1;`a);(2;`b))", "(1;`a;2;`b)"},
      {"raze 1 2", "1 2"},
      {"raze (();1 2)", "1 2"},
      {"{x+y}/[1 2 3]", "6"},
      {"{x+y}/[0;1 2 3]", "6"},
      {"0{x+y}/1 2 3", "6"},
      {"{x,y}/[();1 2 3]", "1 2 3"},
      {"{x+y*z}/[1;2 3;4 5]", "24"},
      {"{x+y} over 1 2 3", "6"},
      {"+ over 1 2 3", "'nyi: +"},
      {"(+) over 1 2 3", "6"},
      {"max over (1 2;5 3)", "5"},
      {"+\\1 2 3", "1 3 6"},
      {"+\\[10;1 2 3]", "11 13 16"},
      {"10+\\1 2 3", "11 13 16"},
      {"{x+y}\\[1 2 3]", "1 3 6"},
      {"(+) scan 1 2 3", "1 3 6"},
      {",\\[1 2 3]", "(,1;1 2;1 2 3)"},
      {"*\\1 2 3 4", "1 2 6 24"},
      {"|\\1 3 2", "1 3 3"},
      {"3{x*2}/1", "8"},
      {"{x*2}/[3;1]", "8"},
      {"{x*2}\\[3;1]", "1 2 4 8"},
      {"0{x*2}/1", "1"},
      {"0N{x*2}/1", "1"},
      {"-3{x*2}/1", "1"},
      {"{x<100}{x*2}/1", "128"},
      {"{x*2}/[{x<100};1]", "128"},
      {"{x*2}\\[{x<10};1]", "1 2 4 8 16"},
      {"{x div 2}/100", "0"},
      {"{x div 2}\\20", "20 10 5 2 1 0"},
      {"{0.5*x+2%x}/1", "1.414213562"},
      {"(1 2 0)\\0", "0 1 2"},
      {"{(x+y)%2}\\[0f;8 8]", "4 6f"},
      {"-':1 4 9 16", "1 3 5 7"},
      {"-':[10;11 12]", "1 1"},
      {"(-) prior 1 4 9", "1 3 5"},
      {"(<) prior 3 1 4 1", "0101b"},
      {"(<) prior 3 1 4 1i", "0101b"},
      {"(>) prior \"bca\"", "110b"},
      {"(=) prior `a`a`b", "010b"},
      {"(+) prior `a`b", "'type"},
      {"+':1 2 3i", "(1;3i;5i)"},
      {"+':[1f;1 2 3]", "(2f;3;5)"},
      {"(<) prior 2", "2"},
      {"(<) prior enlist 2", ",0b"},
      {"exec price where (<) prior price by sym from trade", "`aig`bac!(,48.25;`float$())"},
      {"{x-y}':[1 4 9]", "0N 3 5"},
      {"{x,y}':[0;1 2]", "(1 0;2 1)"},
      {"%':[2 4 8f]", "2 2 2f"},
      {",':2 3 4", "(2;3 2;4 3)"},
      {"+/(1 2;3 4)", "4 6"},
      {"+\\(1 2;3 4)", "(1 2;4 6)"},
      {"+/(1;2.5)", "3.5"},
      {"{x+y}/[`a`b!1 2]", "3"},
      {"+\\[`a`b!1 2]", "`a`b!1 3"},
  };
  ExpectAll(kPairs);
}

TEST(Iterators, DictionariesGoTogetherByTheirKeys) {
  constexpr Pair kPairs[] = {
      {"(`a`b!1 2){x+y}'`b`a!10 20", "`a`b!21 12"},
      {"(`a`b!1 2){x-y}'`b`a!10 20", "`a`b!-19 -8"},
      {"(`a`b!1 2)+'`b`a!10 20", "`a`b!21 12"},
      {"{x,y,z}'[`a`b!1 2;`b`a!10 20;100]", "`a`b!(1 20 100;2 10 100)"},
      {"{x,y}'[`a`b!1 2;10 20]", "`a`b!(1 10;2 20)"},
      {"(`a`b!1 2){x+y}'`a`b!10 20", "`a`b!11 22"},
      // A key that only one of them has meets a null.
      {"(`a`b!1 2),'`b`c!10 20", "`a`b`c!(1 0N;2 10;0N 20)"},
      {"(`a`b!(1 2;3 4)),'`b`c!(5 6;7 8)", "`a`b`c!(1 2;3 4 5 6;7 8)"},
      {"(1 2!`a`b){x,y}'2 1!`c`d", "1 2!(`a`d;`b`c)"},
      {"((1;`b)!1 2){x+y}'(`b;1)!10 20", "(1;`b)!21 12"},
      {"{x+y*z}/[0;`a`b!1 2;`b`a!10 20]", "40"},
      {"{x+y+10*z}\\[0;`a`b!1 2;`b`a!10 20]", "`a`b!201 303"},
      {"([k:`a`b]v:1 2){x+y}'([k:`b`a]v:10 20)", "([k:`a`b]v:21 12)"},
      {"([k:`a`b]v:1 2),'([k:`b`c]w:10 20)", "([k:`a`b`c]v:1 2 0N;w:0N 10 20)"},
      {"([k:`a`b;l:1 2]v:1 2){x+y}'([k:`b`a;l:2 1]v:10 20)", "([k:`a`b;l:1 2]v:21 12)"},
      {"(`a`b!1 2){x+y}'([k:`b`a]v:10 20)", "'type"},
      {"(`a`b!1 2){x,y}\\:3 4", "`a`b!(1 3 4;2 3 4)"},
      {"3 4{x,y}/:`a`b!1 2", "`a`b!(3 4 1;3 4 2)"},
      {"(-)prior`a`b!1 5", "`a`b!1 4"},
  };
  ExpectAll(kPairs);
}

// Goal: whatever the types of the keys are, an iterator, an operator and a join match them alike:
// by type and value. Method: each pair of some kinds of keys; the reference is `distinct`.
TEST(Iterators, KeysOfOtherTypesAreOtherKeys) {
  constexpr Pair kPairs[] = {
      {"(1 2!10 20)+'1 2i!1 2", "(1;2;1i;2i)!0N 0N 0N 0N"},
      {"(1 2!10 20)+1 2i!1 2", "(1;2;1i;2i)!10 20 1 2"},
      {"(1 2!10 20),1 2i!1 2", "(1;2;1i;2i)!10 20 1 2"},
      {"((1;2i)!10 20)+'1 2!5 6", "(1;2i;2)!15 0N 0N"},
      {"((1;2i)!10 20)+1 2!5 6", "(1;2i;2)!15 20 6"},
      {"([k:1 2]v:10 20)+'([k:1 2i]v:1 2)", "'type"},
      {"([k:1 2]v:10 20)+([k:1 2i]v:1 2)", "'type"},
      {"([k:1 2]v:10 20),([k:1 2i]v:1 2)", "'type"},
  };
  ExpectAll(kPairs);
  constexpr std::string_view kKeys[] = {"1 2",  "2 1i",   "1 2h",   "1 2f",
                                        "`a`b", "(1;2i)", "(2;`a)", "\"ab\""};
  TestEnvironment environment;
  for (const std::string_view x : kKeys) {
    for (const std::string_view y : kKeys) {
      for (const std::string_view f : {"+", "+'", ",", "{x-y}'", "="}) {
        const std::string text =
            fmt::format("x:{}!10 20;y:{}!1 2;key[x{} y]~distinct(key x),key y", x, y, f);
        EXPECT_EQ(environment.Ask(text), "1b") << text;
      }
    }
  }
}

TEST(Iterators, AMatrixIsAStateMachine) {
  constexpr Pair kPairs[] = {
      {"m:(1 2 0;2 0 1;0 1 2);0 m\\0 1 2", "1 0 0"},
      {"m:(1 2 0;2 0 1;0 1 2);0 m/0 1 2", "0"},
      {"m:(1 2 0;2 0 1;0 1 2);m\\[0;0 1 2]", "1 0 0"},
      {"m:(1 2 0;2 0 1;0 1 2);0 m\\0#0", "()"},
      // Without a first state, it is the first item.
      {"m:(1 2 0;2 0 1;0 1 2);(m\\)0 1 2", "0 2 2"},
      {"m:(1 2 0;2 0 1;0 1 2);m scan 0 1 2", "0 2 2"},
      {"m:(1 2 0;2 0 1;0 1 2);m over 0 1 2", "2"},
      {"d:`s`t!(`a`b!`t`s;`a`b!`s`t);`s d\\`a`a`b", "`t`s`s"},
      {"t:([]a:1 2 0;b:2 0 1);0 t\\`a`b`a", "1 0 1"},
      // A vector has one index: it is followed n times, or until it comes back.
      {"l:2 0 1;3 l\\0", "0 2 1 0"},
      {"l:2 0 1;(l\\)0", "0 2 1"},
      {"d:`a`b`c!`b`c`a;2 d\\`a", "`a`b`c"},
  };
  ExpectAll(kPairs);
}

TEST(Iterators, AnExpressionThatEndsWithAnOperatorComposes) {
  constexpr Pair kPairs[] = {
      {"(sums differ@)1 1 2 2 3", "1 1 2 2 3i"},
      {"f:til count@;f each (5 6;7 8 9)", "(0 1;0 1 2)"},
      {"neg sum 2*", "'[neg;'[sum;*[..;]]]"},
      {"(neg sum 2*)1 2", "-6"},
      {"0 (0|+)\\2 -3 4", "2 0 4"},
      {"(0|+)[1;2]", "3"},
      {"(raze string each)1 23", "\"123\""},
      {"v:10 20 30;(v 1+)0 1", "20 30"},
      {"({x*2} 1+)1 2", "4 6"},
      {"+/ 1+", "'[+/;+[..;]]"},
      {"(+/ 1+)1 2", "5"},
      {"(sum 1+;3)[0]2", "3"},
      {"(1+)[2]", "3"},
      {"(neg+)[1]", "'type"},
      {"count (+)", "1"},
      {"eval parse\"(sum 1+)2 3\"", "7"},
      {"({x+1} neg@)each 1 2", "0 -1"},
      {"update g:(sums differ@;price) fby sym from select sym,price from trade",
       "([]sym:`aig`bac`aig`bac;price:48.5 13.75 48.25 14;g:1 1 2 2i)"},
      {"select from ([]s:`a`b`a`b`a;p:1 1 1 2 3) where 2=(sums differ@;p) fby s",
       "([]s:`b`a;p:2 3)"},
  };
  ExpectAll(kPairs);
}

}  // namespace
}  // namespace tickstack::query
