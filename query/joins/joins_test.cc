// Goal: lj ij ej pj uj and the as-of joins give what the public reference (code.kx.com/q/ref) says.
// Method: pairs; and joins of random tables with nulls, duplicates and two key columns, compared
// with their definitions as loops over all pairs of rows.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "query/pair_testing.h"
#include "query/testing.h"

namespace tickstack::query {
namespace {

TEST(HashJoin, LeftJoinTakesTheFirstMatch) {
  constexpr Pair kPairs[] = {
      {"([]k:`a`b`c;v:1 2 3) lj ([k:`a`c]w:10 30)", "([]k:`a`b`c;v:1 2 3;w:10 0N 30)"},
      {"([]k:`a`b`a) lj ([k:`a`a]w:1 2)", "([]k:`a`b`a;w:1 0N 1)"},
      {"([]k:`a`b;v:1 2) lj ([k:enlist `a]v:enlist 10)", "([]k:`a`b;v:10 2)"},
      {"([]k:`a`b;v:1 2) lj ([k:`a`b]v:0N 20)", "([]k:`a`b;v:0N 20)"},
      {"([]k:`a`b;v:1 2) ljf ([k:`a`b]v:0N 20)", "([]k:`a`b;v:1 20)"},
      {"([]k:`a`b;v:`x`y) ljf ([k:`a`b]v:``z;w:1 0N)", "([]k:`a`b;v:`x`z;w:1 0N)"},
      {"([]k:``a) lj ([k:``b]w:1 2)", "([]k:``a;w:1 0N)"},
      {"([]k:0n 1) lj ([k:1 0n]w:1 2)", "([]k:0n 1;w:2 1)"},
      {"([k:`a`b]v:1 2) lj ([k:enlist `b]w:enlist 9)", "([k:`a`b]v:1 2;w:0N 9)"},
      {"([]a:1 1 2;b:`x`y`x) lj ([a:1 2;b:`x`x]c:10 20)", "([]a:1 1 2;b:`x`y`x;c:10 0N 20)"},
      {"([]k:`b`a`c) lj ([k:`a`b]s:(\"x1\";\"yy\"))", "([]k:`b`a`c;s:(\"yy\";\"x1\";\"\"))"},
      {"([]k:0#`a;v:0#0) lj ([k:`a`c]w:10 30)", "([]k:`symbol$();v:`long$();w:`long$())"},
      {"([]k:`a`b) lj ([k:0#`a]w:0#0)", "([]k:`a`b;w:0N 0N)"},
      {"([]k:`a`b) lj ()", "([]k:`a`b)"},
      {"(select sym,price from trade) lj select last bid by sym from quote",
       "([]sym:`aig`bac`aig`bac;price:48.5 13.75 48.25 14;bid:48 13.75 48 13.75)"},
      {"exec bid from trade lj select first bid by sym from vquote", "48.25 13.5 48.25 13.5"},
      {"exec sum bid from trade lj select first bid by sym from quote", "123.5"},
      {"t:([]k:1 2);u:([k:2 3]w:5 6);`t lj `u", "([]k:1 2;w:0N 5)"},
      {"([]k:`a`b) lj ([]k:`a`b;w:1 2)", "'type"},
      {"([]x:1 2) lj ([k:1 2]w:1 2)", "'k"},
      {"([]k:1 2i) lj ([k:1 2]w:1 2)", "'type"},
      {"([]k:1 2;v:1 2) lj ([k:enlist 1]v:enlist `x)", "'type"},
      {"([]k:1 2;v:1 2) lj ([k:1 2]v:`x`y)", "([]k:1 2;v:`x`y)"},
      {"1 lj ([k:1 2]w:1 2)", "'type"},
  };
  ExpectAll(kPairs);
}

TEST(HashJoin, InnerAndEquiJoinsLeaveOutRowsWithoutAMatch) {
  constexpr Pair kPairs[] = {
      {"([]k:`a`b`c;v:1 2 3) ij ([k:`a`c]w:10 30)", "([]k:`a`c;v:1 3;w:10 30)"},
      {"([]k:`a`b;v:1 2) ij ([k:`b`b]v:20 21)", "([]k:,`b;v:,20)"},
      {"([]k:`a`b;v:1 2) ij ([k:enlist `b]v:enlist `x)", "([]k:,`b;v:,`x)"},
      {"([]k:`a`b;v:1 2) ijf ([k:`a`b]v:0N 20)", "([]k:`a`b;v:1 20)"},
      {"([k:`a`b]v:1 2) ij ([k:`b`z]w:9 8)", "([k:,`b]v:,2;w:,9)"},
      {"([]k:`a`b) ij ([k:`x`y]w:1 2)", "([]k:`symbol$();w:`long$())"},
      {"select sym,size,bid from trade ij select last bid by sym from quote where sym=`bac",
       "([]sym:`bac`bac;size:200 400i;bid:13.75 13.75)"},
      {"([]k:`a`b) ij ([]k:`a`b)", "'type"},
      {"ej[`k;([]k:`a`b`a;v:1 2 3);([]k:`a`a`c;w:10 20 30)]",
       "([]k:`a`a`a`a;v:1 1 3 3;w:10 20 10 20)"},
      {"ej[`k`j;([]k:1 1;j:2 3;v:4 5);([]j:3 3;k:1 1;v:6 7)]", "([]k:1 1;j:3 3;v:6 7)"},
      {"ej[`k;([k:1 2]v:3 4);([k:2 2]w:5 6)]", "([]k:2 2;v:4 4;w:5 6)"},
      {"ej[`k;([]k:1 2);([]k:3 4)]", "([]k:`long$())"},
      {"exec sum size from ej[`sym;trade;select sym,bid from quote]", "2400i"},
      {"ej[`nope;([]k:1 2);([]k:3 4)]", "'nope"},
      {"ej[1;([]k:1 2);([]k:3 4)]", "'type"},
  };
  ExpectAll(kPairs);
}

TEST(HashJoin, PlusJoinAddsUp) {
  constexpr Pair kPairs[] = {
      {"([]k:`a`b;v:1 2) pj ([k:`a`c]v:10 30;w:5 6)", "([]k:`a`b;v:11 2;w:5 0)"},
      {"([]k:`a`b;v:1 0N) pj ([k:`a`b]v:0N 5)", "([]k:`a`b;v:1 0N)"},
      {"([]k:`a`b;v:1.5 2) pj ([k:`a`b]v:1 2)", "([]k:`a`b;v:2.5 4)"},
      {"([]k:`a`b;v:1 2i) pj ([k:`a`b]v:1 2i)", "([]k:`a`b;v:2 4i)"},
      {"([k:`a`b]v:1 2) pj ([k:enlist `b]v:enlist 5)", "([k:`a`b]v:1 7)"},
      {"([]k:`a`b;n:`x`y) pj ([k:`a`b]v:1 2)", "([]k:`a`b;n:`x`y;v:1 2)"},
      {"([]k:`a`b) pj ([k:`a`b]s:`x`y)", "'type"},
      {"([]k:`a`b) pj ([]k:`a`b)", "'type"},
  };
  ExpectAll(kPairs);
}

TEST(UnionJoin, HasTheColumnsOfBoth) {
  constexpr Pair kPairs[] = {
      {"([]a:1 2;b:`x`y) uj ([]b:enlist `z;c:enlist 5.5)", "([]a:1 2 0N;b:`x`y`z;c:0n 0n 5.5)"},
      {"([]a:1 2) uj ([]a:3 4)", "([]a:1 2 3 4)"},
      {"([]a:1 2) ujf ([]a:0N 4)", "([]a:1 2 0N 4)"},
      {"([a:1 2]b:`x`y;c:10 20) uj ([a:1 2]b:``z;c:1 0N)", "([a:1 2]b:``z;c:1 0N)"},
      {"([a:1 2]b:`x`y;c:10 20) ujf ([a:1 2]b:``z;c:1 0N)", "([a:1 2]b:`x`z;c:1 20)"},
      {"([a:1 2]b:1 2) ujf ([a:2 3]b:0N 0N;c:5 6)", "([a:1 2 3]b:1 2 0N;c:0N 5 6)"},
      {"() ujf ([]a:1 2)", "([]a:1 2)"},
      {"([a:1 2]b:1 2) ujf ([]a:2 3)", "'type"},
      {"([]a:1 2) uj ([]b:3 4)", "([]a:1 2 0N 0N;b:0N 0N 3 4)"},
      {"([]a:1 2) uj ([]a:`x`y)", "([]a:(1;2;`x;`y))"},
      {"([]s:(\"ab\";\"cd\")) uj ([]t:1 2)", "([]s:(\"ab\";\"cd\";\"\";\"\");t:0N 0N 1 2)"},
      {"([k:`a`b]v:1 2) uj ([k:`b`c]v:20 30;w:7 8)", "([k:`a`b`c]v:1 20 30;w:0N 7 8)"},
      {"([k:`a`b]v:1 2) uj ([k:`b`c]w:7 8)", "([k:`a`b`c]v:1 2 0N;w:0N 7 8)"},
      {"([k:`a`b]v:1 2) uj ([k:`b`b]v:5 6)", "([k:`a`b]v:1 6)"},
      {"(0#([]a:1 2)) uj ([]a:3 4;b:5 6)", "([]a:3 4;b:5 6)"},
      {"() uj ([]a:1 2)", "([]a:1 2)"},
      {"([]a:1 2) uj ()", "([]a:1 2)"},
      {"(uj/)(([]a:enlist 1);([]b:enlist 2);([]a:enlist 3))", "([]a:1 0N 3;b:0N 2 0N)"},
      {"count trade uj quote", "9"},
      {"cols trade uj quote", "`time`sym`price`size`cond`bid`ask`bsize"},
      {"exec bid from trade uj quote where sym=`bac", "0n 0n 13.5 13.75"},
      {"([k:`a`b]v:1 2) uj ([]k:`a`b)", "'type"},
      {"([k:`a`b]v:1 2) uj ([j:`a`b]v:1 2)", "'mismatch"},
      {"([k:`a`b]v:1 2) uj ([k:`a`b]v:`x`y)", "'type"},
  };
  ExpectAll(kPairs);
}

TEST(AsofJoin, AsofTakesTheRowsOfATable) {
  constexpr Pair kPairs[] = {
      {"quote asof `sym`time!(`aig;2013.10.07D09:31:30)", "`bid`ask`bsize!(48.5;48.75;3)"},
      {"quote asof ([]sym:`aig`bac;time:2013.10.07D09:29:30 2013.10.07D09:31)",
       "([]bid:0n 13.75;ask:0n 14;bsize:0N 4)"},
      {"([]t:1 3 5;v:10 30 50) asof (enlist `t)!enlist 4", ",`v!,30"},
      {"([]t:1 3 5;v:10 30 50) asof ([]t:0 1 9)", "([]v:0N 10 50)"},
      {"quote asof `sym`nope!(`aig;1)", "'nope"},
      {"ajf[`t;([]t:1 2;v:7 8);([]t:1 2;v:0N 9)]", "([]t:1 2;v:7 9)"},
      {"aj[`t;([]t:1 2;v:7 8);([]t:1 2;v:0N 9)]", "([]t:1 2;v:0N 9)"},
      {"ajf0[`t;([]t:2 3;v:7 8);([]t:1 2;v:0N 9)]", "([]t:2 2;v:9 9)"},
  };
  ExpectAll(kPairs);
}

// ---- Definitions

// A table of two key columns and one of values; kNone is a null.
constexpr int kNone = -1;
struct KeyedRows {
  std::vector<int> sym, day, v;
  size_t size() const { return sym.size(); }
  bool Same(size_t i, const KeyedRows& other, size_t j) const {
    return sym[i] == other.sym[j] && day[i] == other.day[j];
  }
  void Add(int s, int d, int value) {
    sym.push_back(s);
    day.push_back(d);
    v.push_back(value);
  }
};

KeyedRows RandomRows(std::mt19937& rng, size_t rows) {
  KeyedRows made;
  for (size_t i = 0; i < rows; ++i) {
    const auto draw = [&](unsigned n) { return static_cast<int>(rng() % (n + 1)) - 1; };
    made.Add(draw(3), draw(4), draw(1000));
  }
  return made;
}

std::string Names(const std::vector<int>& numbers) {
  std::string text = "(0#`)";
  for (const int n : numbers) text += n == kNone ? ",`" : fmt::format(",`s{}", n);
  return text;
}
std::string Longs(const std::vector<int>& numbers) {
  std::string text = "(0#0)";
  for (const int n : numbers) text += n == kNone ? ",0N" : fmt::format(",{}", n);
  return text;
}
std::string Literal(const KeyedRows& rows, bool keyed) {
  return fmt::format("([{0}sym:{1};day:{2}{3}v:{4})", keyed ? "" : "]", Names(rows.sym),
                     Longs(rows.day), keyed ? "]" : ";", Longs(rows.v));
}
std::string WithColumn(const KeyedRows& rows, const std::vector<int>& w) {
  return fmt::format("([]sym:{};day:{};v:{};w:{})", Names(rows.sym), Longs(rows.day), Longs(rows.v),
                     Longs(w));
}

class RandomJoins : public testing::TestWithParam<unsigned> {
 protected:
  RandomJoins() : rng_(GetParam()) {
    left_ = RandomRows(rng_, rng_() % 12);
    right_ = RandomRows(rng_, rng_() % 12);
  }
  // Returns x lj y with the right values under the name w.
  std::string Renamed() const { return "`sym`day`w xcol " + Literal(right_, true); }
  void ExpectSame(const std::string& join, const std::string& definition) {
    const std::string expected = environment_.Ask(definition);
    ASSERT_NE(expected[0], '\'') << expected;
    EXPECT_EQ(environment_.Ask(join), expected) << join;
  }

  std::mt19937 rng_;
  TestEnvironment environment_;
  KeyedRows left_, right_;
};

TEST_P(RandomJoins, AgreeWithTheirDefinitions) {
  KeyedRows left, inner, equi;
  std::vector<int> left_w, inner_w, equi_w;
  for (size_t i = 0; i < left_.size(); ++i) {
    bool found = false;
    for (size_t j = 0; j < right_.size(); ++j) {
      if (!left_.Same(i, right_, j)) continue;
      equi.Add(left_.sym[i], left_.day[i], left_.v[i]);
      equi_w.push_back(right_.v[j]);
      if (found) continue;
      found = true;
      inner.Add(left_.sym[i], left_.day[i], left_.v[i]);
      inner_w.push_back(right_.v[j]);
      left_w.push_back(right_.v[j]);
    }
    if (!found) left_w.push_back(kNone);
  }
  const std::string left_table = Literal(left_, false);
  ExpectSame(left_table + " lj " + Renamed(), WithColumn(left_, left_w));
  ExpectSame(left_table + " ij " + Renamed(), WithColumn(inner, inner_w));
  ExpectSame(fmt::format("ej[`sym`day;{};{}]", left_table, Renamed()), WithColumn(equi, equi_w));
}

TEST_P(RandomJoins, UnionOfKeyedTablesIsAnUpsert) {
  KeyedRows merged = left_;
  for (size_t j = 0; j < right_.size(); ++j) {
    bool found = false;
    for (size_t i = 0; i < merged.size(); ++i) {
      if (!merged.Same(i, right_, j)) continue;
      merged.v[i] = right_.v[j];
      found = true;
    }
    if (!found) merged.Add(right_.sym[j], right_.day[j], right_.v[j]);
  }
  for (const std::string_view join : {" uj ", " , ", " upsert "}) {
    ExpectSame(Literal(left_, true) + std::string(join) + Literal(right_, true),
               Literal(merged, true));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomJoins, testing::Range(0u, 60u));

TEST(HashJoin, LargeTablesGoThroughCapturedAndScratchColumns) {
  TestEnvironment environment;
  environment.CaptureTable("t", "([]sym:60000#`a`b`c`d;n:til 60000)");
  environment.CaptureTable("u", "([]sym:`a`b`c;w:1 2 3)");
  EXPECT_EQ(environment.Ask("exec sum w from t lj 1!u"), "90000");
  EXPECT_EQ(environment.Ask("count t ij 1!u"), "45000");
  EXPECT_EQ(environment.Ask("exec sum n from ej[`sym;t;u]"),
            environment.Ask("exec sum n from t where sym<>`d"));
}

TEST(HashJoin, APairOfEveryRowEndsInLimit) {
  TestEnvironment environment;
  Limits limits;
  limits.max_result_bytes = size_t{64} << 20;
  EXPECT_EQ(environment.Ask("ej[`k;([]k:100000#1);([]k:100000#1)]", limits), "'limit");
  EXPECT_EQ(environment.Ask("ej[`k;([]k:5000#1);([]k:5000#1)]", limits), "'limit");
}

// Goal: a loop of joins does not build a chain of columns that wait for each other.
TEST(UnionJoin, ManyInARowAreNotTooDeep) {
  TestEnvironment environment;
  EXPECT_EQ(environment.Ask("t:([]a:0#0);do[3000;t:t uj ([]a:enlist 1)];exec sum a from t"),
            "3000");
  EXPECT_EQ(environment.Ask("t:([]a:3 1 2);do[3000;t:`a xasc t];t"), "([]a:1 2 3)");
}

}  // namespace
}  // namespace tickstack::query
