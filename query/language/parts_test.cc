// Goal: functions that take lists apart and put them together do what the reference says
// (code.kx.com/q/ref: cut, rotate, sublist, where, group, except, inter, union, cross, all, any,
// prd). Method: pairs, and property tests against definitions written as loops.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "query/kernels/group_items.h"
#include "query/pair_testing.h"

namespace tickstack::query {
namespace {

TEST(Parts, AreCutRotatedAndTaken) {
  constexpr Pair kPairs[] = {
      {"2 4 9 _ til 10", "(2 3;4 5 6 7 8;,9)"},
      {"2 4 4 9 _ til 10", "(2 3;`long$();4 5 6 7 8;,9)"},
      {"0 4 5 _ til 7", "(0 1 2 3;,4;5 6)"},
      {"0 2 _ \"abcd\"", "(\"ab\";\"cd\")"},
      {"0 1 _ `a`b", "(,`a;,`b)"},
      {"0 1 _ (1;`a;\"x\")", "(,1;(`a;\"x\"))"},
      {"0 2 _ 1 2", "(1 2;`long$())"},
      {"(0#0) _ 1 2", "()"},
      {"enlist[1] _ 1 2 3", ",2 3"},
      {"0 1 _ ([]a:1 2 3)", "(([]a:,1);([]a:2 3))"},
      {"2 1 _ 1 2 3", "'domain"},
      {"-1 1 _ 1 2 3", "'domain"},
      {"0 4 _ 1 2 3", "'domain"},
      {"0.5 1 _ 1 2 3", "'type"},
      {"(1;`a) _ 1 2 3", "'type"},
      {"4 cut til 10", "(0 1 2 3;4 5 6 7;8 9)"},
      {"2 cut \"abcde\"", "(\"ab\";\"cd\";,\"e\")"},
      {"5 cut 1 2", ",1 2"},
      {"3 cut ()", "()"},
      {"2 cut `long$()", "()"},
      {"0 2 cut 1 2 3", "(1 2;,3)"},
      {"2 cut ([]a:1 2 3)", "(([]a:1 2);([]a:,3))"},
      {"0 cut 1 2", "'domain"},
      {"0N cut 1 2", "'domain"},
      {"`a cut 1 2", "'type"},
      {"2 cut 5", "'type"},
      {"exec 2 cut size from trade", "(100 200i;300 400i)"},
      {"2 rotate 1 2 3 4", "3 4 1 2"},
      {"-1 rotate 1 2 3", "3 1 2"},
      {"7 rotate 1 2 3", "2 3 1"},
      {"0 rotate `a`b", "`a`b"},
      {"1 rotate (1;`a)", "(`a;1)"},
      {"-0W rotate 1 2 3", "3 1 2"},
      {"1 rotate ()", "()"},
      {"1 rotate `a`b!1 2", "`b`a!2 1"},
      {"1 rotate ([]a:1 2 3)", "([]a:2 3 1)"},
      {"1 rotate 5", "'type"},
      {"1 2 rotate 1 2", "'type"},
      {"0N rotate 1 2", "'domain"},
      {"raze (([]a:1 2;b:3 4);([]a:5 6;b:7 8))", "([]a:1 2 5 6;b:3 4 7 8)"},
      {"raze (([]a:1 2;b:3 4);([]a:enlist 5))", "(`a`b!1 3;`a`b!2 4;,`a!,5)"},
      {"(,/)(([]a:enlist 1);([]b:enlist 2))", "(,`a!,1;,`b!,2)"},
      {"(([]a:enlist 1),([]b:enlist 2))", "'mismatch"},
      {"exec 1 rotate sym from trade", "`bac`aig`bac`aig"},
      {"3 sublist 1 2 3 4", "1 2 3"},
      {"5 sublist 1 2", "1 2"},
      {"-2 sublist 1 2 3", "2 3"},
      {"-5 sublist 1 2 3", "1 2 3"},
      {"0 sublist 1 2", "`long$()"},
      {"1 2 sublist 1 2 3 4", "2 3"},
      {"2 10 sublist til 4", "2 3"},
      {"9 1 sublist til 4", "`long$()"},
      {"0W sublist 1 2", "1 2"},
      {"1 0W sublist 1 2 3", "2 3"},
      {"2 sublist `a`b`c!1 2 3", "`a`b!1 2"},
      {"1 1 sublist ([]a:1 2 3)", "([]a:,2)"},
      {"2 sublist \"abc\"", "\"ab\""},
      {"1 2 3 sublist 1 2", "'length"},
      {"(enlist 1) sublist 1 2", "'length"},
      {"`a sublist 1 2", "'type"},
      {"2 sublist 5", "'type"},
      {"2 sublist select sym,size from trade", "([]sym:`aig`bac;size:100 200i)"},
      {"exec 2 sublist price from trade", "48.5 13.75"},
      {"reverse `a`b!1 2", "`b`a!2 1"},
      {"reverse ([k:`a`b]v:1 2)", "([k:`b`a]v:2 1)"},
      {"where 10110b", "0 2 3"},
      {"where 0 2 1", "1 1 2"},
      {"where -1 0N 1i", ",2"},
      {"where `a`b`c!1 0 2", "`a`c`c"},
      {"where `a`b!10b", ",`a"},
      {"where ()", "`long$()"},
      {"where 00b", "`long$()"},
      {"where 1b", "'type"},
      {"where 1 2f", "'type"},
      {"where 0W 1", "'limit"},
      {"count where 1 2 3>1", "2"},
      {"til[5] where 10101b", "0 2 4"},
      {"exec where price>14 from trade", "0 2"},
      {"exec sum where 1b from trade where size>100", "'type"},
      {"count select from trade where i in where 1010b", "2"},
      {"exec size from trade where i in where 1010b", "100 300i"},
      {"exec size from (select from trade where size>100) where i in where 011b", "300 400i"},
      {"{where x>1} 1 2 3", "1 2"},
  };
  ExpectAll(kPairs);
}

TEST(Parts, AreGroupedAndComparedAsSets) {
  constexpr Pair kPairs[] = {
      {"group \"mississippi\"", "\"misp\"!(,0;1 4 7 10;2 3 5 6;8 9)"},
      {"group 1 2 1", "1 2!(0 2;,1)"},
      {"group `b`a`b", "`b`a!(0 2;,1)"},
      {"group 0n 1 0n", "0n 1!(0 2;,1)"},
      {"group (\"ab\";\"c\";\"ab\")", "(\"ab\";\"c\")!(0 2;,1)"},
      {"group (1;1i;1)", "(1;1i)!(0 2;,1)"},
      {"group `long$()", "`long$()!()"},
      {"group ()", "()!()"},
      {"group 5", "'type"},
      {"count each group 1 2 1", "1 2!2 1"},
      {"exec group sym from trade", "`aig`bac!(0 2;1 3)"},
      {"exec group cond from trade", "(\"AB\";\"\";,\"C\")!(0 3;,1;,2)"},
      {"1 2 3 4 except 2 4", "1 3"},
      {"1 2 3 except 2", "1 3"},
      {"1 2 2 3 except 3", "1 2 2"},
      {"`a`b except `b`c", ",`a"},
      {"\"abc\" except \"b\"", "\"ac\""},
      {"1 2 except ()", "1 2"},
      {"() except 1 2", "()"},
      {"(\"ab\";\"cd\") except enlist \"ab\"", ",\"cd\""},
      {"(1 2;3;4 5) except (3;4 5)", ",1 2"},
      {"1 except 1", "'type"},
      {"1 2 except `a`b", "'type"},
      {"(\"ab\";\"cd\") except \"ab\"", "'type"},
      {"([]a:1 2 3;b:`x`y`z) except ([]b:`y`q;a:2 1)", "([]a:1 3;b:`x`z)"},
      {"([]a:1 2) except ([]b:1 2)", "'mismatch"},
      {"exec sym except `aig from trade", "`bac`bac"},
      {"1 3 4 2 inter 2 3 5 7 11", "3 2"},
      {"1 1 2 inter 1", "1 1"},
      {"(\"ab\";\"cd\") inter (\"cd\";\"e\")", ",\"cd\""},
      {"1 2 inter ()", "`long$()"},
      {"([]a:1 2 3) inter ([]a:3 1)", "([]a:1 3)"},
      {"1 2 3 3 6 union 2 4 6 8", "1 2 3 6 4 8"},
      {"1 union 2", "1 2"},
      {"`a`b union `b`c", "`a`b`c"},
      {"(\"ab\";\"c\") union (\"ab\";\"d\")", "(\"ab\";\"c\";\"d\")"},
      {"() union 1 1", ",1"},
      {"1 2 cross 3 4", "(1 3;1 4;2 3;2 4)"},
      {"1 2 cross `a`b", "((1;`a);(1;`b);(2;`a);(2;`b))"},
      {"\"ab\" cross \"cd\"", "(\"ac\";\"ad\";\"bc\";\"bd\")"},
      {"1 cross 2 3", "(1 2;1 3)"},
      {"1 2 cross ()", "()"},
      {"count 1 2 3 cross 1 2 3", "9"},
      {"([]a:1 2) cross ([]b:`x`y)", "([]a:1 1 2 2;b:`x`y`x`y)"},
      {"([]a:1 2) cross ([]a:1 2)", "'mismatch"},
      {"(til 100000) cross til 100000", "'limit"},
      {"all 1 2 3=1 2 4", "0b"},
      {"all 1 2 3=1 2 3", "1b"},
      {"all 1 2 0", "0b"},
      {"all 0N 1", "1b"},
      {"all ()", "1b"},
      {"any ()", "0b"},
      {"all 5", "1b"},
      {"all \"YN\"", "1b"},
      {"all (101b;110b)", "100b"},
      {"all `a`b!10b", "0b"},
      {"all `a`b", "'type"},
      {"any 1 2 3=10 20 4", "0b"},
      {"any 1 2 3=1 20 30", "1b"},
      {"any 0 0.5", "1b"},
      {"any (101b;010b)", "111b"},
      {"any `long$()", "0b"},
      {"select all price>20 by sym from trade", "([sym:`aig`bac]price:10b)"},
      {"exec any size>300 from trade", "1b"},
      {"prd 2 3 5 7", "210"},
      {"prd 2 3 0N 7", "42"},
      {"prd 7", "7"},
      {"prd 2 3h", "6i"},
      {"prd 1.5 2", "3f"},
      {"prd 1.5 2e", "3e"},
      {"prd `long$()", "1"},
      {"prd (1 2 3 4;2 3 5 7)", "2 6 15 28"},
      {"prd 2147483647 2i", "-2i"},
      {"prd \"abc\"", "'type"},
      {"prd ()", "1"},
      {"select prd size by sym from trade where size<300", "([sym:`aig`bac]size:100 200i)"},
  };
  ExpectAll(kPairs);
}

TEST(Parts, OfOtherWidthsAndOfDictionariesAreSets) {
  constexpr Pair kPairs[] = {
      {"10i in 10 20", "1b"},
      {"10 20 30 in 10 20i", "110b"},
      {"1h in 1 2 3", "1b"},
      {"0x01 in 1 2", "1b"},
      {"1b in 0 1", "1b"},
      {"0N 1 in 1 0Ni", "11b"},
      {"1i in 0#0", "0b"},
      {"(1 2;3i) in 1 3 4h", "(10b;1b)"},
      {"1 2. in 2#2", "'type"},
      {"1 2 in 09:30 09:31", "'type"},
      {"10 20?20i", "1"},
      {"10 20i?20 5", "1 2"},
      {"1 2?1 2f", "'type"},
      {"1 2 3i inter 2 3", "2 3i"},
      {"1 2 3 except 2 3h", ",1"},
      {"1 2i union 2 3", "(1i;2i;2;3)"},
      {"2 in `a`b!2 3", "1b"},
      {"(`a`b!1 2) in `c`d!2 3", "`a`b!01b"},
      {"(`a`b!(1 2 3;`x`y`z)) inter `a`b`c!(1 2 3;2 3 5;`x`y`z)", "(1 2 3;`x`y`z)"},
      {"(`a`b!1 2) inter `c`d!2 3i", ",2"},
      {"(`a`b!1 2) except `c`d!2 3", ",1"},
      {"(`a`b!([]x:1 2)) inter ([]x:2 3)", "([]x:,2)"},
      {"1 2 3 inter `a`b!3 4", ",3"},
      {"(`a`b!1 2) union `c`d!2 3", "'nyi: union of dictionaries"},
      {"distinct `a`b!1 1", "'nyi: distinct of a dictionary"},
      {"select sym from trade where size in 100 200", "([]sym:`aig`bac)"},
  };
  ExpectAll(kPairs);
}

TEST(Parts, AreDroppedByNameKeyAndNumber) {
  constexpr Pair kPairs[] = {
      {"`a`zz _ ([]a:1 2;b:3 4)", "([]b:3 4)"},
      {"``b _ ([]a:1 2;b:3 4)", "([]a:1 2)"},
      {"(enlist`a) _ ([]a:1 2;b:3 4)", "([]b:3 4)"},
      {"`a _ ([]a:1 2;b:3 4)", "'type"},
      {"`zz`size _ select[1] sym,size from trade", "([]sym:,`aig)"},
      {"([]a:1 2 3) _ 1", "([]a:1 3)"},
      {"([]a:1 2 3) _ 7", "([]a:1 2 3)"},
      {"([]a:1 2 3) _ `a", "'type"},
      {"([]s:`a`b) _ ([s:`a`b`c]n:1 2 3)", "([s:,`c]n:,3)"},
      {"([s:`a`b`c]n:1 2 3) _ ([s:`a])", "([s:`b`c]n:2 3)"},
      {"([s:`a`b]n:1 2) _ 0", "'nyi: a keyed table _ a number"},
      {"([]s:`a`zz)#([s:`a`b`c]n:1 2 3)", "([s:`a`zz]n:1 0N)"},
      {"`a`b _ ([s:`a`b]n:1 2)", "'nyi: _ of columns of a keyed table"},
      {"1 _ ([s:`a`b`c]n:1 2 3)", "([s:`b`c]n:2 3)"},
      {"`a`zz _ `a`b!1 2", ",`b!,2"},
      {"`a _ `a`b!([]x:1 2)", ",`b!([]x:,2)"},
      {"1#`a`b!([]x:1 2)", ",`a!([]x:,1)"},
      {"`b`c#`a`b!([]x:1 2)", "`b`c!([]x:2 0N)"},
      {"-1 _ `a`b!([]x:1 2)", ",`a!([]x:,1)"},
      {"(`a`b!1 2) _ `a`b", "'type"},
      {"d:`a`b`c!1 2 3;d _:`b;d", "`a`c!1 3"},
      {"delete zz from ([]a:1 2;b:3 4)", "'zz"},
      {"cols `a`b!1 2", "`a`b"},
      {"d:`a`b!1 2;cols`d", "`a`b"},
      {"cols 1 2!3 4", "'type"},
      {"t:([]a:1 2);`t upsert ();t", "([]a:1 2)"},
      {"([]a:1 2) upsert ()", "([]a:1 2)"},
      {"([k:1 2]a:1 2) upsert ()", "([k:1 2]a:1 2)"},
      {"(`a`b!1 2) upsert ()", "`a`b!1 2"},
      {"t:([]a:1 2);`t insert ()", "`long$()"},
      {"`trade upsert ()", "'assign: trade"},
  };
  ExpectAll(kPairs);
}

TEST(Parts, OfMatricesAndDictionariesAreAggregated) {
  constexpr Pair kPairs[] = {
      {"2 3f wsum (1 2;3 4)", "11 16f"},
      {"(1 2;3 4) wsum (500 400;300 200)", "1400 1600"},
      {"1 2 wsum `a`b!(10 21 3;4 5 6)", "18 31 15"},
      {"(1 2;3 4) wavg (500 400;300 200)", "350 266.6666667"},
      {"2 3 wavg (1 2;3 4)", "2.2 3.2"},
      {"0 wavg (1 2;3 4)", "0n 0n"},
      {"1 2 wavg `a`b!(10 21 3;4 5 6)", "6 10.33333333 5"},
      {"(1 2;3 5) cov (2 3;4 9)", "1 4.5"},
      {"(1 2;3 5) scov (2 3;4 9)", "2 9f"},
      {"(1 2;3 5) cor (2 3;4 9)", "1 1f"},
      {"(`a`b!1 2) wsum `b`a!3 4", "10"},
      {"2 3 wsum 1 2", "8f"},
      {"2 3 wsum (1 2;3)", "11 13"},
      {"exec 1 2 wsum a from ([]a:(1 2;3 4))", "7 10"},
      {"exec s wavg v by k from ([]k:`x`x;s:1 3;v:(1 2;5 6))", ",`x!,4 5f"},
      {"1 2 3 wsum (1 2;3 4)", "'length"},
      {"1 2 wsum ([]a:1 2;b:3 4)", "`a`b!5 11"},
      {"1 3 wavg ([]a:1 5)", ",`a!,4f"},
      {"exec 1 2 wsum ([]a:2#size) from trade", ",`a!,500"},
  };
  ExpectAll(kPairs);
}

TEST(Parts, AnErrorHasAName) {
  constexpr Pair kPairs[] = {
      {"'\"\"", "'signal"},     {"'`", "'signal"},    {"@[{'x};\"\";{x}]", "\"signal\""},
      {"{'\"\"}[]", "'signal"}, {"'\"x\"", "'stype"},
  };
  ExpectAll(kPairs);
}

// Goal: group gives the distinct items in order of first appearance, and for each all of its
// positions, ascending. Method: random items, compared with a loop over all of them.
TEST(Parts, GroupAgreesWithItsDefinition) {
  const Limits limits;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    std::vector<Value> texts(rng() % 20);
    for (Value& text : texts)
      text = Value::String(std::string(rng() % 3, static_cast<char>('a' + rng() % 2)));
    Budget budget(limits);
    const Value groups = *GroupItems(Slice::Of(Value::List(texts)), budget);
    size_t rows = 0;
    for (size_t group = 0; group < groups.count(); ++group) {
      const Value key = ItemAt(groups.keys(), group);
      const Value positions = ItemAt(groups.values(), group);
      std::vector<int64_t> expected;
      for (size_t i = 0; i < texts.size(); ++i) {
        if (Match(texts[i], key)) expected.push_back(static_cast<int64_t>(i));
      }
      EXPECT_TRUE(std::ranges::equal(positions.span<int64_t>(), expected));
      if (group > 0) {
        EXPECT_LT(ItemAt(groups.values(), group - 1).span<int64_t>()[0], expected[0]);
      }
      rows += expected.size();
    }
    EXPECT_EQ(rows, texts.size());
  }
}

// Goal: razing undoes cutting, wherever the list was cut; rotating there and back, or reversing
// twice, changes nothing. Method: expressions over random lists.
TEST(Parts, GoTogetherAgain) {
  TestEnvironment environment;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    const size_t n = 1 + rng() % 20;
    const std::string list = fmt::format("(til {})", n), width = std::to_string(1 + rng() % 7);
    EXPECT_EQ(environment.Ask(list + "~raze " + width + " cut " + list), "1b");
    EXPECT_EQ(environment.Ask(fmt::format("{0}~raze 0 {1} _ {0}", list, rng() % (n + 1))), "1b");
    EXPECT_EQ(environment.Ask(list + "~neg[" + width + "] rotate " + width + " rotate " + list),
              "1b");
    EXPECT_EQ(environment.Ask(list + "~reverse reverse " + list), "1b");
    EXPECT_EQ(environment.Ask(fmt::format("{0}~asc ({0} except 3),{0} inter 3", list)), "1b");
  }
}

}  // namespace
}  // namespace tickstack::query
